#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analysis/ranking.h"

static const RankingConfig lower = { .confidence = 0.95, .n_resamples = 2000, .seed = 1 };
static const RankingConfig higher = { .is_higher_better = true, .confidence = 0.95, .n_resamples = 2000, .seed = 1 };

#define SAMPLE(array) { .values = array, .n = sizeof(array) / sizeof(array[0]) }

static const double fast[] = { 1.00, 1.02, 0.99, 1.01, 1.03, 0.98, 1.00 };
static const double as_fast[] = { 1.01, 0.99, 1.02, 1.00, 1.04, 0.97, 1.01 };
static const double slow[] = { 2.00, 2.05, 1.95, 2.02, 2.01, 1.99, 2.03 };
static const double few[] = { 1.5, 1.5 };

static void what_is_really_better_is_told_from_noise(void **state) {
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
        assert_true(a[0].low <= a[0].median && a[0].median <= a[0].high);
        assert_true(fabs(a[2].ratio - 2.01) < 1e-9);
}

static void the_other_direction_turns_the_order(void **state) {
        Alternative a[] = { SAMPLE(fast), SAMPLE(slow) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &higher), 0);
        assert_ptr_equal(a[0].values, slow);
        assert_int_equal(a[1].rank, 2);
}

static void too_few_values_are_not_told_apart(void **state) {
        Alternative a[] = { SAMPLE(few), SAMPLE(fast) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_ptr_equal(a[1].values, few);
        assert_true(isnan(a[1].low) && isnan(a[1].high));
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

static void the_same_seed_gives_the_same_intervals(void **state) {
        Alternative a[] = { SAMPLE(fast), SAMPLE(slow) }, b[] = { SAMPLE(fast), SAMPLE(slow) };

        (void)state;
        assert_int_equal(ranking_make(a, 2, &lower), 0);
        assert_int_equal(ranking_make(b, 2, &lower), 0);
        assert_true(a[0].low == b[0].low && a[1].high == b[1].high);
}

static void each_difference_to_the_best_has_its_verdict(void **state) {
        static const double three[] = { 1.0, 1.01, 1.02 }, other_three[] = { 3, 3.1, 3.2 };
        Alternative a[] = { SAMPLE(slow), SAMPLE(as_fast), SAMPLE(fast) }, b[] = { SAMPLE(three), SAMPLE(other_three) };
        RankingConfig unsure = lower;

        (void)state;
        assert_int_equal(ranking_make(a, 3, &lower), 0);
        assert_int_equal(a[0].verdict, VERDICT_BEST);
        assert_int_equal(a[1].verdict, VERDICT_NOISE);
        assert_int_equal(a[2].verdict, VERDICT_REAL);

        /* Of twenty ways to deal six values out, two part them as far: that is no 95 %. */
        assert_int_equal(ranking_make(b, 2, &lower), 0);
        assert_int_equal(b[1].verdict, VERDICT_FEW);
        assert_true(b[0].is_tied && b[1].is_tied && b[1].rank == 1);
        unsure.confidence = 0.9;
        assert_int_equal(ranking_make(b, 2, &unsure), 0);
        assert_int_equal(b[1].verdict, VERDICT_REAL);
        assert_int_equal(b[1].rank, 2);
        assert_string_equal(verdict_name(VERDICT_FEW), "too few runs");
}

/* Whoever sees a difference between samples of one distribution more often than 1 - confidence cries wolf. */
static void assert_seldom_told_apart(size_t n) {
        double values[2][15];
        uint64_t seed = 7;
        unsigned n_told = 0, n_trials = 400;

        for (unsigned trial = 0; trial < n_trials; trial++) {
                Alternative a[] = { { .values = values[0], .n = n }, { .values = values[1], .n = n } };
                RankingConfig config = { .confidence = 0.95, .n_resamples = 300, .seed = trial };

                for (size_t i = 0; i < 2; i++)
                        for (size_t k = 0; k < n; k++) {
                                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                                values[i][k] = (double)(seed >> 40);
                        }
                assert_int_equal(ranking_make(a, 2, &config), 0);
                n_told += a[1].rank != 1;
        }
        assert_in_range(n_told, 0, n_trials * 7 / 100);
}

static void equal_distributions_are_seldom_told_apart(void **state) {
        (void)state;
        for (size_t n = 3; n <= 15; n++)
                assert_seldom_told_apart(n);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_really_better_is_told_from_noise),
                cmocka_unit_test(the_other_direction_turns_the_order),
                cmocka_unit_test(too_few_values_are_not_told_apart),
                cmocka_unit_test(without_values_an_alternative_comes_last),
                cmocka_unit_test(the_same_seed_gives_the_same_intervals),
                cmocka_unit_test(each_difference_to_the_best_has_its_verdict),
                cmocka_unit_test(equal_distributions_are_seldom_told_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
