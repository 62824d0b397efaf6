/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * YAML texts to Values; the only user of libyaml
 *
 * Reads one document. Plain scalars follow YAML 1.2's core schema: null, true and false, 64-bit integers, floats; all
 * other scalars and all quoted scalars are strings. A duplicate key, an alias, a custom tag, a NUL and an integer
 * beyond 64 bits are errors. The text is as encoding_unify() makes it. JSON is read as YAML, except
 * for characters written as surrogate pairs (\ud83d\ude00), which libyaml rejects.
 */

#include <stddef.h>

#include "util/arena.h"
#include "value/value.h"

#define YAML_ERROR_TEXT_MAX 256
#define YAML_KEYS_MAX 4096U /* in one mapping */

typedef struct YamlError {
        unsigned line, column; /* from 1 */
        char text[YAML_ERROR_TEXT_MAX];
} YamlError;

enum {
        YAML_MALFORMED = 1, /* *ret_error has the message and the position */
        YAML_TOO_LARGE,     /* the arena is full */
};

/*
 * Parses the text into a tree in the arena, strings included. An empty text is null. Returns 0, an outcome, or
 * -ENOMEM.
 */
int yaml_read(const char *text, size_t n, Arena *arena, const Value **ret, YamlError *ret_error);

/* Returns the maximum memory for the tree of a text of n bytes. */
size_t yaml_arena_size(size_t n);

/*
 * Finds line and column of the member or item at `path` ("results.elapsed.unit", "values[2]"), or of the longest
 * prefix of `path` that exists; 1 and 1 for "". For semantic errors in a text that yaml_read() accepts.
 */
void yaml_locate(const char *text, size_t n, const char *path, unsigned *ret_line, unsigned *ret_column);
