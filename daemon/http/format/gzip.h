/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gzip
 *
 * Reuses one compressor, by one thread at a time, because its tables are expensive to allocate. Small tables
 * suffice, since responses repeat within a few kilobytes.
 *
 * A text can be compressed in parts, which refer to nothing outside of themselves and can be used in several texts:
 * gzip_head, the parts, and what gzip_put_end() writes for the sum of the parts, one behind the other, are the
 * compressed text (RFC 1951, RFC 1952).
 */

#include <stddef.h>
#include <stdint.h>
#define ZLIB_CONST
#include <zlib.h>

#include "util/buffer.h"

typedef struct Gzip {
        z_stream stream;
        bool is_open;
} Gzip;

/* Length and checksum of a text before compression; zeroed for an empty text. */
typedef struct GzipSum {
        size_t n;
        uint32_t crc;
} GzipSum;

#define GZIP_HEAD_BYTES 10U
extern const unsigned char gzip_head[GZIP_HEAD_BYTES];

void gzip_deinit(Gzip *gzip);
/* Appends the compressed text. 0 or -ENOMEM. */
int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out);

/* Appends a compressed part. 0 or -ENOMEM. */
int gzip_pack_part(Gzip *gzip, const char *text, size_t n, Buffer *out, GzipSum *ret);
/* Extends the sum of a text by that of its next part. */
void gzip_sum_add(GzipSum *sum, const GzipSum *part);
void gzip_put_end(const GzipSum *sum, Buffer *out);
