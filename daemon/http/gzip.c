/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gzip.h"

#include <assert.h>
#include <errno.h>

/*
 * A window of 16 KiB and small hash tables: 96 KiB instead of zlib's default of 256 KiB. zlib moves the window and updates all entries
 * of the tables whenever twice the window is full, which would take a fourth of the CPU time of a large response. A full flush before
 * that point empties the window instead: text is given to zlib in parts that fit.
 */
#define WINDOW_BITS 14
#define AS_GZIP 16
#define MEMORY_LEVEL 6
#define PART_BYTES ((2U << WINDOW_BITS) - 1024) /* zlib moves the window 262 bytes before its end */
#define PIECE_BYTES 8192U

void gzip_deinit(Gzip *gzip) {
        if (gzip->is_open)
                (void)deflateEnd(&gzip->stream);
        gzip->is_open = false;
}

static int gzip_open(Gzip *gzip) {
        if (gzip->is_open)
                return deflateReset(&gzip->stream) == Z_OK ? 0 : -ENOMEM;

        gzip->stream = (z_stream){};
        if (deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS + AS_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
                return -ENOMEM;

        gzip->is_open = true;
        return 0;
}

static int pack_part(z_stream *stream, const char *text, size_t n, int flush, Buffer *out) {
        unsigned char piece[PIECE_BYTES];
        int r;

        assert(n <= PART_BYTES);
        stream->next_in = (const unsigned char *)text;
        stream->avail_in = (unsigned)n;
        do {
                stream->next_out = piece;
                stream->avail_out = sizeof(piece);
                r = deflate(stream, flush);
                buffer_put(out, piece, sizeof(piece) - stream->avail_out);
        } while (stream->avail_out == 0);

        return r;
}

int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out) {
        int r;

        r = gzip_open(gzip);
        if (r < 0)
                return r;

        for (; n > PART_BYTES; text += PART_BYTES, n -= PART_BYTES)
                (void)pack_part(&gzip->stream, text, PART_BYTES, Z_FULL_FLUSH, out);
        r = pack_part(&gzip->stream, text, n, Z_FINISH, out);
        return r == Z_STREAM_END ? buffer_error(out) : -ENOMEM;
}
