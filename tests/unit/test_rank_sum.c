/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analysis/rank_sum.h"

#define N(array) (sizeof(array) / sizeof(array[0]))

static double scratch[RANK_SUM_SCRATCH];

static double probability(const double *a, size_t n_a, const double *b, size_t n_b) {
        return rank_sum_test(a, n_a, b, n_b, SIZE_MAX, scratch).two_sided;
}

/* The expected values were computed in Python with itertools.combinations. */
static void every_way_to_deal_the_values_out_is_counted(void **state) {
        static const double low[] = { 1, 2, 3 }, high[] = { 4, 5, 6 }, odd[] = { 1.5, 2, 9 }, middle[] = { 3, 4, 5, 6 };

        (void)state;
        assert_true(fabs(probability(low, 3, high, 3) - 2.0 / 20) < 1e-12);
        assert_true(fabs(probability(high, 3, low, 3) - 2.0 / 20) < 1e-12);
        assert_true(fabs(probability(odd, 3, middle, 4) - 22.0 / 35) < 1e-12);
}

static void equal_values_share_their_ranks(void **state) {
        static const double a[] = { 1, 2, 2, 3, 5 }, b[] = { 2, 4, 6, 6, 7, 8 }, same[] = { 1, 1, 1 };

        (void)state;
        assert_true(fabs(probability(a, N(a), b, N(b)) - 22.0 / 462) < 1e-12);
        assert_true(probability(same, 3, same, 3) == 1);
        assert_true(probability(a, N(a), a, N(a)) == 1);
        assert_true(probability(a, 0, b, N(b)) == 1);
}

/* Equal values make a distribution that need not be symmetric: of 56 sums, 3 are as low as the observed one, and
 * none is as high. */
static void one_side_is_that_of_the_difference(void **state) {
        static const double low[] = { 1, 2, 3 }, high[] = { 4, 5, 6 }, mixed[] = { 0, 2.5, 9 };
        static const double a[] = { 1, 2, 2 }, b[] = { 2, 3, 3, 3, 3 }, c[] = { 1, 1 }, d[] = { 1, 2, 2, 2, 3, 3, 3 };

        (void)state;
        assert_true(fabs(rank_sum_test(a, 3, b, 5, SIZE_MAX, scratch).one_sided - 3.0 / 56) < 1e-12);
        assert_true(fabs(rank_sum_test(a, 3, b, 5, SIZE_MAX, scratch).two_sided - 3.0 / 56) < 1e-12);
        assert_true(fabs(rank_sum_test(d, 7, c, 2, SIZE_MAX, scratch).one_sided - 3.0 / 36) < 1e-12);
        assert_true(fabs(rank_sum_test(d, 7, c, 2, SIZE_MAX, scratch).two_sided - 6.0 / 36) < 1e-12);
        assert_true(fabs(rank_sum_test(low, 3, high, 3, SIZE_MAX, scratch).one_sided - 1.0 / 20) < 1e-12);
        assert_true(fabs(rank_sum_test(high, 3, low, 3, SIZE_MAX, scratch).one_sided - 1.0 / 20) < 1e-12);
        assert_true(fabs(rank_sum_test(low, 3, mixed, 3, SIZE_MAX, scratch).one_sided - 10.0 / 20) < 1e-12);
}

/* Fills in begin, begin + step, …; values above the maximum are replaced by it. */
static void fill(double *values, size_t n, double begin, double step, double most) {
        for (size_t i = 0; i < n; i++)
                values[i] = fmin(begin + (double)i * step, most);
}

static void assert_near(double a, double b, double relative) {
        if (fabs(a - b) > relative * b)
                fail_msg("%.15g is not %.15g", a, b);
}

/* Expected values from scipy 1.17: mannwhitneyu(a, b, method="exact"), or "asymptotic" for more values or ties. */
static void large_samples_have_the_probability_that_others_compute(void **state) {
        double a[100], b[100];

        (void)state;
        fill(a, 30, 0, 1, INFINITY);
        fill(b, 30, 10.5, 1, INFINITY);
        assert_near(probability(a, 30, b, 30), 7.21501775620137e-05, 1e-9);
        assert_near(probability(a, 10, b, 25), 1.089446878886125e-08, 1e-9);
        assert_near(probability(b, 25, a, 10), 1.089446878886125e-08, 1e-9);

        fill(a, 100, 0, 1, INFINITY);
        fill(b, 90, 20.5, 1, INFINITY);
        assert_near(probability(a, 100, b, 90), 0.00040146189467508547, 1e-9);
        assert_near(probability(b, 90, a, 100), 0.00040146189467508547, 1e-9);
        fill(a, 100, 0, 1, 50);
        fill(b, 90, 30, 1, 60);
        assert_near(probability(a, 100, b, 90), 6.669339403342241e-19, 1e-9);
        fill(a, 100, 7, 0, 7);
        assert_true(probability(a, 100, a, 60) == 1);
}

static void the_least_is_that_of_samples_that_are_apart(void **state) {
        double a[40], b[40];

        (void)state;
        fill(a, 40, 0, 1, INFINITY);
        fill(b, 40, 100, 1, INFINITY);
        for (size_t n = 1; n <= 40; n++) {
                assert_near(probability(a, n, b, 15), rank_sum_least(n, 15), 1e-12);
                assert_near(probability(a, n, b, 40), rank_sum_least(n, 40), 1e-12);
        }
        assert_true(rank_sum_least(1, 1) == 1);
        assert_true(fabs(rank_sum_least(3, 3) - 0.1) < 1e-12);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_way_to_deal_the_values_out_is_counted),
                cmocka_unit_test(equal_values_share_their_ranks),
                cmocka_unit_test(one_side_is_that_of_the_difference),
                cmocka_unit_test(large_samples_have_the_probability_that_others_compute),
                cmocka_unit_test(the_least_is_that_of_samples_that_are_apart),
        };

        return cmocka_run_group_tests_name("rank_sum", tests, NULL, NULL);
}
