/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database/compress.h"

#include <errno.h>

#include <zlib.h>

/* A window of 4 KiB and tables to match, 48 KiB in all: texts are short, and malloc() would map and unmap larger
 * blocks each time. */
#define WINDOW_BITS 12
#define MEMORY_LEVEL 6
/* Timelines with samples become 2.4 % larger than at level 9, in about a third of the time. */
#define LEVEL       5
#define PIECE_BYTES 4096U

static void deflate_endp(z_stream **stream) {
        (void)deflateEnd(*stream);
}

static void inflate_endp(z_stream **stream) {
        (void)inflateEnd(*stream);
}

int compress_bytes(const void *bytes, size_t n, Buffer *out) {
        z_stream stream = { .next_in = (void *)bytes, .avail_in = (unsigned)n };
        int code;

        if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
                return -ENOMEM;

        scoped(deflate_endp) __attribute__((unused)) z_stream *open = &stream;

        do {
                unsigned char piece[PIECE_BYTES];

                stream.next_out = piece;
                stream.avail_out = sizeof(piece);
                code = deflate(&stream, Z_FINISH);
                buffer_put(out, piece, sizeof(piece) - stream.avail_out);
        } while (code == Z_OK);

        return code == Z_STREAM_END ? buffer_error(out) : -ENOMEM;
}

int compress_restore(const void *bytes, size_t n, Buffer *out) {
        z_stream stream = { .next_in = (void *)bytes, .avail_in = (unsigned)n };
        int code;

        if (inflateInit2(&stream, WINDOW_BITS) != Z_OK)
                return -ENOMEM;

        scoped(inflate_endp) __attribute__((unused)) z_stream *open = &stream;

        do {
                unsigned char piece[PIECE_BYTES];

                stream.next_out = piece;
                stream.avail_out = sizeof(piece);
                code = inflate(&stream, Z_NO_FLUSH);
                buffer_put(out, piece, sizeof(piece) - stream.avail_out);
        } while (code == Z_OK && stream.total_out < COMPRESS_TEXT_MAX);

        if (code == Z_MEM_ERROR)
                return -ENOMEM;
        return code == Z_STREAM_END ? buffer_error(out) : COMPRESS_MALFORMED;
}
