/* SPDX-License-Identifier: Apache-2.0 */
#include "http/format/gzip.h"

#include <assert.h>
#include <errno.h>

/*
 * A window of 16 KiB and small hash tables: 96 KiB instead of zlib's default of 256 KiB. zlib moves the window and
 * updates all entries of the tables whenever twice the window is full, which would take a fourth of the CPU time of
 * a large response. A full flush before that point empties the window instead: text is given to zlib in slices that
 * fit.
 */
#define WINDOW_BITS 14
#define MEMORY_LEVEL 6
#define SLICE_BYTES ((2U << WINDOW_BITS) - 1024) /* zlib moves the window 262 bytes before its end */
#define PIECE_BYTES 8192U

/* Compressed by deflate, without name and time, by the fastest method, on Unix. */
const unsigned char gzip_head[GZIP_HEAD_BYTES] = { 0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 4, 3 };

void gzip_deinit(Gzip *gzip) {
        if (gzip->is_open)
                (void)deflateEnd(&gzip->stream);
        gzip->is_open = false;
}

static int gzip_open(Gzip *gzip) {
        if (gzip->is_open)
                return deflateReset(&gzip->stream) == Z_OK ? 0 : -ENOMEM;

        gzip->stream = (z_stream){};
        if (deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
            Z_OK)
                return -ENOMEM;

        gzip->is_open = true;
        return 0;
}

static void pack_slice(z_stream *stream, const char *text, size_t n, Buffer *out) {
        unsigned char piece[PIECE_BYTES];

        assert(n <= SLICE_BYTES);
        stream->next_in = (const unsigned char *)text;
        stream->avail_in = (unsigned)n;
        do {
                stream->next_out = piece;
                stream->avail_out = sizeof(piece);
                (void)deflate(stream, Z_FULL_FLUSH);
                buffer_put(out, piece, sizeof(piece) - stream->avail_out);
        } while (stream->avail_out == 0);
        assert(stream->avail_in == 0);
}

int gzip_pack_part(Gzip *gzip, const char *text, size_t n, Buffer *out, GzipSum *ret) {
        const GzipSum sum = { .n = n, .crc = (uint32_t)crc32_z(0, (const unsigned char *)text, n) };
        int r;

        r = gzip_open(gzip);
        if (r < 0)
                return r;

        for (; n > SLICE_BYTES; text += SLICE_BYTES, n -= SLICE_BYTES)
                pack_slice(&gzip->stream, text, SLICE_BYTES, out);
        pack_slice(&gzip->stream, text, n, out);
        if (buffer_error(out) < 0)
                return -ENOMEM;

        *ret = sum;
        return 0;
}

void gzip_sum_add(GzipSum *sum, const GzipSum *part) {
        sum->crc = (uint32_t)crc32_combine(sum->crc, part->crc, (z_off_t)part->n);
        sum->n += part->n;
}

void gzip_put_end(const GzipSum *sum, Buffer *out) {
        uint64_t numbers = sum->crc | (uint64_t)sum->n << 32;

        buffer_put(out, "\x03\x00", 2); /* the last block, which is empty */
        for (size_t i = 0; i < sizeof(numbers); i++)
                buffer_putc(out, (char)(numbers >> 8 * i)); /* little-endian, whatever the machine */
}

int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out) {
        GzipSum sum;
        int r;

        buffer_put(out, gzip_head, sizeof(gzip_head));
        r = gzip_pack_part(gzip, text, n, out, &sum);
        if (r < 0)
                return r;

        gzip_put_end(&sum, out);
        return buffer_error(out) < 0 ? -ENOMEM : 0;
}
