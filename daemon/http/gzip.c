/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gzip.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

/*
 * A window of 16 KiB with tables to match: 96 KiB in all, instead of zlib's usual 256 KiB. zlib works in twice its window, and
 * moves the content and all tables when that is full: this never happens for the metrics of a node with few jobs, about 30 KiB.
 */
#define WINDOW_BITS 14
#define AS_GZIP 16
#define MEMORY_LEVEL 6
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

int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out) {
        unsigned char piece[PIECE_BYTES];
        int r;

        r = gzip_open(gzip);
        if (r < 0)
                return r;

        assert(n <= UINT_MAX);
        gzip->stream.next_in = (const unsigned char *)text;
        gzip->stream.avail_in = (unsigned)n;
        do {
                gzip->stream.next_out = piece;
                gzip->stream.avail_out = sizeof(piece);
                r = deflate(&gzip->stream, Z_FINISH);
                buffer_put(out, piece, sizeof(piece) - gzip->stream.avail_out);
        } while (r == Z_OK);

        return r == Z_STREAM_END ? buffer_error(out) : -ENOMEM;
}
