/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asset: a file of web/ that is embedded at build time, NUL-terminated
 *
 * The assembler reads the file; the path is relative to the directory in which make runs. The Makefile lists the
 * objects that depend on such files.
 */

#include <stddef.h>

#define ASSET(name, path)                       \
        __asm__(".pushsection .rodata\n"        \
                ".global " #name "\n"           \
                ".hidden " #name "\n"           \
                #name ":\n"                     \
                ".incbin \"" path "\"\n"        \
                ".byte 0\n"                     \
                ".popsection\n")

/* A file of the page, as it is served. tools/embed writes the table of all of them. */
typedef struct Asset {
        const char *path; /* "app/main.js": below web/, and in the URL; NULL: end of the table */
        const char *type; /* media type */
        const char *etag; /* changes with the bytes */
        const char *bytes, *packed; /* packed: compressed by gzip */
        size_t n, n_packed;
} Asset;
