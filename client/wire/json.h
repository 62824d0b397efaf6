/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON texts to Values: the door to jansson
 *
 * A text may hold any number of documents one after the other, on one line each or not.
 * The tree lives in the caller's arena. A member given twice, a NUL in a string and an
 * integer beyond 64 bits are refused rather than changed.
 */

#include <stddef.h>

#include "document/value.h"
#include "util/arena.h"

typedef struct JsonReader {
        const char *text; /* borrowed */
        size_t n;
        size_t at;             /* bytes read so far */
        unsigned line, column; /* of `at`, from 1; columns count characters */
        unsigned begin_line, begin_column; /* of the document that was read last */
} JsonReader;

#define JSON_ERROR_TEXT_MAX 256

typedef struct JsonError {
        unsigned line, column;
        size_t at; /* bytes from the beginning of the text */
        char text[JSON_ERROR_TEXT_MAX];
} JsonError;

enum {
        JSON_END = 1,   /* nothing but blanks is left */
        JSON_MALFORMED, /* the error says what and where; the reader stays before the document */
        JSON_TOO_LARGE, /* the arena is full */
};

void json_reader_init(JsonReader *reader, const char *text, size_t n);
/* The next document: 0, an outcome, or -ENOMEM. *ret lives in the arena. */
int json_read(JsonReader *reader, Arena *arena, const Value **ret, JsonError *ret_error);

/* Memory that the tree of a text of n bytes can take at most. */
size_t json_arena_size(size_t n);
