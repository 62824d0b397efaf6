/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gzip
 *
 * One compressor, used again and again by one thread at a time: its tables are the dear part.
 * Small ones are enough, since what we send repeats itself within a few kilobytes.
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
/* Appends the whole of `text`, compressed. 0 or -ENOMEM; opens the compressor the first time. */
int gzip_pack(Gzip *gzip, const char *text, size_t n, Buffer *out);
