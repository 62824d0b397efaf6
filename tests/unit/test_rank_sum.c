#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analysis/rank_sum.h"

#define N(array) (sizeof(array) / sizeof(array[0]))

static double probability(const double *a, size_t n_a, const double *b, size_t n_b) {
        double p;

        assert_int_equal(rank_sum_probability(a, n_a, b, n_b, &p), 0);
        return p;
}

/* Expected are what Python counted over itertools.combinations. */
static void every_way_to_deal_the_values_out_is_counted(void **state) {
        static const double low[] = { 3, 1, 2 }, high[] = { 6, 4, 5 }, odd[] = { 1.5, 2, 9 }, middle[] = { 3, 4, 5, 6 };

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

static void the_least_is_that_of_samples_that_are_apart(void **state) {
        double a[15], b[15];

        (void)state;
        for (size_t i = 0; i < 15; i++) {
                a[i] = (double)i;
                b[i] = 100 + (double)i;
        }
        for (size_t n = 1; n <= 15; n++)
                assert_true(fabs(probability(a, n, b, 15) - rank_sum_least(n, 15)) < 1e-12 * rank_sum_least(n, 15));
        assert_true(rank_sum_least(1, 1) == 1);
        assert_true(fabs(rank_sum_least(3, 3) - 0.1) < 1e-12);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_way_to_deal_the_values_out_is_counted),
                cmocka_unit_test(equal_values_share_their_ranks),
                cmocka_unit_test(the_least_is_that_of_samples_that_are_apart),
        };

        return cmocka_run_group_tests_name("rank_sum", tests, NULL, NULL);
}
