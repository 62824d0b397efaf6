/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON text, read in place
 *
 * For texts written by json/json.h: values are not copied, converted or validated. A malformed text is read up to the
 * first error, as if it ended there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "util/buffer.h"

/* The text of a value, or of a key including its quotes. Borrowed; not NUL-terminated. */
typedef struct JsonText {
        const char *text; /* NULL if absent */
        size_t n;
} JsonText;

/* Returns the whole text without surrounding blanks. */
JsonText json_text(const char *text, size_t n);

typedef struct JsonWalk {
        const char *p, *end;
        bool is_object;
        bool is_broken; /* the walk ended early, or skipped a character other than a comma */
} JsonWalk;

/* Starts iterating over the members of an object or the items of a list; other values have none. */
JsonWalk json_text_walk(JsonText text);
/* Returns the next member or item, or false at the end; ret_key is unchanged in a list. */
bool json_text_walk_next(JsonWalk *walk, JsonText *ret_key, JsonText *ret_value);

bool json_text_equals(JsonText a, JsonText b);
/* Returns the member of an object with that key; `text` is NULL if absent. */
JsonText json_text_find(JsonText object, const char *key);
JsonText json_text_find_n(JsonText object, const char *key, size_t n); /* a key of n bytes */
JsonText json_text_find_key(JsonText object, JsonText key); /* of another object: their texts are compared */
/* As above; a key that the object does not have is a path of keys with points between them, such as "nest.x". */
JsonText json_text_find_path(JsonText object, const char *path);
/* Returns true for a JSON string whose decoded value equals the n bytes of `plain`. */
bool json_text_is_string(JsonText text, const char *plain, size_t n);

typedef enum JsonKind {
        JSON_KIND_NONE,
        JSON_KIND_NULL,
        JSON_KIND_BOOL,
        JSON_KIND_NUMBER,
        JSON_KIND_STRING,
        JSON_KIND_LIST,
        JSON_KIND_OBJECT,
} JsonKind;

JsonKind json_text_kind(JsonText text);
/* Returns false if the text is not a finite number. */
bool json_text_double(JsonText text, double *ret);
/* Returns false if the text is not an integer in the range of *ret, or has a point or exponent. */
bool json_text_int(JsonText text, int64_t *ret);
bool json_text_uint(JsonText text, uint64_t *ret);
/* Appends the decoded value of a string, or the text of any other value. */
void json_text_decode(JsonText text, Buffer *out);
/* Writes the text as the next value of a document; null if the text is absent. */
void json_text_write(JsonText text, Json *json);

/*
 * Appends an object with its members sorted by key, and whole numbers without a point, so that equal objects have
 * equal texts. Returns 0 or -ENOMEM.
 */
int json_text_put_sorted(JsonText object, Buffer *out);

/* Escape sequences in JSON strings (RFC 8259, section 7). */

/*
 * Reads one escape sequence; text: after the backslash, n bytes long. A surrogate pair of two \u sequences counts as
 * one sequence. Returns the length in bytes, or 0 if the sequence is malformed. *ret is the code point; of an
 * incomplete surrogate pair, the surrogate.
 */
size_t json_text_read_escape(const char *text, size_t n, uint32_t *ret);

static inline int json_text_is_surrogate(uint32_t code_point) {
        return code_point >= 0xd800 && code_point < 0xe000;
}

/* Writes a code point as UTF-8; returns its length in bytes. */
size_t json_text_put_utf8(uint32_t code_point, char ret[static 4]);
