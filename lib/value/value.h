/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value: a value of a JSON document
 *
 * A decoder builds a tree of Values in an arena (JSON in the client, protobuf in the daemon); all others borrow it.
 * Integers from -2^63 to 2^64-1 and floats are kept exactly, and so is the order of members.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"

typedef enum ValueType {
        VALUE_NULL,
        VALUE_BOOL,
        VALUE_INT,
        VALUE_UINT, /* an integer above INT64_MAX */
        VALUE_DOUBLE,
        VALUE_STRING,
        VALUE_LIST,
        VALUE_OBJECT,
} ValueType;

typedef struct Value Value;
typedef struct Member Member;

struct Value {
        ValueType type;
        union {
                bool boolean;
                int64_t integer;
                uint64_t natural;
                double number;
                const char *string; /* UTF-8, NUL-terminated, without NUL inside */
                struct {
                        const Value *items;
                        size_t n_items;
                };
                struct {
                        const Member *members;
                        size_t n_members;
                };
        };
};

struct Member {
        const char *key;
        Value value;
};

#define VALUE_DEPTH_MAX 32

/* Returns the member of an object, or NULL (also if `value` is NULL or not an object). */
const Value *value_get(const Value *value, const char *key);
/* As above, but also returns NULL for a null member. */
const Value *value_get_given(const Value *value, const char *key);
/* Returns NULL if absent or not a string. */
const char *value_get_string(const Value *value, const char *key);
/* Returns false if absent or not a number. */
bool value_get_double(const Value *value, const char *key, double *ret);
bool value_get_int(const Value *value, const char *key, int64_t *ret);
/* Returns "null", "a boolean", "an integer", "a number", "a string", "a list" or "an object", for messages. */
const char *value_type_text(const Value *value);

/* True if value_compare() can order the value, and models can list it. */
bool value_is_scalar(const Value *value);
bool value_is_number(const Value *value);
/* True for a list of numbers only, also for an empty one. */
bool value_is_numbers(const Value *value);
/* Returns the nearest double of a number. */
double value_number(const Value *value);
/* Orders scalars: -1, 0 or 1. Booleans come first, then numbers by value (1 and 1.0 are equal, no NaN), then strings
 * by bytes. */
int value_compare(const Value *a, const Value *b);
/* Returns true for equal scalars, and for lists and objects with the same JSON; NULL equals only NULL. */
bool value_equals(const Value *a, const Value *b);
/* Finds the first item of a list of scalars that equals an earlier item, and the index of the earlier item, in O(n
 * log n).
 * room: space for a pointer to each item. False if all items differ. */
bool value_find_twice(const Value *list, const Value **room, size_t *ret_first, size_t *ret_again);

/* Returns a key that occurs twice, or NULL. Reorders `keys`. */
const char *value_find_key_twice(const char **keys, size_t n);

void value_write_json(const Value *value, Json *json);
/* Writes a member of an object. value: NULL for null. */
void value_put_json(const Value *value, const char *key, Json *json);
