/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value parser: the JSON text of a document to a tree of Values, in one pass
 *
 * Checks the syntax only, as RFC 8259 has it, except that NaN, Infinity and -Infinity are numbers. The rules of documents
 * (UTF-8, sizes, number of keys, keys given twice, numbers that are not finite) are those of indicator_from_value() and
 * object_check(), which name the place. One of them must be called before the tree is used: an object or list that is nested
 * deeper than VALUE_DEPTH_MAX is left empty here, and refused there.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/value.h"
#include "util/arena.h"

enum {
        VALUE_MALFORMED = 1, /* the error says what and where */
        VALUE_NO_ROOM,       /* the arena is full */
};

typedef struct ValueError {
        const char *text; /* static */
        size_t at;        /* offset in bytes of the character that is wrong */
} ValueError;

/*
 * The only object in a text. Everything of *ret lives in the arena. *ret_is_canonical: the text is byte for byte what
 * value_write_json() makes of the tree, so that it can be kept as it is; false also where that is not certain. 0, or an outcome.
 */
int value_parse(const char *text, size_t n, Arena *arena, const Value **ret, bool *ret_is_canonical, ValueError *ret_error);

/* Arena bytes that a text of n bytes takes at most, while it is parsed: "[0,0,…" is the densest. */
#define VALUE_PARSE_FACTOR 30U
