/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "document/expression.h"
#include "util/scoped.h"

static const char document[] =
        "{\"@parameters\":{\"gpus\":4,\"mode\":\"fp16\",\"batch-size\":8,\"nest\":{\"depth\":3}},"
        "\"@result\":{\"tokens\":1000,\"seconds\":20,\"zero\":0,\"none\":null,\"empty\":[],\"ok\":true,\"big\":1e308,"
        "\"latencies\":[5,1,4,2,3],\"mixed\":[1,\"two\"],"
        "\"benchmarks\":[{\"mean\":2,\"runs\":[1,2]},{\"mean\":6,\"runs\":[3]}],\"partial\":[{\"mean\":1},{}]}}";

static void assert_value(const char *text, double expected) {
        char reason[EXPRESSION_TEXT_MAX];
        Expression expression;
        ExpressionError error;
        double value = -1;

        if (expression_parse(text, &expression, &error) != 0)
                fail_msg("%s: column %u: %s", text, error.column, error.text);
        if (expression_evaluate(&expression, json_text(document, strlen(document)), &value, reason) != 0)
                fail_msg("%s: %s", text, reason);
        if (value < expected - 1e-9 || value > expected + 1e-9)
                fail_msg("%s is %.17g, not %.17g", text, value, expected);
}

static void assert_reason(const char *text, const char *words) {
        char reason[EXPRESSION_TEXT_MAX];
        Expression expression;
        ExpressionError error;
        double value;

        if (expression_parse(text, &expression, &error) != 0)
                fail_msg("%s: column %u: %s", text, error.column, error.text);
        assert_int_equal(expression_evaluate(&expression, json_text(document, strlen(document)), &value, reason),
                         EXPRESSION_NULL);
        if (!strstr(reason, words))
                fail_msg("%s: '%s' does not say '%s'", text, reason, words);
}

static void assert_refused(const char *text, unsigned column, const char *words) {
        Expression expression;
        ExpressionError error;

        assert_int_equal(expression_parse(text, &expression, &error), EXPRESSION_INVALID);
        if (error.column != column || !strstr(error.text, words))
                fail_msg("%s: column %u, not %u: '%s' does not say '%s'", text, error.column, column, error.text,
                         words);
}

static void operators_have_the_usual_order(void **state) {
        (void)state;
        assert_value("1 + 2 * 3", 7);
        assert_value("(1 + 2) * 3", 9);
        assert_value("10 - 4 - 3", 3);
        assert_value("24 / 4 / 3", 2);
        assert_value("-2 * -3 - -1", 7);
        assert_value("1e3*.5", 500);
        assert_value("1 + 1 < 3 * 1", 1);
        assert_value("3 <= 2", 0);
        assert_value("3 >= 3", 1);
        assert_value("3 > 3", 0);
        assert_value("(2 == 2) + (2 != 2)", 1);
}

static void paths_name_results_and_parameters(void **state) {
        (void)state;
        assert_value("tokens / seconds / gpus", 12.5);
        assert_value("@result.tokens * @parameters.gpus", 4000);
        assert_value("\"batch-size\" + nest.depth", 11);
        assert_value("benchmarks[1].mean", 6);
        assert_value("latencies[0]", 5);
        assert_value("benchmarks[1].runs[0]", 3);
}

static void functions_reduce_lists(void **state) {
        (void)state;
        assert_value("min(latencies)", 1);
        assert_value("max(latencies, 9, seconds)", 20);
        assert_value("mean(benchmarks[].mean)", 4);
        assert_value("sum(benchmarks[].runs[])", 6);
        assert_value("sum(benchmarks[].runs)", 6);
        assert_value("sum(empty)", 0);
        assert_value("count(empty)", 0);
        assert_value("count(benchmarks) + count(mixed)", 4);
        assert_value("percentile(latencies, 50)", 3);
        assert_value("percentile (latencies[], 100 - 10)", 4.6);
        assert_value("max(min(latencies), 2) * 10", 20);
}

static void a_document_may_give_no_value_and_the_reason_says_why(void **state) {
        (void)state;
        assert_reason("tokens / zero", "division by zero at column 8");
        assert_reason("1 / (2 - 2)", "division by zero");
        assert_reason("missing", "'missing' is missing");
        assert_reason("none + 1", "'none' is null");
        assert_reason("mode", "'mode' is a string");
        assert_reason("ok", "a boolean");
        assert_reason("@result.gpus", "'@result.gpus' is missing");
        assert_reason("latencies", "is a list");
        assert_reason("latencies[5]", "missing");
        assert_reason("tokens[0]", "missing");
        assert_reason("tokens.x", "missing");
        assert_reason("mean(tokens[])", "'tokens' is a number, not a list");
        assert_reason("mean(mixed)", "'mixed' is a string");
        assert_reason("mean(partial[].mean)", "missing in an item");
        assert_reason("count(missing)", "missing");
        assert_reason("mean(empty)", "empty");
        assert_reason("percentile(latencies, 101)", "between 0 and 100");
        assert_reason("big * big", "too large");
        assert_reason("sum(big, big)", "too large");
}

static void errors_name_the_column(void **state) {
        (void)state;
        assert_refused("", 1, "ends");
        assert_refused("tokens /", 9, "ends");
        assert_refused("tokens seconds", 8, "operator");
        assert_refused("(1 + 2", 7, "column 1");
        assert_refused("1 < 2 < 3", 7, "operator");
        assert_refused("median(latencies)", 1, "'median' is not a function");
        assert_refused("1 + percentile(latencies)", 5, "percentage");
        assert_refused("mean()", 6, "expected");
        assert_refused("mean(1;2)", 7, ", or )");
        assert_refused("a..b", 1, "path");
        assert_refused("a[x]", 1, "path");
        assert_refused("\"a", 1, "path");
        assert_refused("@a", 1, "@result.KEY");
        assert_refused("@result", 1, "@result.KEY");
        assert_refused("0x10", 1, "not a number");
        assert_refused("1e999", 1, "not a number");
        assert_refused("\"ü\" + *", 7, "expected a number");
        assert_refused("a = 1", 3, "operator");
}

static void sizes_are_bounded(void **state) {
        char text[2 * EXPRESSION_BYTES_MAX];
        size_t n = 0;

        (void)state;
        memset(text, '(', sizeof(text));
        strcpy(text + 40, "1");
        assert_refused(text, EXPRESSION_DEPTH_MAX + 2, "too deep");
        memset(text, '-', 40);
        assert_refused(text, EXPRESSION_DEPTH_MAX + 2, "too deep");
        memset(text, '1', EXPRESSION_BYTES_MAX + 1);
        text[EXPRESSION_BYTES_MAX + 1] = '\0';
        assert_refused(text, 1, "1024 bytes");
        for (size_t i = 0; i < 70; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "1+");
        assert_refused(text, 2 * 63 + 3, "too long");
        strcpy(text, "a");
        for (size_t i = 0; i < EXPRESSION_STEPS_MAX; i++)
                strcat(text, ".b");
        assert_refused(text, 1, "16 steps");
}

static void a_list_of_any_length_is_bounded(void **state) {
        size_t n_max = 2 * (EXPRESSION_ITEMS_MAX + 2) + 64, n;
        char reason[EXPRESSION_TEXT_MAX];
        Expression expression;
        ExpressionError error;
        char *text = malloc(n_max);
        double value;

        (void)state;
        n = (size_t)snprintf(text, n_max, "{\"@result\":{\"x\":[1");
        for (size_t i = 0; i < EXPRESSION_ITEMS_MAX; i++, n += 2)
                memcpy(text + n, ",1", 2);
        memcpy(text + n, "]}}", 4);
        assert_int_equal(expression_parse("sum(x)", &expression, &error), 0);
        assert_int_equal(expression_evaluate(&expression, json_text(text, strlen(text)), &value, reason),
                         EXPRESSION_NULL);
        assert_non_null(strstr(reason, "65536"));
        free(text);
}

static void names_of_results_are_found(void **state) {
        Expression expression;
        ExpressionError error;
        unsigned column = 0;

        (void)state;
        assert_int_equal(expression_parse("mean(a.x) + @result.b / @parameters.c", &expression, &error), 0);
        assert_true(expression_names_result(&expression, "a", &column));
        assert_int_equal(column, 6);
        assert_true(expression_names_result(&expression, "b", &column));
        assert_int_equal(column, 13);
        assert_false(expression_names_result(&expression, "x", &column));
        assert_false(expression_names_result(&expression, "c", &column));
}

/* Parses texts made of the language's own words, and evaluates what parses: nothing may crash, loop, or give an
 * infinity. */
static void any_sequence_of_words_is_read_or_refused(void **state) {
        static const char *const words[] = { "1",       "tokens", "(",  ")",          "+",          "-",
                                             "*",       "/",      "<",  "mean",       "percentile", ",",
                                             "[]",      "[0]",    ".",  "benchmarks", "mean",       "\"",
                                             "@result", " ",      "==", "zero",       "latencies",  "\xc3\xbc" };
        unsigned seed = 1, n_valid = 0;

        (void)state;
        for (size_t i = 0; i < 200000; i++) {
                char text[256] = "", reason[EXPRESSION_TEXT_MAX];
                Expression expression;
                ExpressionError error = {};
                double value = 0;

                for (size_t n = 1 + i % 12; n > 0; n--) {
                        seed = seed * 1664525U + 1013904223U;
                        strcat(text, words[(seed >> 16) % N_ELEMENTS(words)]);
                }
                if (expression_parse(text, &expression, &error) != 0) {
                        assert_true(error.column >= 1 && error.column <= strlen(text) + 1 && error.text[0]);
                        continue;
                }
                n_valid++;
                if (expression_evaluate(&expression, json_text(document, strlen(document)), &value, reason) == 0)
                        assert_true(value - value == 0);
                else
                        assert_true(reason[0]);
        }
        assert_true(n_valid > 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(operators_have_the_usual_order),
                cmocka_unit_test(paths_name_results_and_parameters),
                cmocka_unit_test(functions_reduce_lists),
                cmocka_unit_test(a_document_may_give_no_value_and_the_reason_says_why),
                cmocka_unit_test(errors_name_the_column),
                cmocka_unit_test(sizes_are_bounded),
                cmocka_unit_test(a_list_of_any_length_is_bounded),
                cmocka_unit_test(names_of_results_are_found),
                cmocka_unit_test(any_sequence_of_words_is_read_or_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
