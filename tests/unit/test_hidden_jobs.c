/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/table/jobs.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs/table/jobs.h"

#define SECOND UINT64_C(1000000000)
#define KEEP (600 * SECOND)

static void a_job_is_left_out_for_as_long_as_it_would_be_shown(void **state) {
        HiddenJobs hidden = {};
        uint64_t at = 1000000 * SECOND;

        (void)state;
        assert_int_equal(jobs_count_hidden(&hidden, at, KEEP), 0);
        for (unsigned i = 0; i < 1942; i++)
                jobs_add_hidden(&hidden, at, KEEP);
        jobs_add_hidden(&hidden, at + 300 * SECOND, KEEP);
        assert_int_equal(jobs_count_hidden(&hidden, at + 300 * SECOND, KEEP), 1943);
        assert_int_equal(jobs_count_hidden(&hidden, at + 599 * SECOND, KEEP), 1943);
        assert_int_equal(jobs_count_hidden(&hidden, at + 615 * SECOND, KEEP), 1);
        assert_int_equal(jobs_count_hidden(&hidden, at + 915 * SECOND, KEEP), 0);
}

static void parts_are_used_again(void **state) {
        HiddenJobs hidden = {};

        (void)state;
        for (unsigned i = 0; i < 10000; i++)
                jobs_add_hidden(&hidden, i * SECOND, KEEP);
        assert_in_range(jobs_count_hidden(&hidden, 9999 * SECOND, KEEP), 600, 612);
}

static void another_time_begins_a_new_count(void **state) {
        HiddenJobs hidden = {};

        (void)state;
        jobs_add_hidden(&hidden, 100 * SECOND, KEEP);
        assert_int_equal(jobs_count_hidden(&hidden, 100 * SECOND, 2 * KEEP), 0);
        jobs_add_hidden(&hidden, 100 * SECOND, 2 * KEEP);
        assert_int_equal(jobs_count_hidden(&hidden, 100 * SECOND, 2 * KEEP), 1);
        jobs_add_hidden(&hidden, 100 * SECOND, 0);
        assert_int_equal(jobs_count_hidden(&hidden, 101 * SECOND, 0), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_job_is_left_out_for_as_long_as_it_would_be_shown),
                cmocka_unit_test(parts_are_used_again),
                cmocka_unit_test(another_time_begins_a_new_count),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
