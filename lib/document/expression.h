/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Expression: arithmetic over the parameters and results of a document, as "tokens / elapsed"
 *
 * An expression has numbers, paths, + - * /, one comparison (< <= > >= == !=, which gives 1 or 0), parentheses, and
 * the functions min, max, mean, sum, count and percentile(LIST, 95). A path names a member of @result, else of
 * @parameters: benchmarks[0].mean, or benchmarks[].mean for the list of all means. @result.x and @parameters.x name
 * one of them; a key with other characters than letters, digits and _ is written in quotation marks. A list is an
 * argument of a function only.
 *
 * perfd-indicators(5) describes the language. Evaluation has no side effects, and its cost is bounded by the limits
 * below.
 */

#include <stdbool.h>

#include "json/json_text.h"

#define EXPRESSION_BYTES_MAX 1024U
#define EXPRESSION_NODES_MAX 128U
#define EXPRESSION_DEPTH_MAX 16U    /* of parentheses, functions and signs */
#define EXPRESSION_STEPS_MAX 16U    /* keys and indexes of a path */
#define EXPRESSION_ITEMS_MAX 65536U /* numbers of the lists in one function */

typedef enum ExpressionKind {
        EXPRESSION_NUMBER,
        EXPRESSION_PATH,
        EXPRESSION_OPERATOR,
        EXPRESSION_FUNCTION,
} ExpressionKind;

typedef struct ExpressionNode {
        ExpressionKind kind;
        unsigned which;        /* operator or function */
        unsigned first, next;  /* first operand, next operand of the same operator; 0: none */
        unsigned begin, n;     /* place in the text */
        double number;
} ExpressionNode;

/* A parsed expression; node 0 is not used. */
typedef struct Expression {
        const char *text; /* borrowed; NUL-terminated */
        ExpressionNode nodes[EXPRESSION_NODES_MAX];
        unsigned n_nodes, root;
} Expression;

#define EXPRESSION_TEXT_MAX 200

typedef struct ExpressionError {
        unsigned column; /* from 1, in characters */
        char text[EXPRESSION_TEXT_MAX];
} ExpressionError;

enum {
        EXPRESSION_INVALID = 1,
        EXPRESSION_NULL, /* the expression has no value for the document */
};

/* Parses a NUL-terminated text. 0 or EXPRESSION_INVALID. */
int expression_parse(const char *text, Expression *ret, ExpressionError *ret_error);

/* Computes the number for a document, an object with @parameters and @result. 0, EXPRESSION_NULL with the reason, or
 * -ENOMEM. */
int expression_evaluate(const Expression *expression, JsonText document, double *ret,
                        char ret_reason[static EXPRESSION_TEXT_MAX]);

/* True if a path of the expression begins with the result of that name. *ret_column: where. */
bool expression_names_result(const Expression *expression, const char *name, unsigned *ret_column);
