/* SPDX-License-Identifier: Apache-2.0 */
#include "document/expression_path.h"

#include <string.h>

#define INDEX_DIGITS_MAX 6

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool expression_path_begins(char c) {
        return is_letter(c) || c == '@' || c == '"';
}

static ExpressionStep read_key(const char **p) {
        ExpressionStep step = { .kind = EXPRESSION_STEP_KEY, .key = *p };

        if (**p == '"') {
                const char *end = strchr(*p + 1, '"');

                if (!end || end == *p + 1)
                        return (ExpressionStep){ .kind = EXPRESSION_STEP_WRONG };
                step.key = *p + 1;
                step.n = (size_t)(end - step.key);
                *p = end + 1;
                return step;
        }
        if (!expression_path_begins(**p))
                return (ExpressionStep){ .kind = EXPRESSION_STEP_WRONG };
        for ((*p)++; is_letter(**p) || is_digit(**p);)
                (*p)++;
        step.n = (size_t)(*p - step.key);
        return step;
}

static ExpressionStep read_index(const char **p) {
        ExpressionStep step = { .kind = EXPRESSION_STEP_ALL };
        const char *digits = ++(*p);

        for (; is_digit(**p) && *p - digits < INDEX_DIGITS_MAX; (*p)++) {
                step.kind = EXPRESSION_STEP_INDEX;
                step.index = 10 * step.index + (size_t)(**p - '0');
        }
        if (**p != ']')
                return (ExpressionStep){ .kind = EXPRESSION_STEP_WRONG };
        (*p)++;
        return step;
}

ExpressionStep expression_path_next(const char *begin, const char **p) {
        if (*p == begin)
                return read_key(p);
        if (**p == '[')
                return read_index(p);
        if (**p != '.')
                return (ExpressionStep){ .kind = EXPRESSION_STEP_END };
        (*p)++;
        return read_key(p);
}
