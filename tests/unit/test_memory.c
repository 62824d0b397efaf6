/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/host/stat.c daemon/sample/kernel_text.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/host/stat.h"
#include "sample/kernel_text.h"
#include "tree.h"

#define KIB UINT64_C(1024)

static void assert_fault(const char *text, const char *expected) {
        SampleMemory memory = { .total_bytes = 42 };
        const char *fault = NULL;

        assert_int_equal(stat_parse_meminfo(text, &memory, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(memory.total_bytes, 42);
}

static void kib_become_bytes(void **state) {
        scoped(freep) char *text = tree_text("small/proc/meminfo");
        SampleMemory memory;
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse_meminfo(text, &memory, &fault), 0);
        assert_int_equal(memory.total_bytes, 8000000 * KIB);
        assert_int_equal(memory.free_bytes, 3000000 * KIB);
        assert_int_equal(memory.available_bytes, 6000000 * KIB);
        assert_int_equal(memory.buffers_bytes, 20000 * KIB);
        assert_int_equal(memory.cached_bytes, 2500000 * KIB);
        assert_int_equal(memory.swap_total_bytes, 1000000 * KIB);
        assert_int_equal(memory.swap_free_bytes, 900000 * KIB);
}

static void a_kernel_without_mem_available_is_not_guessed_at(void **state) {
        scoped(freep) char *text = tree_text("old/proc/meminfo");

        (void)state;
        assert_fault(text, "no MemAvailable");
}

static void a_kernel_without_swap_reports_zero(void **state) {
        SampleMemory memory = { .swap_total_bytes = 42 };
        const char *fault;

        (void)state;
        assert_int_equal(
                stat_parse_meminfo("MemTotal: 5 kB\nMemFree: 4 kB\nMemAvailable: 3 kB\nBuffers: 2 kB\nCached: 1 kB\n",
                                     &memory, &fault),
                0);
        assert_int_equal(memory.available_bytes, 3 * KIB);
        assert_int_equal(memory.swap_total_bytes, 0);
        assert_int_equal(memory.swap_free_bytes, 0);
}

static void malformed_text_is_reported_and_nothing_is_filled(void **state) {
        (void)state;
        assert_fault("", "no MemTotal");
        assert_fault("MemTotal: 5 kB\n", "no MemFree");
        assert_fault("MemTotal: 5\n", "a line that is not a number of kB");
        assert_fault("MemTotal: 5 MB\n", "a line that is not a number of kB");
        assert_fault("MemTotal: -5 kB\n", "a line that is not a number of kB");
        assert_fault("MemTotal: 5 kB", "a line that is not a number of kB");
}

static void a_size_beyond_64_bits_is_malformed(void **state) {
        (void)state;
        assert_fault("MemTotal: 18014398509481984 kB\n", "a line that is not a number of kB");
        assert_fault("MemTotal: 99999999999999999999 kB\n", "a line that is not a number of kB");
}

/* --- vmstat --------------------------------------------------------------------------------------- */

static void assert_vmstat_fault(const char *text, const char *expected) {
        Sample sample = { .counter[KERNEL_MAJOR_FAULTS] = 42 };
        const char *fault = NULL;

        assert_int_equal(stat_parse_vmstat(text, &sample, &fault), TEXT_MALFORMED);
        assert_string_equal(fault, expected);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 42);
}

static void four_lines_of_many_are_read(void **state) {
        scoped(freep) char *text = tree_text("small/proc/vmstat");
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse_vmstat(text, &sample, &fault), 0);
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
        assert_int_equal(stat_parse_vmstat(text, &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_SWAP_OUT], 2);
        assert_int_equal(sample.counter[KERNEL_OOM_KILLS], 0);

        assert_int_equal(stat_parse_vmstat("nr_x 1\npgmajfault 9\noom_kill 1\n", &sample, &fault), 0);
        assert_int_equal(sample.counter[KERNEL_SWAP_IN], 0);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 9);
        assert_int_equal(sample.counter[KERNEL_OOM_KILLS], 1);
}

static void a_longer_name_with_the_same_end_or_begin_is_another(void **state) {
        Sample sample = {};
        const char *fault;

        (void)state;
        assert_int_equal(stat_parse_vmstat("nr_x 1\nxpgmajfault 5\npgmajfault_x 6\npgmajfault 7\n", &sample, &fault),
                         0);
        assert_int_equal(sample.counter[KERNEL_MAJOR_FAULTS], 7);
}

static void malformed_vmstat_is_reported_and_nothing_is_filled(void **state) {
        (void)state;
        assert_vmstat_fault("", "no pgmajfault");
        assert_vmstat_fault("nr_x 1\npswpin 5\n", "no pgmajfault");
        assert_vmstat_fault("nr_x 1\npgmajfault many\n", "a line that is not a number");
        assert_vmstat_fault("nr_x 1\npgmajfault 12", "a line that is not a number");
        assert_vmstat_fault("nr_x 1\npgmajfault 99999999999999999999\n", "a line that is not a number");
        assert_vmstat_fault("nr_x 1\npswpin 1\npgmajfault 5\noom_kill x\n", "a line that is not a number");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kib_become_bytes),
                cmocka_unit_test(a_kernel_without_mem_available_is_not_guessed_at),
                cmocka_unit_test(a_kernel_without_swap_reports_zero),
                cmocka_unit_test(malformed_text_is_reported_and_nothing_is_filled),
                cmocka_unit_test(a_size_beyond_64_bits_is_malformed),
                cmocka_unit_test(four_lines_of_many_are_read),
                cmocka_unit_test(lines_an_old_kernel_does_not_have_are_zero),
                cmocka_unit_test(a_longer_name_with_the_same_end_or_begin_is_another),
                cmocka_unit_test(malformed_vmstat_is_reported_and_nothing_is_filled),
        };

        return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
