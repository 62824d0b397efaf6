/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/host/stat.h"
#include "sample/kernel_text.h"
#include "tree.h"

static uint64_t ticks_in_all(const CpuTimes *times) {
        uint64_t total = 0;

        for (size_t i = 0; i < N_CPU_MODES; i++)
                total += times->ticks[i];
        return total;
}

static void parse_tree(const char *path, Sample *sample) {
        scoped(freep) char *text = tree_text(path);
        const char *fault;

        assert_int_equal(stat_parse(text, sample, &fault), 0);
}

static void assert_fault(const char *text, const char *expected) {
        Sample sample = { .n_cpus = 0 };
        const char *fault = NULL;

        assert_int_equal(stat_parse(text, &sample, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(sample.n_cpus, 0);
        assert_int_equal(sample.n_online, 0);
        assert_int_equal(ticks_in_all(&sample.cpu), 0);
        assert_int_equal(sample.counter[KERNEL_CONTEXT_SWITCHES], 0);
        sample_deinit(&sample);
}

static void guest_time_is_not_counted_as_user_time_again(void **state) {
        Sample sample = {};

        (void)state;
        parse_tree("small/proc/stat", &sample);
        assert_int_equal(sample.cpu.ticks[CPU_USER], 2500 - 300);
        assert_int_equal(sample.cpu.ticks[CPU_NICE], 30 - 10);
        assert_int_equal(sample.cpu.ticks[CPU_GUEST], 300);
        assert_int_equal(sample.cpu.ticks[CPU_GUEST_NICE], 10);
        assert_int_equal(sample.cpus[0].times.ticks[CPU_USER], 1500 - 300);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_USER], 1000);
        assert_int_equal(ticks_in_all(&sample.cpu), 2500 + 30 + 1200 + 900000 + 450 + 60 + 12);
        sample_deinit(&sample);
}

static void guest_time_ahead_of_user_time_leaves_no_user_time(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse("cpu 5 1 0 9 0 0 0 0 6 2\ncpu0 5 1 0 9 0 0 0 0 6 2\nctxt 1\n", &sample, &fault), 0);
        assert_int_equal(sample.cpu.ticks[CPU_USER], 0);
        assert_int_equal(sample.cpu.ticks[CPU_NICE], 0);
        assert_int_equal(sample.cpu.ticks[CPU_GUEST], 6);
        sample_deinit(&sample);
}

static void every_column_has_its_mode(void **state) {
        Sample sample = {};

        (void)state;
        parse_tree("small/proc/stat", &sample);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_NICE], 10);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_SYSTEM], 500);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_IDLE], 451000);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_IOWAIT], 200);
        assert_int_equal(sample.cpus[0].times.ticks[CPU_IRQ], 0);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_SOFTIRQ], 20);
        assert_int_equal(sample.cpus[1].times.ticks[CPU_STEAL], 7);
        assert_int_equal(sample.counter[KERNEL_CONTEXT_SWITCHES], 1443238);
        sample_deinit(&sample);
}

static void columns_an_old_kernel_does_not_have_are_zero(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        parse_tree("old/proc/stat", &sample);
        assert_int_equal(sample.cpu.ticks[CPU_USER], 100);
        assert_int_equal(sample.cpu.ticks[CPU_STEAL], 8);
        assert_int_equal(sample.cpu.ticks[CPU_GUEST], 0);

        assert_int_equal(stat_parse("cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 5\n", &sample, &fault), 0);
        assert_int_equal(sample.cpu.ticks[CPU_IDLE], 4);
        assert_int_equal(sample.cpu.ticks[CPU_STEAL], 0);
        sample_deinit(&sample);
}

static void columns_of_a_later_kernel_are_ignored(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse("cpu 1 2 3 4 5 6 7 8 0 0 11 12\ncpu0 1 2 3 4 5 6 7 8 0 0 11 12\nctxt 5\n", &sample,
                                    &fault), 0);
        assert_int_equal(ticks_in_all(&sample.cpu), 36);
        sample_deinit(&sample);
}

static void a_cpu_without_a_line_is_offline_and_the_others_keep_their_numbers(void **state) {
        Sample sample = {};

        (void)state;
        parse_tree("big/proc/stat", &sample);
        assert_int_equal(sample.n_cpus, 128);
        assert_int_equal(sample.n_online, 127);
        assert_false(sample.cpus[77].online);
        assert_int_equal(ticks_in_all(&sample.cpus[77].times), 0);
        assert_true(sample.cpus[78].online);
        assert_int_equal(sample.cpus[78].times.ticks[CPU_USER], 1000078);
        assert_int_equal(sample.cpus[127].times.ticks[CPU_SOFTIRQ], 527);
        assert_int_equal(sample.counter[KERNEL_CONTEXT_SWITCHES], UINT64_C(987654321012));
        sample_deinit(&sample);
}

static void a_cpu_that_goes_offline_is_absent_until_it_returns(void **state) {
        Sample sample = {};

        (void)state;
        parse_tree("hotplug/proc/stat", &sample);
        assert_int_equal(sample.n_cpus, 4);
        assert_true(sample.cpus[3].online);

        parse_tree("hotplug-3/proc/stat", &sample);
        assert_int_equal(sample.n_cpus, 3);
        assert_int_equal(sample.n_online, 3);

        parse_tree("hotplug/proc/stat", &sample);
        assert_int_equal(sample.n_cpus, 4);
        assert_int_equal(sample.n_online, 4);
        assert_int_equal(sample.cpus[3].times.ticks[CPU_USER], 1000);
        sample_deinit(&sample);
}

static void a_gap_contains_no_values_of_a_previous_sample(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        parse_tree("hotplug/proc/stat", &sample);
        assert_int_equal(stat_parse("cpu 1 1 1 1\ncpu0 1 1 1 1\ncpu3 1 1 1 1\nctxt 5\n", &sample, &fault), 0);
        assert_int_equal(sample.n_cpus, 4);
        assert_int_equal(sample.n_online, 2);
        assert_false(sample.cpus[1].online);
        assert_int_equal(sample.cpus[2].times.ticks[CPU_USER], 0);
        sample_deinit(&sample);
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("", "no cpu line");
        assert_fault("intr 5\nctxt 5\n", "no cpu line");
        assert_fault("cpu  1 2 3 4\n", "no cpu0 line");
        assert_fault("cpu  1 2 3\ncpu0 1 2 3\nctxt 5\n", "a cpu line that is not numbers");
        assert_fault("cpu  1 2 3 4\ncpu0 1 2 -3 4\nctxt 5\n", "a cpu line that is not numbers");
        assert_fault("cpu  1 2 3 4\ncpu0 1 2 3 4", "a cpu line that is not numbers");
        assert_fault("cpu  1 2 3 4\ncpux 1 2 3 4\nctxt 5\n", "a cpu line without a number");
        assert_fault("cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 1 2 3", "no ctxt line");
        assert_fault("cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 5", "a ctxt line that is not a number");
}

static void a_number_beyond_64_bits_is_malformed(void **state) {
        (void)state;
        assert_fault("cpu  18446744073709551616 2 3 4\ncpu0 1 2 3 4\nctxt 5\n", "a cpu line that is not numbers");
        assert_fault("cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 99999999999999999999\n", "a ctxt line that is not a number");
}

static void an_absurd_cpu_number_takes_no_memory(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse("cpu 1 2 3 4\ncpu4000000000 1 2 3 4\nctxt 5\n", &sample, &fault), TEXT_MALFORMED);
        assert_int_equal(sample.allocated.n_cpus, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(guest_time_is_not_counted_as_user_time_again),
                cmocka_unit_test(guest_time_ahead_of_user_time_leaves_no_user_time),
                cmocka_unit_test(every_column_has_its_mode),
                cmocka_unit_test(columns_an_old_kernel_does_not_have_are_zero),
                cmocka_unit_test(columns_of_a_later_kernel_are_ignored),
                cmocka_unit_test(a_cpu_without_a_line_is_offline_and_the_others_keep_their_numbers),
                cmocka_unit_test(a_cpu_that_goes_offline_is_absent_until_it_returns),
                cmocka_unit_test(a_gap_contains_no_values_of_a_previous_sample),
                cmocka_unit_test(malformed_text_is_reported_and_nothing_is_filled),
                cmocka_unit_test(a_number_beyond_64_bits_is_malformed),
                cmocka_unit_test(an_absurd_cpu_number_takes_no_memory),
        };

        return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
