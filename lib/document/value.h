/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Value: one typed datum, as JSON knows them
 *
 * Trees of Values are built in an arena by a decoder (JSON in the client, protobuf in
 * the daemon) and borrowed everywhere else. Integers keep all 64 bits, floats stay
 * floats, and the order of members is kept.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/json.h"

typedef enum ValueType {
        VALUE_NULL,
        VALUE_BOOL,
        VALUE_INT,
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
                double number;
                const char *string; /* UTF-8, NUL-terminated, no NUL inside */
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

/* The member of an object, or NULL (also when `value` is NULL or no object). */
const Value *value_get(const Value *value, const char *key);
/* The same, but NULL for a member that is null as well. */
const Value *value_get_given(const Value *value, const char *key);
/* NULL when absent or not a string. */
const char *value_get_string(const Value *value, const char *key);
/* False when absent or not a number. */
bool value_get_double(const Value *value, const char *key, double *ret);
bool value_get_int(const Value *value, const char *key, int64_t *ret);
/* "null", "a boolean", "an integer", "a number", "a string", "a list", "an object": for messages. */
const char *value_type_text(const Value *value);

/* Whether value_compare() orders the value and models can list it. */
bool value_is_scalar(const Value *value);
bool value_is_number(const Value *value);
/* -1, 0 or 1: an order of scalars. Booleans, then numbers by what they are worth (1 and 1.0 the same, no NaN), then strings by bytes. */
int value_compare(const Value *a, const Value *b);
/*
 * The first item of a list of scalars that is there already, and where it is first, in O(n log n). room: for as many pointers as the
 * list has items. False when there is none.
 */
bool value_find_twice(const Value *list, const Value **room, size_t *ret_first, size_t *ret_again);

/* A key that is there twice, or NULL. Reorders `keys`. */
const char *value_find_key_twice(const char **keys, size_t n);

void value_write_json(const Value *value, Json *json);
/* Writes a member of an object. value: NULL for null. */
void value_put_json(const Value *value, const char *key, Json *json);
