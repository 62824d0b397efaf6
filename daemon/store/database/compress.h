/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compress: texts as zlib streams (RFC 1950)
 *
 * The checksum of the stream detects a damaged text.
 */

#include <stddef.h>

#include "util/buffer.h"

#define COMPRESS_TEXT_MAX (1U << 20) /* longest text to restore; every timeline is shorter */

/* Appends. 0 or -ENOMEM. */
int compress_bytes(const void *bytes, size_t n, Buffer *out);

/* All positive: outcomes. */
enum {
        COMPRESS_MALFORMED = 1,
};
/* Appends. 0, -ENOMEM or COMPRESS_MALFORMED. */
int compress_restore(const void *bytes, size_t n, Buffer *out);
