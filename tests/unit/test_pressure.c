/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/pressure.h"
#include "sample/text.h"
#include "tree.h"

static void assert_fault(const char *text, PressureLines lines, const char *expected) {
        SamplePsi psi = { .some_us = 42 };
        const char *fault = NULL;

        assert_int_equal(pressure_parse(text, lines, &psi, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(psi.some_us, 42);
}

static void totals_of_both_lines_are_read(void **state) {
        scoped(freep) char *text = tree_text("small/proc/pressure/io");
        const char *fault;
        SamplePsi psi;

        (void)state;
        assert_int_equal(pressure_parse(text, PRESSURE_SOME_AND_FULL, &psi, &fault), 0);
        assert_int_equal(psi.some_us, 5000001);
        assert_int_equal(psi.full_us, 4000002);
}

static void the_full_line_of_cpu_is_ignored_or_missing(void **state) {
        const char *fault;
        SamplePsi psi;

        (void)state;
        assert_int_equal(pressure_parse("some avg10=0.00 total=7\n", PRESSURE_SOME, &psi, &fault), 0);
        assert_int_equal(psi.some_us, 7);
        assert_int_equal(pressure_parse("some total=7\nfull total=8\n", PRESSURE_SOME, &psi, &fault), 0);
        assert_int_equal(psi.full_us, 0);
}

static void what_is_wrong_is_said_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("", PRESSURE_SOME, "no some line");
        assert_fault("some avg10=0.00\n", PRESSURE_SOME, "a some line without a total");
        assert_fault("some avg10=0.00\nfull total=5\n", PRESSURE_SOME, "a some line without a total");
        assert_fault("some total=7", PRESSURE_SOME, "a some line without a total");
        assert_fault("some total=-7\n", PRESSURE_SOME, "a some line without a total");
        assert_fault("some total=\n", PRESSURE_SOME, "a some line without a total");
        assert_fault("some total=99999999999999999999\n", PRESSURE_SOME, "a some line without a total");
        assert_fault("some total=7\n", PRESSURE_SOME_AND_FULL, "no full line");
        assert_fault("some total=7\nfull avg10=1.00\n", PRESSURE_SOME_AND_FULL, "a full line without a total");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(totals_of_both_lines_are_read),
                cmocka_unit_test(the_full_line_of_cpu_is_ignored_or_missing),
                cmocka_unit_test(what_is_wrong_is_said_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
