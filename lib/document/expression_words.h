/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Expression words: operators and functions of expressions */

#include <stddef.h>

typedef enum ExpressionOperator {
        OPERATOR_LESS_EQUAL,
        OPERATOR_LESS,
        OPERATOR_GREATER_EQUAL,
        OPERATOR_GREATER,
        OPERATOR_EQUAL,
        OPERATOR_NOT_EQUAL,
        OPERATOR_ADD,
        OPERATOR_SUBTRACT,
        OPERATOR_MULTIPLY,
        OPERATOR_DIVIDE,
        N_EXPRESSION_OPERATORS,
} ExpressionOperator;

typedef enum ExpressionFunction {
        FUNCTION_MIN,
        FUNCTION_MAX,
        FUNCTION_MEAN,
        FUNCTION_SUM,
        FUNCTION_COUNT,
        FUNCTION_PERCENTILE,
        N_EXPRESSION_FUNCTIONS,
} ExpressionFunction;

#define EXPRESSION_LEVELS 3U /* levels of operators: comparisons, + and -, * and / */

/* Returns the operator of the level at the start of the text, of *ret_n bytes; N_EXPRESSION_OPERATORS: none. */
ExpressionOperator expression_words_operator(const char *text, unsigned level, size_t *ret_n);
/* Returns the function with a name of n bytes; N_EXPRESSION_FUNCTIONS: none. */
ExpressionFunction expression_words_function(const char *name, size_t n);

/* Computes a operator b; a division by zero gives an infinity or NAN. */
double expression_words_compute(ExpressionOperator operator, double a, double b);
/* Computes a function of n > 0 numbers (n >= 0 for sum and count), and sorts them if it has to. percentage: of percentile. */
double expression_words_reduce(ExpressionFunction function, double *numbers, size_t n, double percentage);
