/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gzip
 *
 * Reuses one compressor, by one thread at a time, because its tables are expensive to allocate. Small tables suffice, since
 * responses repeat within a few kilobytes.
 */

#include <stddef.h>
#define ZLIB_CONST
#include <zlib.h>

#include "util/buffer.h"

typedef struct Gzip {
        z_stream stream;
        bool is_open;
} Gzip;

void gzip_deinit(Gzip *gzip);
/* Appends the compressed text. 0 or -ENOMEM. */
int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out);
