/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "util/scoped.h"
#include "value/value_parse.h"

static void assert_near(double a, double b) {
        assert_true(fabs(a - b) <= 1e-9 * (1 + fabs(b)));
}

/* Expected values from numpy, and from pandas for the skew. */
static void a_sample_is_summed_up_as_numpy_and_pandas_do(void **state) {
        double values[] = { 3.5, 1.25, 9, 2, 2.75, 4.125 };
        Statistics s;

        (void)state;
        statistics_of(values, 6, &s);
        assert_int_equal(s.n, 6);
        assert_near(s.mean, 3.7708333333333335);
        assert_near(s.median, 3.125);
        assert_near(s.sd, 2.75954781923899);
        assert_near(s.standard_error, 1.126580679657599);
        assert_near(s.min, 1.25);
        assert_near(s.max, 9);
        assert_near(s.q1, 2.1875);
        assert_near(s.q3, 3.96875);
        assert_near(s.iqr, 1.78125);
        assert_near(s.cov, 0.7318137863175221);
        assert_near(s.covm, 0.57);
        assert_near(s.skew, 1.7184927211831131);
}

static void statistics_of_too_few_values_are_nan(void **state) {
        double values[] = { 5, 7 };
        Statistics s;

        (void)state;
        statistics_of(values, 0, &s);
        assert_true(isnan(s.median) && isnan(s.mean) && isnan(s.min));
        statistics_of(values, 1, &s);
        assert_true(s.median == 5 && s.q1 == 5 && s.max == 5 && isnan(s.sd) && isnan(s.cov) && isnan(s.skew));
        statistics_of(values, 2, &s);
        assert_true(s.median == 6 && !isnan(s.sd) && isnan(s.skew));
}

static void equal_values_have_no_spread(void **state) {
        double values[] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
        Statistics s;

        (void)state;
        statistics_of(values, 7, &s);
        assert_true(s.sd == 0 && s.iqr == 0 && s.cov == 0 && s.skew == 0 && s.mean == 0.1);
}

static void ratios_to_zero_are_nan(void **state) {
        double values[] = { -1, 0, 1 };
        Statistics s;

        (void)state;
        statistics_of(values, 3, &s);
        assert_true(isnan(s.cov) && isnan(s.covm) && s.skew == 0);
}

static void quantiles_interpolate_between_neighbours(void **state) {
        const double values[] = { 1, 2, 4, 8 };

        (void)state;
        assert_near(statistics_quantile_of_sorted(values, 4, 0), 1);
        assert_near(statistics_quantile_of_sorted(values, 4, 0.5), 3);
        assert_near(statistics_quantile_of_sorted(values, 4, 0.9), 6.8);
        assert_true(statistics_quantile_of_sorted(values, 4, 1) == 8);
        assert_true(isnan(statistics_quantile_of_sorted(values, 0, 0.5)));
}

/* --- real batches ----------------------------------------------------------------------------- */

static const struct {
        const char *key;
        size_t offset;
} golden_fields[] = {
        { "mean", offsetof(Statistics, mean) },
        { "median", offsetof(Statistics, median) },
        { "std_ddof1", offsetof(Statistics, sd) },
        { "std_error", offsetof(Statistics, standard_error) },
        { "min", offsetof(Statistics, min) },
        { "max", offsetof(Statistics, max) },
        { "q1_linear", offsetof(Statistics, q1) },
        { "q3_linear", offsetof(Statistics, q3) },
        { "iqr", offsetof(Statistics, iqr) },
        { "cov", offsetof(Statistics, cov) },
        { "covm", offsetof(Statistics, covm) },
        { "skew_pandas", offsetof(Statistics, skew) },
};

static void check_column(const Value *golden) {
        const Value *list = value_get(golden, "values");
        double values[64];
        Statistics s;

        assert_true(list && list->n_items <= N_ELEMENTS(values));
        for (size_t i = 0; i < list->n_items; i++)
                values[i] = list->items[i].type == VALUE_INT ? (double)list->items[i].integer : list->items[i].number;
        statistics_of(values, list->n_items, &s);

        for (size_t i = 0; i < N_ELEMENTS(golden_fields); i++) {
                double ours = *(const double *)(const void *)((const char *)&s + golden_fields[i].offset), theirs;

                if (value_get_double(golden, golden_fields[i].key, &theirs))
                        assert_near(ours, theirs);
                else
                        assert_true(isnan(ours));
        }
}

static char *read_golden(void) {
        const char *directory = getenv("PERFD_FIXTURES");
        char path[512], *text = NULL;
        size_t n = 0;
        FILE *file;

        (void)snprintf(path, sizeof(path), "%s/thoth/golden_batch_statistics.json",
                       directory ? directory : "../shared/fixtures");
        file = fopen(path, "re");
        if (!file)
                return NULL;
        assert_true(getdelim(&text, &n, '\0', file) > 0);
        (void)fclose(file);
        return text;
}

static void real_batches_have_their_known_statistics(void **state) {
        scoped(freep) char *text = read_golden();
        scoped(arena_deinit) Arena arena = {};
        const Value *document;
        ValueReader reader;
        ValueError error;
        size_t n_columns = 0;

        (void)state;
        if (!text)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        assert_int_equal(arena_init(&arena, value_parse_arena_size(strlen(text))), 0);
        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, &arena, &document, &error), 0);
        for (size_t i = 0; i < document->n_members; i++) {
                const Value *stats = value_get(&document->members[i].value, "stats");

                for (size_t k = 0; stats && k < stats->n_members; k++, n_columns++)
                        check_column(&stats->members[k].value);
        }
        assert_true(n_columns > 20);
}

static int compare_doubles(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void a_median_needs_no_order(void **state) {
        double values[60], sorted[60];
        uint64_t seed = 3;

        (void)state;
        for (size_t trial = 0; trial < 3000; trial++) {
                size_t n = 1 + trial % 60;

                for (size_t i = 0; i < n; i++) {
                        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                        /* Few distinct values, many distinct values, sorted values, and a single value. */
                        values[i] = trial % 4 == 0 ? (double)(seed >> 62) : trial % 4 == 1 ? (double)(seed >> 40) / 3
                                  : trial % 4 == 2 ? (double)i : 7;
                        sorted[i] = values[i];
                }
                qsort(sorted, n, sizeof(*sorted), compare_doubles);
                assert_true(statistics_median_in_place(values, n) == statistics_quantile_of_sorted(sorted, n, 0.5));
        }
        assert_true(isnan(statistics_median_in_place(values, 0)));
}

/* Levels of binomial tables: 1 - 2 × (1 + 6 + …) / 2^n. */
static void the_interval_of_a_median_has_its_true_level(void **state) {
        const double sorted[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
        MedianInterval interval;

        (void)state;
        for (size_t n = 0; n < 6; n++)
                assert_true(isnan(statistics_median_interval(sorted, n, 0.95).level));
        interval = statistics_median_interval(sorted, 6, 0.95);
        assert_true(interval.low == 1 && interval.high == 6 && fabs(interval.level - (1 - 2.0 / 64)) < 1e-12);
        interval = statistics_median_interval(sorted, 12, 0.95);
        assert_true(interval.low == 3 && interval.high == 10 &&
                    fabs(interval.level - (1 - 2.0 * (1 + 12 + 66) / 4096)) < 1e-12);
        assert_true(isnan(statistics_median_interval(sorted, 9, 0.999).level));
}

/* Lognormal values, whose bootstrap interval at 0.95 held the median in 92 % of the cases. */
static void the_interval_of_a_median_holds_it_as_often_as_it_says(void **state) {
        static const size_t sizes[] = { 6, 8, 15, 40 };
        uint64_t seed = 11;

        (void)state;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                unsigned n_held = 0, n_trials = 4000;
                MedianInterval interval;

                for (unsigned trial = 0; trial < n_trials; trial++) {
                        double values[40];

                        for (size_t k = 0; k < sizes[i]; k++) {
                                double u[2];

                                for (size_t j = 0; j < 2; j++) {
                                        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                                        u[j] = ((double)(seed >> 11) + 0.5) * 0x1p-53;
                                }
                                values[k] = exp(sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]));
                        }
                        statistics_sort(values, sizes[i]);
                        interval = statistics_median_interval(values, sizes[i], 0.95);
                        n_held += interval.low <= 1 && interval.high >= 1;
                }
                assert_true(interval.level >= 0.95);
                assert_true(fabs((double)n_held / n_trials - interval.level) < 0.015); /* four standard errors */
        }
}

static uint64_t scramble(uint64_t v) {
        v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
        return v ^ (v >> 31);
}

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Makes value i of a sample: any finite double, few different ones, or similar ones. */
static double make_value(unsigned kind, uint64_t i) {
        uint64_t bits = scramble(i + 1);
        double v;

        if (kind == 1)
                return (double)(bits % 7) - 3;
        if (kind == 2)
                return 300 + (double)(bits >> 40) / 1e6;
        memcpy(&v, &bits, sizeof(v));
        return isfinite(v) ? v : -(double)(bits >> 12);
}

static void many_values_are_sorted_like_few(void **state) {
        static const size_t sizes[] = { 2, 1023, 1024, 1025, 50000 };

        (void)state;
        for (unsigned kind = 0; kind < 3; kind++)
                for (size_t k = 0; k < N_ELEMENTS(sizes); k++) {
                        size_t n = sizes[k];
                        scoped(freep) double *values = malloc(n * sizeof(*values)),
                                             *expected = malloc(n * sizeof(*expected));

                        assert_true(values && expected);
                        for (size_t i = 0; i < n; i++)
                                values[i] = expected[i] = make_value(kind, i);
                        qsort(expected, n, sizeof(*expected), compare);
                        statistics_sort(values, n);
                        for (size_t i = 0; i < n; i++)
                                assert_true(values[i] == expected[i]);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sample_is_summed_up_as_numpy_and_pandas_do),
                cmocka_unit_test(statistics_of_too_few_values_are_nan),
                cmocka_unit_test(equal_values_have_no_spread),
                cmocka_unit_test(ratios_to_zero_are_nan),
                cmocka_unit_test(quantiles_interpolate_between_neighbours),
                cmocka_unit_test(a_median_needs_no_order),
                cmocka_unit_test(the_interval_of_a_median_has_its_true_level),
                cmocka_unit_test(the_interval_of_a_median_holds_it_as_often_as_it_says),
                cmocka_unit_test(many_values_are_sorted_like_few),
                cmocka_unit_test(real_batches_have_their_known_statistics),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
