/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * YAML texts to Values: the door to libyaml
 *
 * One document. Plain scalars are what YAML 1.2's core schema says they are: null, true and false, integers of 64 bits,
 * floats; everything else, and whatever is quoted, is a string. A key given twice, an alias, a tag of its own, a NUL and an integer
 * beyond 64 bits are refused rather than changed. A byte order mark in front is passed over, as YAML has it. JSON is
 * YAML and read alike, but for characters that it writes as two escapes (\ud83d\ude00): libyaml takes no half of one.
 */

#include <stddef.h>

#include "document/value.h"
#include "util/arena.h"

#define YAML_ERROR_TEXT_MAX 256
#define YAML_KEYS_MAX 4096U /* of one mapping */

typedef struct YamlError {
        unsigned line, column; /* from 1 */
        char text[YAML_ERROR_TEXT_MAX];
} YamlError;

enum {
        YAML_MALFORMED = 1, /* the error says what and where */
        YAML_TOO_LARGE,     /* the arena is full */
};

/* The tree, strings included, lives in the arena. 0, an outcome, or -ENOMEM. An empty text is null. */
int yaml_read(const char *text, size_t n, Arena *arena, const Value **ret, YamlError *ret_error);

/* Memory that the tree of a text of n bytes can take at most. */
size_t yaml_arena_size(size_t n);

/*
 * Where in a text that yaml_read() takes the member or item of this path is ("results.elapsed.unit", "values[2]"), or as much of
 * it as there is; 1 and 1 for "". For complaints about what a text means rather than how it is written.
 */
void yaml_locate(const char *text, size_t n, const char *path, unsigned *ret_line, unsigned *ret_column);
