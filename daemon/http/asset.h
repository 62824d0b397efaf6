/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asset: a file of web/ that is embedded at build time, as perfd serves it; see util/embed.h */

#include <stddef.h>

#include "util/embed.h"

/* tools/embed writes the table of all of them. */
typedef struct Asset {
        const char *path; /* "app/main.js": below web/, and in the URL; NULL: end of the table */
        const char *type; /* media type */
        const char *etag; /* changes with the bytes */
        const char *bytes, *packed; /* packed: compressed by gzip */
        size_t n, n_packed;
} Asset;
