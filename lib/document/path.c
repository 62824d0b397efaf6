/* SPDX-License-Identifier: Apache-2.0 */
#include "document/path.h"

#include <stdbool.h>
#include <string.h>

#define INDEX_DIGITS_MAX 6

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static PathStep read_key(const char **p) {
        PathStep step = { .kind = PATH_KEY, .key = *p };

        if (**p == '"') {
                const char *end = strchr(*p + 1, '"');

                if (!end || end == *p + 1)
                        return (PathStep){ .kind = PATH_WRONG };
                step.key = *p + 1;
                step.n = (size_t)(end - step.key);
                *p = end + 1;
                return step;
        }
        if (!is_letter(**p) && **p != '@')
                return (PathStep){ .kind = PATH_WRONG };
        for ((*p)++; is_letter(**p) || is_digit(**p);)
                (*p)++;
        step.n = (size_t)(*p - step.key);
        return step;
}

static PathStep read_index(const char **p) {
        PathStep step = { .kind = PATH_ALL };
        const char *digits = ++(*p);

        if (**p == '*') {
                step.kind = PATH_PRODUCT;
                (*p)++;
        }
        for (; step.kind != PATH_PRODUCT && is_digit(**p) && *p - digits < INDEX_DIGITS_MAX; (*p)++) {
                step.kind = PATH_INDEX;
                step.index = 10 * step.index + (size_t)(**p - '0');
        }
        if (**p != ']')
                return (PathStep){ .kind = PATH_WRONG };
        (*p)++;
        return step;
}

PathStep path_next(const char *begin, const char **p) {
        if (**p == '[')
                return read_index(p);
        if (*p == begin && **p)
                return read_key(p);
        if (**p != '.')
                return (PathStep){ .kind = PATH_END };
        (*p)++;
        return read_key(p);
}

const Value *path_get(const Value *value, const PathStep *step) {
        if (step->kind == PATH_INDEX)
                return value->type == VALUE_LIST && step->index < value->n_items ? &value->items[step->index] : NULL;
        for (size_t i = 0; value->type == VALUE_OBJECT && i < value->n_members; i++)
                if (strlen(value->members[i].key) == step->n && memcmp(value->members[i].key, step->key, step->n) == 0)
                        return &value->members[i].value;
        return NULL;
}
