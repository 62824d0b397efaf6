/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kernel text: what all parsers of this folder share
 *
 * A parser takes the whole text of one file, NUL-terminated, and fills its part of
 * a Sample, or none of it. Every line must end in a newline: one that does not was
 * cut off somewhere, perhaps in the middle of a number.
 */

#include <stddef.h>
#include <string.h>

/* All positive: outcomes, see conventions. */
enum {
        TEXT_MALFORMED = 1, /* *ret_fault says what is wrong, a static string */
};

static inline int text_malformed(const char *fault, const char **ret_fault) {
        *ret_fault = fault;
        return TEXT_MALFORMED;
}

/* Past the newline that ends this line. NULL: the text ends before it does. */
static inline const char *text_next_line(const char *p) {
        p = strchr(p, '\n');
        return p ? p + 1 : NULL;
}

/* Past the literal at p; NULL when something else is there. */
#define text_skip(p, literal) \
        (strncmp((p), (literal), sizeof(literal) - 1) == 0 ? (p) + sizeof(literal) - 1 : NULL)
