/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Expression path: the steps of a path such as benchmarks[].mean */

#include <stdbool.h>
#include <stddef.h>

typedef enum ExpressionStepKind {
        EXPRESSION_STEP_END,
        EXPRESSION_STEP_KEY,   /* a member of an object */
        EXPRESSION_STEP_ALL,   /* [] */
        EXPRESSION_STEP_INDEX, /* [3] */
        EXPRESSION_STEP_WRONG, /* the path ends in the middle of a step */
} ExpressionStepKind;

typedef struct ExpressionStep {
        ExpressionStepKind kind;
        const char *key; /* n bytes */
        size_t n, index;
} ExpressionStep;

/* True for a character that begins a path: a letter, _, @ or a quotation mark. */
bool expression_path_begins(char c);
/* Reads the step at *p, of a path that began at `begin`, and moves *p behind it. */
ExpressionStep expression_path_next(const char *begin, const char **p);
