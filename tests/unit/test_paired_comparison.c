/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/analysis/paired_comparison.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "analysis/paired_comparison.h"

#define N_PAIRS 50U

/* A fixed sequence: the test is the same each time. */
static double uniform(uint64_t *seed) {
        *seed = *seed * 6364136223846793005U + 1442695040888963407U;
        return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

static double gauss(uint64_t *seed) {
        double size = sqrt(-2 * log(uniform(seed)));

        return size * cos(2 * M_PI * uniform(seed));
}

/* Student's t with one degree of freedom: it has neither variance nor mean. */
static double cauchy(uint64_t *seed) {
        return tan(M_PI * (uniform(seed) - 0.5));
}

/* The second run of each pair is 10 % slower, and a coin decides which command it is. */
static double order_effect(uint64_t *seed) {
        return (uniform(seed) < 0.5 ? -0.1 : 0.1) + 0.003 * gauss(seed);
}

/* Looks after each pair until there is a verdict, as a comparison does. */
static PairedVerdict compare(double shift, double spread, double (*noise)(uint64_t *), uint64_t *seed, size_t *ret_n) {
        double differences[N_PAIRS];
        PairedVerdict verdict = PAIRED_UNKNOWN;
        PairedInterval interval;
        size_t n = 0;

        while (n < N_PAIRS && verdict == PAIRED_UNKNOWN) {
                differences[n++] = shift + spread * noise(seed);
                interval = paired_comparison_interval(differences, n);
                verdict = paired_comparison_judge(&interval, -0.01, 0.01);
        }
        *ret_n = n;
        return verdict;
}

static size_t count_different(size_t n_tries, double shift, double spread, double (*noise)(uint64_t *)) {
        uint64_t seed = 1;
        size_t n = 0, n_pairs;

        for (size_t i = 0; i < n_tries; i++)
                n += compare(shift, spread, noise, &seed, &n_pairs) >= PAIRED_LESS;
        return n;
}

static void equal_commands_rarely_differ_at_any_look(void **state) {
        (void)state;
        assert_true(count_different(30, 0, 0.03, gauss) <= 1);
        assert_true(count_different(30, 0, 0.03, cauchy) <= 1);
        assert_true(count_different(30, 0, 1, order_effect) <= 1);
}

static void a_shift_is_found_in_noise(void **state) {
        (void)state;
        assert_true(count_different(20, 0.02, 0.02, gauss) >= 18);
        assert_true(count_different(20, -0.05, 0.02, cauchy) >= 18);
}

static void a_clear_difference_needs_the_fewest_pairs(void **state) {
        uint64_t seed = 1;
        size_t n;

        (void)state;
        assert_int_equal(compare(1, 0.001, gauss, &seed, &n), PAIRED_MORE);
        assert_int_equal(n, PAIRED_PAIRS_MIN);
        assert_int_equal(compare(-1, 0.001, gauss, &seed, &n), PAIRED_LESS);
        assert_int_equal(n, PAIRED_PAIRS_MIN);
        assert_int_equal(compare(0, 0.0001, gauss, &seed, &n), PAIRED_SAME);
}

static void too_few_pairs_have_no_interval(void **state) {
        static const double differences[] = { 0.1, 0.2, 0.3 };
        PairedInterval interval;

        (void)state;
        interval = paired_comparison_interval(differences, 0);
        assert_true(isnan(interval.estimate));
        interval = paired_comparison_interval(differences, 3);
        assert_true(fabs(interval.estimate - 0.2) < 1e-12);
        assert_true(isinf(interval.low) && isinf(interval.high));
        assert_int_equal(paired_comparison_judge(&interval, -1, 1), PAIRED_UNKNOWN);
}

static void the_pairs_that_would_suffice_are_told(void **state) {
        double differences[40];
        PairedInterval interval;
        uint64_t seed = 1;
        size_t n;

        (void)state;
        for (size_t i = 0; i < 40; i++)
                differences[i] = 0.03 * gauss(&seed) + 0.002;
        interval = paired_comparison_interval(differences, 40);
        assert_int_equal(paired_comparison_judge(&interval, -0.01, 0.01), PAIRED_UNKNOWN);
        n = paired_comparison_count_needed(differences, 40, -0.01, 0.01);
        assert_true(n > 80 && n < 800);
        assert_true(paired_comparison_count_needed(differences, 40, -0.02, 0.02) < n);
        for (size_t i = 0; i < 40; i++)
                differences[i] = i % 2 ? 0.1 : -0.1;
        assert_int_equal(paired_comparison_count_needed(differences, 40, -1e-3, 1e-3), 0);
}

static void equal_differences_are_an_exact_interval(void **state) {
        double zeros[20] = {}, same[20];
        PairedInterval interval;

        (void)state;
        for (size_t i = 0; i < 20; i++)
                same[i] = 0.25;
        interval = paired_comparison_interval(zeros, 20);
        assert_int_equal(paired_comparison_judge(&interval, -1e-12, 1e-12), PAIRED_SAME);
        interval = paired_comparison_interval(same, 20);
        assert_true(fabs(interval.low - 0.25) < 1e-9 && fabs(interval.high - 0.25) < 1e-9);
}

/* One run that took a thousand times as long changes the verdict as little as one that took somewhat longer. */
static void one_outlier_decides_nothing(void **state) {
        double differences[30];
        PairedInterval far, near;
        uint64_t seed = 1;

        (void)state;
        for (size_t i = 0; i < 30; i++)
                differences[i] = 0.05 + 0.01 * gauss(&seed);
        differences[10] = -0.1;
        near = paired_comparison_interval(differences, 30);
        differences[10] = -7;
        far = paired_comparison_interval(differences, 30);
        assert_true(far.low > 0.03 && far.high < 0.07);
        assert_true(fabs(far.low - near.low) < 1e-6 && fabs(far.high - near.high) < 1e-6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(equal_commands_rarely_differ_at_any_look),
                cmocka_unit_test(a_shift_is_found_in_noise),
                cmocka_unit_test(a_clear_difference_needs_the_fewest_pairs),
                cmocka_unit_test(too_few_pairs_have_no_interval),
                cmocka_unit_test(the_pairs_that_would_suffice_are_told),
                cmocka_unit_test(equal_differences_are_an_exact_interval),
                cmocka_unit_test(one_outlier_decides_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
