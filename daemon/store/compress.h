/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Squeeze: text made short for the database
 *
 * A zlib stream (RFC 1950), the one place of the store that knows zlib. Its checksum
 * tells a damaged text.
 */

#include <stddef.h>

#include "util/buffer.h"

#define COMPRESS_TEXT_MAX (1U << 20) /* what may come out again: no timeline is longer */

/* Appends. 0 or -ENOMEM. */
int compress_text(const char *text, size_t n, Buffer *out);

/* All positive: outcomes. */
enum {
        COMPRESS_MALFORMED = 1,
};
/* Appends. 0, -ENOMEM or COMPRESS_MALFORMED. */
int compress_restore(const void *bytes, size_t n, Buffer *out);
