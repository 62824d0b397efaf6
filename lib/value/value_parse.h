/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value parser: parses the JSON text of a document into a tree of Values, in one pass
 *
 * perfd parses one object (value_parse()) and checks only its syntax by RFC 8259, except that NaN, Infinity and
 * -Infinity are numbers. indicator_from_value() and indicator_check_object() check the rules for documents (UTF-8,
 * sizes, number of keys, duplicate keys, finite numbers) and name the place. One of them must be called before the
 * tree is used: an object or list that is nested deeper than VALUE_DEPTH_MAX is left empty by the parser, and
 * refused by these functions.
 *
 * The client reads any number of values, one after the other (value_parse_next()), on one line each or not. The
 * parser is strict then: a violation of the rules is an error, too, with its line and column. NaN and infinity, in
 * any spelling of C or Python, are read as null.
 */

#include <stdbool.h>
#include <stddef.h>

#include "json/json_text.h"
#include "util/arena.h"
#include "value/value.h"

#define VALUE_ERROR_PATH_MAX 200
#define VALUE_ERROR_TEXT_MAX 400

/* An error in a JSON text, its place and its fix. */
typedef struct ValueError {
        int code;                        /* of value_parse.c */
        size_t at;                       /* offset in bytes of the wrong character */
        unsigned line, column;           /* place of the character, from 1; 0 after value_parse() */
        char path[VALUE_ERROR_PATH_MAX]; /* "@result.rates[2]"; "" for the value itself, and after value_parse() */
        char text[VALUE_ERROR_TEXT_MAX]; /* the path and a sentence with the fix */
} ValueError;

enum {
        VALUE_MALFORMED = 1, /* the error has the text and the place */
        VALUE_NO_ROOM,       /* the arena is full */
        VALUE_END,           /* only blanks are left */
};

/*
 * Parses the only object in a text. Everything in *ret lives in the arena. *ret_is_canonical: the text equals, byte
 * for byte, the text that value_write_json() makes of the tree, and can be stored unchanged; false also if that is
 * uncertain. 0, or an outcome.
 */
int value_parse(const char *text, size_t n, Arena *arena, const Value **ret, bool *ret_is_canonical,
                ValueError *ret_error);

typedef struct ValueReader {
        const char *text; /* borrowed */
        size_t n;
        size_t at;                         /* bytes read so far */
        unsigned line, column;             /* position of `at`, from 1; columns count characters */
        unsigned begin_line, begin_column; /* position of the value that was read last */
        size_t n_not_finite;               /* numbers of that value which are NaN or infinite: null stands for them */
        size_t n_other_lines;              /* see value_parse_seek() */
        char *strings;                     /* borrowed from the arena */
        size_t n_strings;
} ValueReader;

void value_parse_begin(ValueReader *reader, const char *text, size_t n);
/* Reads the next value of a text. All values of a text live in one arena, which must not be reset between them. 0 or an
 * outcome; after VALUE_MALFORMED, the reader stays at the value, and the arena is as before. */
int value_parse_next(ValueReader *reader, Arena *arena, const Value **ret, ValueError *ret_error);

/*
 * Moves to the next place where documents may begin: an object, or a list that begins with one, behind blanks at the
 * start of a line or behind the value before it. n_other_lines: lines with other text that were skipped. False at
 * the end of the text.
 */
bool value_parse_seek(ValueReader *reader);
/*
 * Initializes the arena, which must be empty, for a text, and reads its only value. 0, an outcome, which is
 * VALUE_END unless there is exactly one value, or -ENOMEM. The arena is to be deinitialized in all cases. text: NULL
 * for an empty one.
 */
int value_parse_only(const char *text, size_t n, Arena *arena, const Value **ret, ValueError *ret_error);
/* Writes a text that was kept on a disk, which may have damaged it. False: it is not JSON any more, null is written. */
bool value_parse_write_kept(JsonText text, Json *json);
/* Moves to the end of the line. */
void value_parse_skip_line(ValueReader *reader);

/* Returns the maximum arena bytes for parsing a text of n bytes: "[0,0,…" takes the most. */
#define VALUE_PARSE_FACTOR 30U
size_t value_parse_arena_size(size_t n);
