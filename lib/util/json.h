/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON writer
 *
 * Appends one JSON document to a Buffer (`Json json = { .out = &buffer };`), piece by piece: commas and quotes are
 * the writer's business, order and nesting the caller's. Invalid UTF-8 becomes
 * U+FFFD, and a number that is not finite becomes null: the output always parses.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

#define JSON_DEPTH_MAX 64

typedef struct Json {
        Buffer *out; /* borrowed */
        unsigned depth;
        bool after_key;
        bool has_items[JSON_DEPTH_MAX + 1];
} Json;

void json_object_begin(Json *json);
void json_object_end(Json *json);
void json_array_begin(Json *json);
void json_array_end(Json *json);

void json_key(Json *json, const char *key);
void json_string(Json *json, const char *text);
void json_string_n(Json *json, const char *text, size_t n);
void json_int(Json *json, int64_t v);
void json_uint(Json *json, uint64_t v);
void json_double(Json *json, double v); /* always with a point or exponent, so that it reads back as a float */
void json_bool(Json *json, bool v);
void json_null(Json *json);
/* A document that is known to be JSON already. */
void json_raw(Json *json, const char *text);

/* Key and value in one. */
void json_put_string(Json *json, const char *key, const char *text); /* NULL: null */
void json_put_int(Json *json, const char *key, int64_t v);
void json_put_uint(Json *json, const char *key, uint64_t v);
void json_put_double(Json *json, const char *key, double v);
void json_put_bool(Json *json, const char *key, bool v);
void json_put_object_begin(Json *json, const char *key);
void json_put_array_begin(Json *json, const char *key);
/* null unless there is a value. */
void json_put_int_or_null(Json *json, const char *key, bool is_there, int64_t v);
void json_put_double_or_null(Json *json, const char *key, bool is_there, double v);
