/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/stat.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/host/stat.h"
#include "sample/kernel_text.h"
#include "tree.h"

static void assert_fault(const char *text) {
        SampleLoad load = { .average1 = 42, .n_threads = 42 };
        const char *fault = NULL;

        assert_int_equal(stat_parse_loadavg(text, &load, &fault), TEXT_MALFORMED);
        assert_non_null(fault);
        assert_true(load.average1 == 42 && load.n_threads == 42);
}

static void loads_and_threads_are_read_without_the_reader(void **state) {
        scoped(freep) char *text = tree_text("small/proc/loadavg");
        SampleLoad load = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse_loadavg(text, &load, &fault), 0);
        assert_true(load.average1 == 0.12);
        assert_true(load.average5 == 1.05);
        assert_true(load.average15 == 10.5);
        assert_int_equal(load.n_running, 2);
        assert_int_equal(load.n_threads, 417);
}

static void each_load_is_the_number_in_the_text(void **state) {
        char text[64], load_text[32];
        SampleLoad load = {};
        const char *fault;

        (void)state;
        for (unsigned i = 0; i < 100000; i++) {
                (void)snprintf(load_text, sizeof(load_text), "%u.%02u", i / 100, i % 100);
                (void)snprintf(text, sizeof(text), "%s 0.00 0.00 1/2 3\n", load_text);
                assert_int_equal(stat_parse_loadavg(text, &load, &fault), 0);
                assert_true(load.average1 == strtod(load_text, NULL));
        }
}

static void a_machine_that_ran_nothing_has_not_minus_one_running(void **state) {
        SampleLoad load = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse_loadavg("0.00 0.00 0.00 0/42 1000\n", &load, &fault), 0);
        assert_int_equal(load.n_running, 0);
}

static void anything_else_is_malformed_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("");
        assert_fault("\n");
        assert_fault("0,12 1,05 10,50 3/417 8123\n");
        assert_fault("0.12 1.05 10.5 3/417 8123\n");
        assert_fault("0. 1.05 10.50 3/417 8123\n");
        assert_fault("0.12 1.05 10.50 3 417 8123\n");
        assert_fault("0.12 1.05 10.50 3/417");
        assert_fault("0.12 1.05 10.50 3/417 8123");
        assert_fault("0.12 1.05 10.50 3/99999999999 8123\n");
        assert_fault("-1.00 1.05 10.50 3/417 8123\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(loads_and_threads_are_read_without_the_reader),
                cmocka_unit_test(each_load_is_the_number_in_the_text),
                cmocka_unit_test(a_machine_that_ran_nothing_has_not_minus_one_running),
                cmocka_unit_test(anything_else_is_malformed_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("loadavg", tests, NULL, NULL);
}
