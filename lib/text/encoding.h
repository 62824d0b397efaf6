/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Encoding: the texts of all editors as UTF-8 with newlines. Every reader of a file or an output that users name
 * passes through here. */

#include <stddef.h>

#define ENCODING_FOREIGN_TEXT "is UTF-16 or UTF-32: save it as UTF-8"

enum {
        ENCODING_FOREIGN = 1, /* the text is UTF-16 or UTF-32 */
};

/*
 * Removes the byte order mark at the beginning of the text and of its lines (of files written one behind the other),
 * and makes a newline of each CR LF and CR. The text of *n bytes has space for a NUL, which follows it afterwards. 0
 * or ENCODING_FOREIGN.
 */
int encoding_unify(char *text, size_t *n);
