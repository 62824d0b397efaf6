/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON text, looked into where it lies
 *
 * For texts that our own writer wrote (util/json.h): nothing is copied, built or checked. A text that is broken all the
 * same ends early, as if nothing more were in it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/json.h"

/* A value, or a key with its quotes, as it is spelt. Borrowed; not NUL-terminated. */
typedef struct JsonText {
        const char *text; /* NULL: there is none */
        size_t n;
} JsonText;

/* The whole text, without blanks around it. */
JsonText json_text(const char *text, size_t n);

typedef struct JsonWalk {
        const char *p, *end;
        bool is_object;
        bool is_broken; /* the walk ended early, or stepped over something that is no comma */
} JsonWalk;

/* Over the members of an object or the items of a list; over nothing when it is neither. */
JsonWalk json_text_walk(JsonText text);
/* ret_key is untouched in a list. False at the end. */
bool json_text_walk_next(JsonWalk *walk, JsonText *ret_key, JsonText *ret_value);

bool json_text_equals(JsonText a, JsonText b);
/* The member of an object whose key says that. text is NULL when there is none. */
JsonText json_text_find(JsonText object, const char *key);
/* True for "…" that says the same as `plain`, of n bytes. */
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
/* False when it is no number, or none that is finite. */
bool json_text_double(JsonText text, double *ret);
/* False when it is no number without point and exponent that fits. */
bool json_text_int(JsonText text, int64_t *ret);
/* What a string says, appended; anything else as it is spelt. */
void json_text_say(JsonText text, Buffer *out);
/* As the next value of a document; null where there is none. */
void json_text_write(JsonText text, Json *json);

/*
 * An object with its members in the order of their keys, and whole numbers without a point: what is equal then reads equal.
 * 0 or -ENOMEM.
 */
int json_text_put_sorted(JsonText object, Buffer *out);
