#pragma once

/*
 * Squeeze: text made short for the database
 *
 * A zlib stream (RFC 1950), the one place of the store that knows zlib. Its checksum
 * tells a damaged text.
 */

#include <stddef.h>

#include "util/buffer.h"

#define SQUEEZE_TEXT_MAX (1U << 20) /* what may come out again: no timeline is longer */

/* Appends. 0 or -ENOMEM. */
int squeeze(const char *text, size_t n, Buffer *out);

/* All positive: outcomes. */
enum {
        SQUEEZE_MALFORMED = 1,
};
/* Appends. 0, -ENOMEM or SQUEEZE_MALFORMED. */
int unsqueeze(const void *bytes, size_t n, Buffer *out);
