/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON writer
 *
 * Appends one JSON document to a Buffer piece by piece. A writer begins as `Json json = { .out = &buffer };`. The
 * writer adds commas and quotes; the caller is responsible for order and nesting. Invalid UTF-8 becomes U+FFFD, and
 * numbers that are not finite become null, so that the output is valid.
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
void json_double(Json *json, double v); /* always with a point or exponent, so that parsers read a float */
void json_bool(Json *json, bool v);
void json_null(Json *json);
/* Appends a text that is already valid JSON. */
void json_raw(Json *json, const char *text);

/* Write a key and its value. */
void json_put_string(Json *json, const char *key, const char *text); /* NULL is written as null */
void json_put_int(Json *json, const char *key, int64_t v);
void json_put_uint(Json *json, const char *key, uint64_t v);
void json_put_double(Json *json, const char *key, double v);
void json_put_bool(Json *json, const char *key, bool v);
void json_put_object_begin(Json *json, const char *key);
void json_put_array_begin(Json *json, const char *key);
/* Writes null if `has` is false. */
void json_put_int_or_null(Json *json, const char *key, bool is_there, int64_t v);
void json_put_double_or_null(Json *json, const char *key, bool is_there, double v);
void json_put_text_or_null(Json *json, const char *key, const char *text); /* null for "" and NULL */
