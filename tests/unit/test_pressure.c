/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/pressure.h"
#include "sample/kernel_text.h"
#include "tree.h"

typedef enum Lines {
        SOME,
        SOME_AND_FULL,
} Lines;

static void assert_fault(const char *text, Lines lines, const char *expected) {
        uint64_t some_us = 42, full_us = 43;
        const char *fault = NULL;

        assert_int_equal(pressure_parse(text, &some_us, lines == SOME ? NULL : &full_us, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(some_us, 42);
        assert_int_equal(full_us, 43);
}

static void totals_of_both_lines_are_read(void **state) {
        scoped(freep) char *text = tree_text("small/proc/pressure/io");
        uint64_t some_us, full_us;
        const char *fault;

        (void)state;
        assert_int_equal(pressure_parse(text, &some_us, &full_us, &fault), 0);
        assert_int_equal(some_us, 5000001);
        assert_int_equal(full_us, 4000002);
}

static void the_full_line_of_cpu_is_ignored_or_missing(void **state) {
        const char *fault;
        uint64_t some_us;

        (void)state;
        assert_int_equal(pressure_parse("some avg10=0.00 total=7\n", &some_us, NULL, &fault), 0);
        assert_int_equal(some_us, 7);
        assert_int_equal(pressure_parse("some total=8\nfull total=x\n", &some_us, NULL, &fault), 0);
        assert_int_equal(some_us, 8);
}

static void irq_has_only_a_full_line(void **state) {
        const char *fault;
        uint64_t full_us;

        (void)state;
        assert_int_equal(pressure_parse("full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n", NULL, &full_us, &fault), 0);
        assert_int_equal(full_us, 9);
        assert_int_equal(pressure_parse("some total=7\n", NULL, &full_us, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, "no full line");
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("", SOME, "no some line");
        assert_fault("some avg10=0.00\n", SOME, "a some line without a total");
        assert_fault("some avg10=0.00\nfull total=5\n", SOME, "a some line without a total");
        assert_fault("some total=7", SOME, "a some line without a total");
        assert_fault("some total=-7\n", SOME, "a some line without a total");
        assert_fault("some total=\n", SOME, "a some line without a total");
        assert_fault("some total=99999999999999999999\n", SOME, "a some line without a total");
        assert_fault("some total=7\n", SOME_AND_FULL, "no full line");
        assert_fault("some total=7\nfull avg10=1.00\n", SOME_AND_FULL, "a full line without a total");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(totals_of_both_lines_are_read),
                cmocka_unit_test(the_full_line_of_cpu_is_ignored_or_missing),
                cmocka_unit_test(irq_has_only_a_full_line),
                cmocka_unit_test(malformed_text_is_reported_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("pressure", tests, NULL, NULL);
}
