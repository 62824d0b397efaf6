/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/selection/aggregate.h"
#include "util/scoped.h"

static int parse(const char *text, Aggregate *ret) {
        return aggregate_parse(text, strlen(text), ret);
}

static const Statistics known = {
        .n = 4,
        .mean = 1,
        .median = 2,
        .sd = 3,
        .standard_error = 4,
        .min = 5,
        .max = 6,
        .q1 = 7,
        .q3 = 8,
        .iqr = 9,
        .cov = 10,
        .covm = 11,
        .skew = 12,
};
static const double sorted[] = { 10, 20, 30, 40, 50 };

static double value_of(const char *text) {
        Aggregate aggregate;

        assert_int_equal(parse(text, &aggregate), 0);
        assert_string_equal(aggregate.text, text);
        assert_string_equal(aggregate.key, strchr(text, ':') + 1);
        return aggregate_value(&aggregate, &known, sorted, N_ELEMENTS(sorted));
}

static void each_name_has_its_number(void **state) {
        static const char *const texts[] = { "mean:r",   "median:r", "sd:r",  "standard_error:r", "min:r",  "max:r",
                                             "q1:r",     "q3:r",     "iqr:r", "cov:r",            "covm:r", "skew:r" };

        (void)state;
        assert_true(value_of("n:r") == 4);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_true(value_of(texts[i]) == (double)(i + 1));
}

static void percentiles_go_from_the_least_to_the_greatest(void **state) {
        (void)state;
        assert_true(value_of("p0:r") == 10);
        assert_true(value_of("p50:r") == 30);
        assert_true(value_of("p62.5:r") == 35);
        assert_true(value_of("p100:a:b") == 50);
        assert_true(value_of("p5.000000000000:r") == 12); /* maximum length */
}

static void an_invalid_sample_size_is_malformed(void **state) {
        static const char *const wrong[] = {
                "",
                ":",
                "median",
                "median:",
                ":r",
                "medians:r",
                "media:r",
                "MEDIAN:r",
                "p:r",
                "p100.1:r",
                "p-1:r",
                "p1e1:r",
                "p0x1:r",
                "pp:r",
                "p nan:r",
                "p.:r",
                "q50:r",
                "p5.0000000000000:r",
                "p50.00000000000000000000000000000000000:r",
        };
        Aggregate aggregate;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++)
                if (parse(wrong[i], &aggregate) != AGGREGATE_MALFORMED)
                        fail_msg("'%s' is a aggregate", wrong[i]);
        assert_int_equal(aggregate_parse("mean:a\0b", 8, &aggregate), AGGREGATE_MALFORMED);
}

/* The statistic of the order alone is the same as that of all statistics. */
static void a_choice_of_the_order_needs_no_sums(void **state) {
        static const char *const all[] = {
                "n:r",  "mean:r", "median:r", "sd:r",  "standard_error:r", "min:r",  "max:r",
                "q1:r", "q3:r",   "iqr:r",    "cov:r", "covm:r",           "skew:r", "p95:r"
        };
        double values[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
        Statistics order, whole;
        size_t n_of_order = 0;

        (void)state;
        statistics_of(values, N_ELEMENTS(values), &whole);
        statistics_order_of(values, N_ELEMENTS(values), &order);
        for (size_t i = 0; i < N_ELEMENTS(all); i++) {
                double a, b;
                Aggregate aggregate;

                assert_int_equal(parse(all[i], &aggregate), 0);
                a = aggregate_value(&aggregate, &order, values, N_ELEMENTS(values));
                b = aggregate_value(&aggregate, &whole, values, N_ELEMENTS(values));
                assert_true(aggregate_is_of_order(&aggregate) ? a == b : isnan(a));
                n_of_order += aggregate_is_of_order(&aggregate);
        }
        assert_int_equal(n_of_order, 9);
}

static void a_key_has_a_limit(void **state) {
        char text[KEY_MAX_BYTES + 64] = "mean:";
        Aggregate aggregate;

        (void)state;
        memset(text + 5, 'k', KEY_MAX_BYTES);
        assert_int_equal(parse(text, &aggregate), 0);
        assert_int_equal(strlen(aggregate.key), KEY_MAX_BYTES);
        text[5 + KEY_MAX_BYTES] = 'k';
        assert_int_equal(parse(text, &aggregate), AGGREGATE_MALFORMED);
}

static void ratios_and_counts_have_no_unit(void **state) {
        static const char *const with[] = { "mean:r", "median:r", "sd:r", "standard_error:r", "min:r", "max:r", "q1:r",
                                            "q3:r",   "iqr:r",    "p9:r" };
        static const char *const without[] = { "n:r", "cov:r", "covm:r", "skew:r" };
        Aggregate aggregate;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(with); i++) {
                assert_int_equal(parse(with[i], &aggregate), 0);
                assert_true(aggregate_has_unit(&aggregate));
        }
        for (size_t i = 0; i < N_ELEMENTS(without); i++) {
                assert_int_equal(parse(without[i], &aggregate), 0);
                assert_false(aggregate_has_unit(&aggregate));
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_name_has_its_number),
                cmocka_unit_test(percentiles_go_from_the_least_to_the_greatest),
                cmocka_unit_test(an_invalid_sample_size_is_malformed),
                cmocka_unit_test(a_choice_of_the_order_needs_no_sums),
                cmocka_unit_test(a_key_has_a_limit),
                cmocka_unit_test(ratios_and_counts_have_no_unit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
