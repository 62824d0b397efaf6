/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/retention/expiry.h"

#define DAY_NS (86400 * NS_PER_S)
#define NOW_NS (20000 * DAY_NS)
#define BOOTED_NS (7 * NS_PER_S)
#define NEWEST_MS ((int64_t)(NOW_NS / NS_PER_MS) - 1000)

static void a_clock_far_ahead_is_trusted_only_when_it_is_synchronised(void **state) {
        Expiry expiry = {};

        (void)state;
        expiry_set_clock(&expiry, NEWEST_MS, NOW_NS + 400 * DAY_NS, BOOTED_NS);
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + 400 * DAY_NS, BOOTED_NS));
        assert_int_equal(expiry.stats.clock_ahead_s, 400 * 86400 + 1);
        assert_true(expiry_check_clock(&expiry, true, NOW_NS + 400 * DAY_NS, BOOTED_NS));
        assert_int_equal(expiry.stats.clock_ahead_s, 0);

        /* A clock that was synchronised is right for a while. */
        assert_true(expiry_check_clock(&expiry, false, NOW_NS + 400 * DAY_NS + NS_PER_S, BOOTED_NS + NS_PER_S));
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + 500 * DAY_NS, BOOTED_NS + NS_PER_S));

        /* The time synchronisation corrects the clock. */
        assert_true(expiry_check_clock(&expiry, false, NOW_NS + NS_PER_S, BOOTED_NS + NS_PER_S));
}

static void a_clock_that_agrees_with_the_newest_row_is_trusted(void **state) {
        Expiry expiry = {};

        (void)state;
        expiry_set_clock(&expiry, NEWEST_MS, NOW_NS, BOOTED_NS);
        assert_true(expiry_check_clock(&expiry, false, NOW_NS, BOOTED_NS));
        assert_true(expiry_check_clock(&expiry, false, NOW_NS + DAY_NS / 2, BOOTED_NS));
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + DAY_NS, BOOTED_NS));
        /* Real time advances at the rate of boot time. */
        assert_true(expiry_check_clock(&expiry, false, NOW_NS + 100 * DAY_NS, BOOTED_NS + 100 * DAY_NS));
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + 102 * DAY_NS, BOOTED_NS + 100 * DAY_NS));
        /* A clock that is behind does not expire any rows. */
        assert_true(expiry_check_clock(&expiry, false, NOW_NS - 400 * DAY_NS, BOOTED_NS));
}

static void rows_of_the_same_start_do_not_prove_the_clock(void **state) {
        Expiry expiry = {};

        (void)state;
        expiry_set_clock(&expiry, NEWEST_MS, NOW_NS + 400 * DAY_NS, BOOTED_NS);
        expiry_set_clock(&expiry, NEWEST_MS + (int64_t)(400 * DAY_NS / NS_PER_MS), NOW_NS + 400 * DAY_NS, BOOTED_NS);
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + 400 * DAY_NS, BOOTED_NS));
}

static void an_empty_database_trusts_the_clock(void **state) {
        Expiry expiry = {};

        (void)state;
        expiry_set_clock(&expiry, 0, NOW_NS, BOOTED_NS);
        assert_true(expiry_check_clock(&expiry, false, NOW_NS, BOOTED_NS));
        assert_false(expiry_check_clock(&expiry, false, NOW_NS + 400 * DAY_NS, BOOTED_NS));
}

/* Returns the number of rows removed within n periods. */
static int64_t remove_for(Expiry *expiry, int64_t n_kept, unsigned n_periods) {
        ExpiryTable *table = &expiry->tables[1];
        int64_t n_removed = 0;

        for (uint64_t at_ns = 0; at_ns < n_periods * EXPIRY_PERIOD_NS; at_ns += NS_PER_S) {
                int64_t n;

                if (expiry_wants_count(table, EXPIRY_PERIOD_NS, at_ns))
                        table->n_kept = n_kept - n_removed;
                n = expiry_count_left(table, EXPIRY_PERIOD_NS, at_ns);
                n = n < 256 ? n : 256;
                expiry_count_removed(expiry, 1, n);
                n_removed += n;
        }
        return n_removed;
}

static void at_most_a_hundredth_goes_in_a_minute(void **state) {
        (void)state;
        assert_int_equal(remove_for(&(Expiry){}, 300, 1), 3);
        assert_int_equal(remove_for(&(Expiry){}, 300, 5), 15);
        assert_int_equal(remove_for(&(Expiry){}, 1000000, 1), 10000);
        assert_int_equal(remove_for(&(Expiry){}, 7, 1), 1);
        assert_int_equal(remove_for(&(Expiry){}, 0, 1), 1);
        /* Rows are counted again after an hour. */
        assert_int_equal(remove_for(&(Expiry){}, 10000, 61), 6000 + 40);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_clock_far_ahead_is_trusted_only_when_it_is_synchronised),
                cmocka_unit_test(a_clock_that_agrees_with_the_newest_row_is_trusted),
                cmocka_unit_test(rows_of_the_same_start_do_not_prove_the_clock),
                cmocka_unit_test(an_empty_database_trusts_the_clock),
                cmocka_unit_test(at_most_a_hundredth_goes_in_a_minute),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
