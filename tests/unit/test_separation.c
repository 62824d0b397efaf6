/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "analysis/separation.h"

static Separation found;

/* A value for each letter of `groups`, with noise of 1 %. Returns the p-value. */
static double p_of(const char *groups, const double *levels) {
        static const double noise[] = { -1, 0.3, 0.8, -0.4, 0, 1, -0.7, 0.5, -0.2, 0.1, 0.9 };
        double values[64];
        uint8_t of[64];
        size_t n = strlen(groups);

        for (size_t i = 0; i < n; i++) {
                of[i] = (uint8_t)(groups[i] - 'a');
                values[i] = levels[of[i]] * (1 + noise[i * 7 % 11] / 100);
        }
        assert_int_equal(separation_find(values, of, n, 0.01, &found), 0);
        return found.p_value;
}

static void groups_in_turn_are_separated(void **state) {
        static const double levels[] = { 100, 200, 300, 101 };

        (void)state;
        assert_true(p_of("abababababababab", levels) < 2e-4);
        assert_true(found.n_groups == 2 && found.spreads > 30);
        assert_true(p_of("abababababababab", (const double[]){ 100, 102 }) < 0.01 && found.spreads < 4);
        assert_true(p_of("bababaaabbabbbaa", levels) < 2e-4);
        assert_int_equal(found.groups[0], 0);
        assert_true(fabs(found.medians[1] - 200) < 2);
        assert_true(p_of("abcabcabcabcabcabcabc", levels) < 0.001);
        assert_true(p_of("adbdabdadbabdabdabdabdab", levels) < 1e-4); /* two of three are as high */
        assert_int_equal(found.n_groups, 3);
        assert_int_equal(found.groups[2], 1);
}

static void a_group_that_replaces_another_is_a_change(void **state) {
        static const double levels[] = { 100, 200, 300, 400, 500 };

        (void)state;
        assert_true(p_of("aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb", levels) >= 1);
        assert_true(p_of("aaaaaaaaaaaabbbbbbbbaaaaaaaaaaaa", levels) >= 1); /* and back */
        assert_true(p_of("aaaaaabbbbbbccccccddddddeeeeee", levels) >= 1);
}

static void groups_that_hardly_differ_are_not_separated(void **state) {
        static const double same[] = { 100, 100, 100, 100 }, close[] = { 100, 100.9 }, zeros[] = { 0, 0 };

        (void)state;
        assert_true(p_of("abababababababababab", same) > 0.05);
        assert_true(p_of("abababababababababab", close) >= 1); /* less than 1 % */
        assert_true(p_of("abababababababababab", zeros) >= 1);
        assert_true(p_of("ababab", (const double[]){ 100, 200 }) > 0.05); /* too few */
        assert_true(p_of("aaaaaaaaaaaa", same) >= 1);
        assert_int_equal(found.n_groups, 1);
        assert_true(p_of("", same) >= 1);
        assert_int_equal(found.n_groups, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(groups_in_turn_are_separated),
                cmocka_unit_test(a_group_that_replaces_another_is_a_change),
                cmocka_unit_test(groups_that_hardly_differ_are_not_separated),
        };

        return cmocka_run_group_tests_name("separation", tests, NULL, NULL);
}
