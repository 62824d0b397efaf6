/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "http/pagination.h"

static void add_all(LatestRows *newest, size_t n_max, int64_t n) {
        pagination_init_latest(newest, n_max);
        for (int64_t i = 0; i < n; i++) {
                int64_t row = i * 7919 % n; /* each row once, in pseudo-random order */

                (void)pagination_add_latest(newest, (PageKey){ .time_ms = 1000 + (uint64_t)row / 3, .row = row });
        }
}

static void the_newest_are_kept_and_come_in_order(void **state) {
        LatestRows *newest = malloc(sizeof(*newest));

        (void)state;
        assert_non_null(newest);
        add_all(newest, 100, 5000);
        assert_int_equal(newest->n, 100);
        for (size_t i = 0; i < 100; i++)
                assert_int_equal(newest->keys[i].row, 4999 - i);
        add_all(newest, LATEST_ROWS_MAX, 50);
        assert_int_equal(newest->n, 50);
        assert_int_equal(newest->keys[0].row, 49);
        assert_int_equal(newest->keys[49].row, 0);
        free(newest);
}

static void rows_older_than_a_full_page_are_detected(void **state) {
        LatestRows *newest = malloc(sizeof(*newest));

        (void)state;
        assert_non_null(newest);
        pagination_init_latest(newest, 2);
        assert_true(pagination_add_latest(newest, (PageKey){ 5, 1 }));
        assert_true(pagination_add_latest(newest, (PageKey){ 3, 9 }));
        assert_false(pagination_add_latest(newest, (PageKey){ 3, 8 }));
        assert_true(pagination_add_latest(newest, (PageKey){ 5, 0 }));
        assert_false(pagination_add_latest(newest, (PageKey){ 4, 100 }));
        assert_int_equal(newest->keys[0].row, 1);
        assert_int_equal(newest->keys[1].row, 0);
        free(newest);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_newest_are_kept_and_come_in_order),
                cmocka_unit_test(rows_older_than_a_full_page_are_detected),
        };

        return cmocka_run_group_tests_name("newest", tests, NULL, NULL);
}
