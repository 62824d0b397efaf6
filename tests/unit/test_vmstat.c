/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/text.h"
#include "sample/host/vmstat.h"
#include "tree.h"

static void assert_fault(const char *text, const char *expected) {
        Sample sample = { .counter[KERNEL_MAJOR_FAULTS] = 42 };
        const char *fault = NULL;

        assert_int_equal(vmstat_parse(text, &sample, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 42);
}

static void four_lines_of_many_are_read(void **state) {
        scoped(freep) char *text = tree_text("small/proc/vmstat");
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(vmstat_parse(text, &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_SWAP_IN], 25);
        assert_int_equal(sample.counter[KERNEL_SWAP_OUT], 400);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 2075);
        assert_int_equal(sample.counter[KERNEL_OOM_KILLS], 3);
}

static void lines_an_old_kernel_does_not_have_are_zero(void **state) {
        scoped(freep) char *text = tree_text("old/proc/vmstat");
        Sample sample = { .counter[KERNEL_OOM_KILLS] = 42 };
        const char *fault;

        (void)state;
        assert_int_equal(vmstat_parse(text, &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_SWAP_OUT], 2);
        assert_int_equal(sample.counter[KERNEL_OOM_KILLS], 0);

        assert_int_equal(vmstat_parse("nr_x 1\npgmajfault 9\noom_kill 1\n", &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_SWAP_IN], 0);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 9);
        assert_int_equal(sample.counter[KERNEL_OOM_KILLS], 1);
}

static void a_longer_name_with_the_same_end_or_begin_is_another(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(vmstat_parse("nr_x 1\nxpgmajfault 5\npgmajfault_x 6\npgmajfault 7\n", &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 7);
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("", "no pgmajfault");
        assert_fault("nr_x 1\npswpin 5\n", "no pgmajfault");
        assert_fault("nr_x 1\npgmajfault many\n", "a line that is not a number");
        assert_fault("nr_x 1\npgmajfault 12", "a line that is not a number");
        assert_fault("nr_x 1\npgmajfault 99999999999999999999\n", "a line that is not a number");
        assert_fault("nr_x 1\npswpin 1\npgmajfault 5\noom_kill x\n", "a line that is not a number");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(four_lines_of_many_are_read),
                cmocka_unit_test(lines_an_old_kernel_does_not_have_are_zero),
                cmocka_unit_test(a_longer_name_with_the_same_end_or_begin_is_another),
                cmocka_unit_test(malformed_text_is_reported_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("vmstat", tests, NULL, NULL);
}
