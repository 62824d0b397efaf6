/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "http/indicators/ranking.h"

static const RankingConfig lower = { .confidence = 0.95, .n_resamples = 2000, .seed = 1 };
static const RankingConfig higher = { .is_higher_better = true, .confidence = 0.95, .n_resamples = 2000, .seed = 1 };

#define SAMPLE(array) { .values = array, .n = sizeof(array) / sizeof(array[0]) }

static const double fast[] = { 1.00, 1.02, 0.99, 1.01, 1.03, 0.98, 1.00 };
static const double as_fast[] = { 1.01, 0.99, 1.02, 1.00, 1.04, 0.97, 1.01 };
static const double slow[] = { 2.00, 2.05, 1.95, 2.02, 2.01, 1.99, 2.03 };
static const double few[] = { 1.5, 1.5 };

static void real_differences_are_distinguished_from_noise(void **state) {
        Alternative a[] = { SAMPLE(slow), SAMPLE(as_fast), SAMPLE(fast) };

        (void)state;
        assert_int_equal(ranking_make(a, 3, &lower), 0);
        assert_ptr_equal(a[0].values, fast);
        assert_ptr_equal(a[1].values, as_fast);
        assert_ptr_equal(a[2].values, slow);
        assert_int_equal(a[0].rank, 1);
        assert_int_equal(a[1].rank, 1);
        assert_int_equal(a[2].rank, 3);
        assert_true(a[0].is_tied && a[1].is_tied && !a[2].is_tied);
        assert_true(a[0].interval.low <= a[0].median && a[0].median <= a[0].interval.high);
        assert_true(fabs(a[2].ratio - 2.01) < 1e-9);
}

static void the_other_direction_turns_the_order(void **state) {
        Alternative a[] = { SAMPLE(fast), SAMPLE(slow) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &higher), 0);
        assert_ptr_equal(a[0].values, slow);
        assert_int_equal(a[1].rank, 2);
}

static void too_few_values_show_no_difference(void **state) {
        Alternative a[] = { SAMPLE(few), SAMPLE(fast) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_ptr_equal(a[1].values, few);
        assert_true(isnan(a[1].interval.low) && isnan(a[1].interval.high) && isnan(a[1].interval.level));
        assert_true(a[1].is_tied);
        assert_int_equal(a[1].rank, 1);
}

static void without_values_an_alternative_comes_last(void **state) {
        Alternative a[] = { { .n = 0 }, SAMPLE(slow) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_ptr_equal(a[0].values, slow);
        assert_true(isnan(a[1].median));
        assert_int_equal(ranking_make(NULL, 0, &lower), 0);
}

static void the_same_alternatives_give_the_same_answer(void **state) {
        Alternative a[] = { SAMPLE(fast), SAMPLE(slow) }, b[] = { SAMPLE(fast), SAMPLE(slow) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_int_equal(ranking_make(b, 2, &lower), 0);
        assert_true(a[0].interval.low == b[0].interval.low && a[1].interval.high == b[1].interval.high);
        assert_true(a[1].verdict == b[1].verdict && a[1].chance == b[1].chance);
}

static void a_ratio_to_a_best_that_is_not_positive_is_none(void **state) {
        static const double lowest[] = { -1, -1.1, -0.9 }, none[] = { 0, 0, 0 }, some[] = { 2, 2.1, 1.9 };
        Alternative a[] = { SAMPLE(lowest), SAMPLE(some) }, b[] = { SAMPLE(none), SAMPLE(some) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_true(isnan(a[0].ratio) && isnan(a[1].ratio));
        assert_int_equal(ranking_make(b, 2, &lower), 0);
        assert_true(isnan(b[1].ratio));
}

static void each_difference_to_the_best_is_judged(void **state) {
        static const double three[] = { 1.0, 1.01, 1.02 }, other_three[] = { 3, 3.1, 3.2 };
        Alternative a[] = { SAMPLE(slow), SAMPLE(as_fast), SAMPLE(fast) }, b[] = { SAMPLE(three), SAMPLE(other_three) };
        RankingConfig unsure = lower;

        (void)state;
        assert_int_equal(ranking_make(a, 3, &lower), 0);
        assert_int_equal(a[0].verdict, VERDICT_BEST);
        assert_int_equal(a[1].verdict, VERDICT_NOISE);
        assert_int_equal(a[2].verdict, VERDICT_SIGNIFICANT);

        /* Two of the twenty ways to distribute six values separate them as far: not significant at 95 %. */
        assert_int_equal(ranking_make(b, 2, &lower), 0);
        assert_int_equal(b[1].verdict, VERDICT_FEW);
        assert_true(b[0].is_tied && b[1].is_tied && b[1].rank == 1);
        unsure.confidence = 0.9;
        assert_int_equal(ranking_make(b, 2, &unsure), 0);
        assert_int_equal(b[1].verdict, VERDICT_SIGNIFICANT);
        assert_int_equal(b[1].rank, 2);
        assert_string_equal(ranking_verdict_name(VERDICT_FEW), "too few runs");
}

/* --- rate of false differences -------------------------------------------------------------------- */

#define ALTERNATIVES_MAX 50U
#define VALUES_MAX 1500U

static double uniform(uint64_t *seed) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return ((double)(*seed >> 11) + 0.5) * 0x1p-53;
}

/* Returns a normally distributed time with mean 100 and standard deviation 2. */
static double measure(uint64_t *seed) {
        double distance = sqrt(-2 * log(uniform(seed)));

        return 100 + 2 * distance * cos(2 * M_PI * uniform(seed));
}

typedef struct Outcome {
        unsigned n_wrong; /* number of rankings that separate two equal alternatives */
        double found;     /* share of the slower alternatives that are separated */
} Outcome;

/* Ranks k alternatives with n values each: the first n_fast are equal, the others are slower by that factor. */
static Outcome rank_often(unsigned n_trials, size_t k, size_t n, size_t n_fast, double slower) {
        double values[VALUES_MAX];
        unsigned n_slow = 0, n_found = 0;
        uint64_t seed = 7;
        Outcome outcome = {};

        for (unsigned trial = 0; trial < n_trials; trial++) {
                RankingConfig config = { .confidence = 0.95, .n_resamples = 100, .seed = trial };
                Alternative a[ALTERNATIVES_MAX];
                bool is_wrong = false;

                for (size_t i = 0; i < k * n; i++)
                        values[i] = measure(&seed) * (i < n_fast * n ? 1 : slower);
                for (size_t i = 0; i < k; i++)
                        a[i] = (Alternative){ .values = values + i * n, .n = n };
                assert_int_equal(ranking_make(a, k, &config), 0);

                for (size_t i = 1; i < k; i++) {
                        bool is_slow = a[i].values >= values + n_fast * n,
                             is_told = a[i].verdict == VERDICT_SIGNIFICANT || a[i].rank != 1;

                        n_slow += is_slow;
                        n_found += is_slow && is_told;
                        is_wrong |= is_told && !is_slow;
                }
                outcome.n_wrong += is_wrong;
        }
        outcome.found = n_slow > 0 ? (double)n_found / n_slow : 0;
        return outcome;
}

/* The rate of false positives must not exceed 1 - confidence. */
static void equal_distributions_are_rarely_separated(void **state) {
        (void)state;
        for (size_t n = 3; n <= 15; n += 2)
                assert_in_range(rank_often(400, 2, n, 2, 1).n_wrong, 0, 400 * 7 / 100);
        assert_in_range(rank_often(400, 2, 40, 2, 1).n_wrong, 0, 400 * 7 / 100);
}

/* Without a correction, one of fifty alternatives is separated from the best in three of four rankings. */
static void the_more_are_compared_the_more_certain_each_difference_must_be(void **state) {
        (void)state;
        assert_in_range(rank_often(150, 5, 10, 5, 1).n_wrong, 0, 150 * 7 / 100);
        assert_in_range(rank_often(60, 20, 10, 20, 1).n_wrong, 0, 60 * 7 / 100);
        assert_in_range(rank_often(30, 50, 10, 50, 1).n_wrong, 0, 30 * 7 / 100);
        assert_in_range(rank_often(15, 50, 30, 50, 1).n_wrong, 0, 15 * 7 / 100);
}

/* A difference of two and a half standard deviations. */
static void a_slowdown_of_five_percent_is_found_among_many(void **state) {
        Outcome outcome;

        (void)state;
        assert_true(rank_often(50, 5, 10, 2, 1.05).found > 0.95);
        assert_true(rank_often(15, 50, 16, 25, 1.05).found > 0.95);
        outcome = rank_often(30, 20, 10, 10, 1.05);
        assert_true(outcome.found > 0.8);
        assert_in_range(outcome.n_wrong, 0, 30 * 7 / 100);
}

/* --- the correction on known numbers --------------------------------------------------------------- */

/* Makes n different values, starting at begin. */
static Alternative run_of(double *values, size_t n, double begin) {
        for (size_t i = 0; i < n; i++)
                values[i] = begin + (double)i * 0.001;
        return (Alternative){ .values = values, .n = n };
}

/*
 * With five values each and complete separation, the test yields 2/252. With three alternatives, the correction is a
 * factor of 3 × 2 / 2, and after one is separated 3 × 1 / 2; a later p-value is never less than an earlier one.
 */
static void a_chance_is_corrected_for_all_pairs_and_steps_down(void **state) {
        double values[5][5];
        Alternative three[] = { run_of(values[0], 5, 1), run_of(values[1], 5, 2), run_of(values[2], 5, 3) }, five[5];

        (void)state;
        assert_int_equal(ranking_make(three, 3, &lower), 0);
        assert_true(isnan(three[0].chance));
        assert_true(fabs(three[1].chance - 3 * 2.0 / 252) < 1e-12);
        assert_true(fabs(three[2].chance - 3 * 2.0 / 252) < 1e-12);
        assert_int_equal(three[1].verdict, VERDICT_SIGNIFICANT);
        assert_int_equal(three[2].verdict, VERDICT_SIGNIFICANT);
        assert_int_equal(three[2].rank, 3);

        /* 2/252 × 5 × 4 / 2 exceeds 0.05, whatever the values. */
        for (size_t i = 0; i < 5; i++)
                five[i] = run_of(values[i], 5, (double)i);
        assert_int_equal(ranking_make(five, 5, &lower), 0);
        for (size_t i = 1; i < 5; i++) {
                assert_true(fabs(five[i].chance - 10 * 2.0 / 252) < 1e-12);
                assert_int_equal(five[i].verdict, VERDICT_FEW);
                assert_true(five[i].is_tied && five[i].rank == 1);
        }
}

/* 14/924 × 10 is 0.15; after three of five are separated, 14/924 × 2.5 is 0.038. */
static void each_separated_alternative_weakens_the_correction(void **state) {
        static const double best[] = { 1, 2, 3, 4, 5, 6 }, near[] = { 4.5, 5.5, 6.5, 7.5, 8.5, 9.5 };
        double values[3][6];
        Alternative among_far[] = { SAMPLE(best), SAMPLE(near), run_of(values[0], 6, 20), run_of(values[1], 6, 30),
                                    run_of(values[2], 6, 40) };
        Alternative among_equal[] = { SAMPLE(best), SAMPLE(best), SAMPLE(near), SAMPLE(best), SAMPLE(best) };

        (void)state;
        assert_int_equal(ranking_make(among_far, 5, &lower), 0);
        assert_ptr_equal(among_far[1].values, near);
        assert_int_equal(among_far[1].verdict, VERDICT_SIGNIFICANT);
        assert_true(fabs(among_far[1].chance - 2.5 * 14 / 924) < 1e-12);
        assert_true(fabs(among_far[4].chance - 10.0 * 2 / 924) < 1e-12);

        assert_int_equal(ranking_make(among_equal, 5, &lower), 0);
        assert_ptr_equal(among_equal[4].values, near);
        assert_int_equal(among_equal[4].verdict, VERDICT_NOISE);
        assert_true(fabs(among_equal[4].chance - 10.0 * 14 / 924) < 1e-12);
        assert_true(among_equal[1].chance == 1);
}

static void the_number_of_values_needed_suffices_to_separate_two(void **state) {
        double values[7][6];
        Alternative a[5];

        (void)state;
        assert_int_equal(ranking_values_needed(2, 0.95), 4);
        assert_int_equal(ranking_values_needed(3, 0.95), 5);
        assert_int_equal(ranking_values_needed(5, 0.95), 6);
        assert_int_equal(ranking_values_needed(20, 0.95), 8);
        assert_int_equal(ranking_values_needed(50, 0.95), 10);
        assert_int_equal(ranking_values_needed(2, 0.9), 3);
        for (size_t i = 0; i < 5; i++)
                a[i] = run_of(values[i], 6, (double)i);
        assert_int_equal(ranking_make(a, 5, &lower), 0);
        for (size_t i = 1; i < 5; i++)
                assert_true(a[i].verdict == VERDICT_SIGNIFICANT && a[i].rank == i + 1 && !a[i].is_tied);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(real_differences_are_distinguished_from_noise),
                cmocka_unit_test(the_other_direction_turns_the_order),
                cmocka_unit_test(too_few_values_show_no_difference),
                cmocka_unit_test(without_values_an_alternative_comes_last),
                cmocka_unit_test(the_same_alternatives_give_the_same_answer),
                cmocka_unit_test(a_ratio_to_a_best_that_is_not_positive_is_none),
                cmocka_unit_test(each_difference_to_the_best_is_judged),
                cmocka_unit_test(equal_distributions_are_rarely_separated),
                cmocka_unit_test(the_more_are_compared_the_more_certain_each_difference_must_be),
                cmocka_unit_test(a_slowdown_of_five_percent_is_found_among_many),
                cmocka_unit_test(a_chance_is_corrected_for_all_pairs_and_steps_down),
                cmocka_unit_test(each_separated_alternative_weakens_the_correction),
                cmocka_unit_test(the_number_of_values_needed_suffices_to_separate_two),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
