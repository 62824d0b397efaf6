/* SPDX-License-Identifier: Apache-2.0 */
/* Which row sets are stored in one transaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/rowset.h"

#define BYTES_MAX (1U << 20)

/* Cuts sets of so many rows, with 100 bytes a row, into batches, and checks the numbers of sets in these. */
static void check_cuts(const size_t *n_rows, size_t n, const size_t *expected) {
        RowSet sets[8] = {}, *rest = sets;
        size_t i = 0;

        assert_true(n <= N_ELEMENTS(sets));
        for (size_t k = 0; k < n; k++)
                sets[k] = (RowSet){ .n_rows = n_rows[k], .n_bytes = 100 * n_rows[k], .next = k + 1 < n ? &sets[k + 1] : NULL };
        while (rest) {
                size_t n_batch_rows, n_batch_bytes, n_sets = 0, n_sum = 0;

                for (const RowSet *set = rowset_cut_batch(&rest, BYTES_MAX, &n_batch_rows, &n_batch_bytes); set; set = set->next) {
                        n_sets++;
                        n_sum += set->n_rows;
                }
                assert_int_equal(n_batch_rows, n_sum);
                assert_int_equal(n_batch_bytes, 100 * n_sum);
                assert_int_equal(n_sets, expected[i++]);
        }
        assert_int_equal(expected[i], 0);
}

#define CHECK_CUTS(rows, ...) check_cuts((const size_t[])rows, N_ELEMENTS(((const size_t[])rows)), (const size_t[]){ __VA_ARGS__, 0 })
#define ROWS(...) { __VA_ARGS__ }

static void sets_are_stored_together_up_to_the_limits(void **state) {
        (void)state;
        CHECK_CUTS(ROWS(1, 1, 1), 3);
        CHECK_CUTS(ROWS(1000, 1000, 1000, 1000, 1000), 4, 1);
        CHECK_CUTS(ROWS(3000, 1096, 1), 2, 1);
        CHECK_CUTS(ROWS(20000, 1), 1, 1); /* also beyond the limit of bytes */
}

static void a_large_set_does_not_join_small_ones(void **state) {
        (void)state;
        CHECK_CUTS(ROWS(1, 1, 1000, 1000), 2, 2);
        CHECK_CUTS(ROWS(1000, 1, 1), 3); /* these wait for the first anyway */
        CHECK_CUTS(ROWS(64, 63, 1, 200, 1), 3, 2);
        CHECK_CUTS(ROWS(129, 200), 2);
        CHECK_CUTS(ROWS(128, 129), 1, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sets_are_stored_together_up_to_the_limits),
                cmocka_unit_test(a_large_set_does_not_join_small_ones),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
