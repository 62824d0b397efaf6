/* SPDX-License-Identifier: Apache-2.0 */
#include "document/expression_words.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

/* <= precedes <, of which it begins with. */
static const struct {
        const char *text;
        unsigned level;
} operators[N_EXPRESSION_OPERATORS] = {
        [OPERATOR_LESS_EQUAL] = { "<=", 0 },
        [OPERATOR_LESS] = { "<", 0 },
        [OPERATOR_GREATER_EQUAL] = { ">=", 0 },
        [OPERATOR_GREATER] = { ">", 0 },
        [OPERATOR_EQUAL] = { "==", 0 },
        [OPERATOR_NOT_EQUAL] = { "!=", 0 },
        [OPERATOR_ADD] = { "+", 1 },
        [OPERATOR_SUBTRACT] = { "-", 1 },
        [OPERATOR_MULTIPLY] = { "*", 2 },
        [OPERATOR_DIVIDE] = { "/", 2 },
};

static const char *const functions[N_EXPRESSION_FUNCTIONS] = {
        [FUNCTION_MIN] = "min", [FUNCTION_MAX] = "max",     [FUNCTION_MEAN] = "mean",
        [FUNCTION_SUM] = "sum", [FUNCTION_COUNT] = "count", [FUNCTION_PERCENTILE] = "percentile",
};

ExpressionOperator expression_words_operator(const char *text, unsigned level, size_t *ret_n) {
        for (ExpressionOperator i = 0; i < N_EXPRESSION_OPERATORS; i++) {
                *ret_n = strlen(operators[i].text);
                if (operators[i].level == level && strncmp(text, operators[i].text, *ret_n) == 0)
                        return i;
        }
        return N_EXPRESSION_OPERATORS;
}

ExpressionFunction expression_words_function(const char *name, size_t n) {
        ExpressionFunction i = 0;

        while (i < N_EXPRESSION_FUNCTIONS && (strlen(functions[i]) != n || memcmp(functions[i], name, n) != 0))
                i++;
        return i;
}

double expression_words_compute(ExpressionOperator operator, double a, double b) {
        switch (operator) {
        case OPERATOR_LESS_EQUAL:
                return a <= b;
        case OPERATOR_LESS:
                return a < b;
        case OPERATOR_GREATER_EQUAL:
                return a >= b;
        case OPERATOR_GREATER:
                return a > b;
        case OPERATOR_EQUAL:
                return a == b;
        case OPERATOR_NOT_EQUAL:
                return a != b;
        case OPERATOR_ADD:
                return a + b;
        case OPERATOR_SUBTRACT:
                return a - b;
        case OPERATOR_MULTIPLY:
                return a * b;
        case OPERATOR_DIVIDE:
                return b == 0 ? (double)NAN : a / b;
        case N_EXPRESSION_OPERATORS:
                break;
        }
        return (double)NAN;
}

double expression_words_reduce(ExpressionFunction function, double *numbers, size_t n, double percentage) {
        double sum = 0;

        switch (function) {
        case FUNCTION_COUNT:
                return (double)n;
        case FUNCTION_SUM:
        case FUNCTION_MEAN:
                for (size_t i = 0; i < n; i++)
                        sum += numbers[i];
                return function == FUNCTION_SUM ? sum : sum / (double)n;
        case FUNCTION_MIN:
        case FUNCTION_MAX:
        case FUNCTION_PERCENTILE:
                statistics_sort(numbers, n);
                return statistics_quantile_of_sorted(numbers, n, function == FUNCTION_MIN ? 0 : function == FUNCTION_MAX ? 1
                                                                                                        : percentage / 100);
        case N_EXPRESSION_FUNCTIONS:
                break;
        }
        return (double)NAN;
}
