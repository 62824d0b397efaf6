/* SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const Value *value_get(const Value *value, const char *key) {
        if (!value || value->type != VALUE_OBJECT)
                return NULL;

        for (size_t i = 0; i < value->n_members; i++)
                if (strcmp(value->members[i].key, key) == 0)
                        return &value->members[i].value;

        return NULL;
}

const Value *value_get_given(const Value *value, const char *key) {
        const Value *member = value_get(value, key);

        return member && member->type != VALUE_NULL ? member : NULL;
}

const char *value_get_string(const Value *value, const char *key) {
        const Value *member = value_get(value, key);

        return member && member->type == VALUE_STRING ? member->string : NULL;
}

bool value_get_double(const Value *value, const char *key, double *ret) {
        const Value *member = value_get(value, key);

        if (!member || !value_is_number(member))
                return false;

        *ret = value_number(member);
        return true;
}

/* 30.0 is an integer, too: many languages print whole floats in this form. */
bool value_get_int(const Value *value, const char *key, int64_t *ret) {
        const Value *member = value_get(value, key);

        if (!member)
                return false;

        if (member->type == VALUE_INT) {
                *ret = member->integer;
                return true;
        }

        if (member->type != VALUE_DOUBLE || member->number != trunc(member->number) ||
            member->number < -0x1p63 || member->number >= 0x1p63)
                return false;

        *ret = (int64_t)member->number;
        return true;
}

const char *value_type_text(const Value *value) {
        static const char *const texts[] = {
                [VALUE_NULL] = "null",
                [VALUE_BOOL] = "a boolean",
                [VALUE_INT] = "an integer",
                [VALUE_UINT] = "an integer",
                [VALUE_DOUBLE] = "a number",
                [VALUE_STRING] = "a string",
                [VALUE_LIST] = "a list",
                [VALUE_OBJECT] = "an object",
        };

        return texts[value->type];
}

bool value_is_scalar(const Value *value) {
        return value->type == VALUE_BOOL || value_is_number(value) || value->type == VALUE_STRING;
}

bool value_is_number(const Value *value) {
        return value->type == VALUE_INT || value->type == VALUE_UINT || value->type == VALUE_DOUBLE;
}

bool value_is_numbers(const Value *value) {
        for (size_t i = 0; value->type == VALUE_LIST && i < value->n_items; i++)
                if (!value_is_number(&value->items[i]))
                        return false;
        return value->type == VALUE_LIST;
}

double value_number(const Value *value) {
        assert(value_is_number(value));
        if (value->type == VALUE_INT)
                return (double)value->integer;
        return value->type == VALUE_UINT ? (double)value->natural : value->number;
}

static int rank(const Value *value) {
        return value->type == VALUE_BOOL ? 0 : value_is_number(value) ? 1 : 2;
}

/* Compares the integer with the number without its fraction. */
static int compare_whole(const Value *integer, double number) {
        if (number < -0x1p63 || number >= 0x1p64)
                return number < 0 ? 1 : -1;
        if (integer->type == VALUE_UINT)
                return number < 0x1p63 ? 1 : COMPARE(integer->natural, (uint64_t)number);
        return number >= 0x1p63 ? -1 : COMPARE(integer->integer, (int64_t)number);
}

/* Exact even if a double cannot represent the integer. */
static int compare_mixed(const Value *integer, double number) {
        return compare_whole(integer, number) ?: COMPARE(0, number - trunc(number));
}

static int compare_integers(const Value *a, const Value *b) {
        if (a->type != b->type)
                return a->type == VALUE_UINT ? 1 : -1;
        return a->type == VALUE_UINT ? COMPARE(a->natural, b->natural) : COMPARE(a->integer, b->integer);
}

int value_compare(const Value *a, const Value *b) {
        if (rank(a) != rank(b))
                return COMPARE(rank(a), rank(b));
        if (a->type == VALUE_BOOL)
                return COMPARE(a->boolean, b->boolean);
        if (a->type == VALUE_STRING)
                return COMPARE(strcmp(a->string, b->string), 0);
        if (a->type == VALUE_DOUBLE && b->type == VALUE_DOUBLE)
                return COMPARE(a->number, b->number);
        if (b->type == VALUE_DOUBLE)
                return compare_mixed(a, b->number);
        return a->type == VALUE_DOUBLE ? -compare_mixed(b, a->number) : compare_integers(a, b);
}

bool value_equals(const Value *a, const Value *b) {
        scoped(buffer_deinit) Buffer left = {}, right = {};

        if (!a || !b)
                return a == b;
        if (value_is_scalar(a) && value_is_scalar(b))
                return value_compare(a, b) == 0;
        value_write_json(a, &(Json){ .out = &left });
        value_write_json(b, &(Json){ .out = &right });
        return buffer_error(&left) == 0 && buffer_error(&right) == 0 && strcmp(left.text, right.text) == 0;
}

/* Compares items of one list; equal items are ordered by their position. */
static int compare_items(const void *a, const void *b) {
        const Value *const *left = a, *const *right = b;

        return value_compare(*left, *right) ?: COMPARE(*left, *right);
}

bool value_find_twice(const Value *list, const Value **room, size_t *ret_first, size_t *ret_again) {
        const Value *first = NULL, *again = NULL;

        for (size_t i = 0; i < list->n_items; i++)
                room[i] = &list->items[i];
        qsort(room, list->n_items, sizeof(*room), compare_items);

        for (size_t i = 1; i < list->n_items; i++)
                if (value_compare(room[i - 1], room[i]) == 0 && (!again || room[i] < again)) {
                        first = room[i - 1];
                        again = room[i];
                }
        if (!again)
                return false;

        *ret_first = (size_t)(first - list->items);
        *ret_again = (size_t)(again - list->items);
        return true;
}

static void sift_down(const char **keys, size_t i, size_t n) {
        for (size_t child; (child = 2 * i + 1) < n; i = child) {
                const char *key = keys[i];

                if (child + 1 < n && strcmp(keys[child], keys[child + 1]) < 0)
                        child++;
                if (strcmp(key, keys[child]) >= 0)
                        return;

                keys[i] = keys[child];
                keys[child] = key;
        }
}

/* Heapsort: unlike qsort(), it allocates no memory, and is fast for every input. */
static void sort_keys(const char **keys, size_t n) {
        for (size_t i = n / 2; i > 0; i--)
                sift_down(keys, i - 1, n);

        for (size_t i = n; i > 1; i--) {
                const char *last = keys[i - 1];

                keys[i - 1] = keys[0];
                keys[0] = last;
                sift_down(keys, 0, i - 1);
        }
}

#define PAIRWISE_MAX 32U

const char *value_find_key_twice(const char **keys, size_t n) {
        if (n > PAIRWISE_MAX) {
                sort_keys(keys, n);
                for (size_t i = 1; i < n; i++)
                        if (strcmp(keys[i - 1], keys[i]) == 0)
                                return keys[i];
                return NULL;
        }

        for (size_t i = 1; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        if (keys[i][0] == keys[k][0] && strcmp(keys[i], keys[k]) == 0)
                                return keys[i];
        return NULL;
}

static void write_list(const Value *value, Json *json) {
        json_array_begin(json);
        for (size_t i = 0; i < value->n_items; i++)
                value_write_json(&value->items[i], json);
        json_array_end(json);
}

static void write_object(const Value *value, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < value->n_members; i++) {
                json_key(json, value->members[i].key);
                value_write_json(&value->members[i].value, json);
        }
        json_object_end(json);
}

/* The recursion is as deep as the tree, and VALUE_DEPTH_MAX limits all trees. */
void value_write_json(const Value *value, Json *json) {
        switch (value->type) {
        case VALUE_NULL:
                json_null(json);
                return;
        case VALUE_BOOL:
                json_bool(json, value->boolean);
                return;
        case VALUE_INT:
                json_int(json, value->integer);
                return;
        case VALUE_UINT:
                json_uint(json, value->natural);
                return;
        case VALUE_DOUBLE:
                json_double(json, value->number);
                return;
        case VALUE_STRING:
                json_string(json, value->string);
                return;
        case VALUE_LIST:
                write_list(value, json);
                return;
        case VALUE_OBJECT:
                write_object(value, json);
                return;
        }
}

void value_put_json(const Value *value, const char *key, Json *json) {
        json_key(json, key);
        if (value)
                value_write_json(value, json);
        else
                json_null(json);
}
