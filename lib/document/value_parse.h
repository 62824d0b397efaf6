/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value parser: the JSON text of a document to a tree of Values, in one pass
 *
 * perfd takes one object (value_parse()) and checks its syntax only, as RFC 8259 has it, except that NaN, Infinity and -Infinity
 * are numbers. The rules of documents (UTF-8, sizes, number of keys, keys given twice, numbers that are not finite) are those of
 * indicator_from_value() and indicator_check_object(), which name the place. One of them must be called before the tree is used:
 * an object or list that is nested deeper than VALUE_DEPTH_MAX is left empty here, and refused there.
 *
 * The client reads any number of values one after the other (value_parse_next()), on one line each or not. The parser is strict
 * then: what the rules refuse is an error as well, with its line and column.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/value.h"
#include "document/value_error.h"
#include "util/arena.h"

enum {
        VALUE_MALFORMED = 1, /* the error says what and where */
        VALUE_NO_ROOM,       /* the arena is full */
        VALUE_END,           /* nothing but blanks is left */
};

/*
 * The only object in a text. Everything of *ret lives in the arena. *ret_is_canonical: the text is byte for byte what
 * value_write_json() makes of the tree, so that it can be kept as it is; false also where that is not certain. 0, or an outcome.
 */
int value_parse(const char *text, size_t n, Arena *arena, const Value **ret, bool *ret_is_canonical, ValueError *ret_error);

typedef struct ValueReader {
        const char *text; /* borrowed */
        size_t n;
        size_t at;                         /* bytes read so far */
        unsigned line, column;             /* of `at`, from 1; columns count characters */
        unsigned begin_line, begin_column; /* of the value that was read last */
        char *strings;                     /* borrowed from the arena */
        size_t n_strings;
} ValueReader;

void value_parse_begin(ValueReader *reader, const char *text, size_t n);
/*
 * The next value of a text. All values of a text live in one arena, which must not be reset between them. 0 or an outcome; after
 * VALUE_MALFORMED the reader stays at the value, and the arena has nothing of it.
 */
int value_parse_next(ValueReader *reader, Arena *arena, const Value **ret, ValueError *ret_error);

/* Arena bytes that a text of n bytes takes at most, while it is parsed: "[0,0,…" is the densest. */
#define VALUE_PARSE_FACTOR 30U
size_t value_parse_arena_size(size_t n);
