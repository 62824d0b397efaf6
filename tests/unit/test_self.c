/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "self.h"
#include "util/clock.h"

static void a_tick_in_time_keeps_its_grid(void **state) {
        SelfStats self = {};

        (void)state;
        assert_true(self_note_tick(&self, 5000000, 5000000, 1000000) == 6000000);
        assert_true(self_note_tick(&self, 6000000, 5999999, 1000000) == 7000000); /* early, by the timer's rounding */
        assert_true(self_note_tick(&self, 7000000, 7000250, 1000000) == 8000000);
        assert_true(self.n_ticks == 3);
        assert_true(self.n_missed_ticks == 0);
        assert_true(self.lateness_last_ns == 250000);
        assert_true(self.lateness_sum_ns == 250000);
}

static void a_late_tick_counts_those_it_missed_and_returns_to_the_grid(void **state) {
        SelfStats self = {};

        (void)state;
        assert_true(self_note_tick(&self, 1000000, 4300000, 1000000) == 5000000);
        assert_true(self.n_missed_ticks == 3);
        assert_true(self.lateness_max_ns == 3300 * NS_PER_MS);
        assert_true(self_note_tick(&self, 5000000, 5001000, 1000000) == 6000000);
        assert_true(self.lateness_max_ns == 3300 * NS_PER_MS);
        assert_true(self.lateness_last_ns == NS_PER_MS);
        assert_true(self.lateness_sum_ns == 3301 * NS_PER_MS);
}

static void the_process_knows_its_descriptors(void **state) {
        SelfStats before = {}, after = {};
        int fds[20];

        (void)state;
        self_measure(&before);
        for (size_t i = 0; i < 20; i++)
                assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
        self_measure(&after);
        assert_int_equal(after.n_open_fds, before.n_open_fds + 20);
        assert_true(before.n_open_fds >= 3);

        for (size_t i = 0; i < 20; i++)
                close(fds[i]);
        after.n_ticks = 1; /* not counted at each tick */
        self_measure(&after);
        assert_int_equal(after.n_open_fds, before.n_open_fds + 20);
        after.n_ticks = 10;
        self_measure(&after);
        assert_int_equal(after.n_open_fds, before.n_open_fds);
}

static void the_process_knows_its_memory_and_time(void **state) {
        enum { N_BYTES = 32 << 20 };
        SelfStats before = {}, after = {};
        char *memory;

        (void)state;
        self_measure(&before);
        assert_true(before.resident_bytes > 0 && before.resident_bytes <= before.virtual_bytes);
        memory = malloc(N_BYTES);
        assert_non_null(memory);
        memset(memory, 1, N_BYTES);
        self_measure(&after);
        assert_true(after.resident_bytes >= before.resident_bytes + N_BYTES / 2);
        assert_true(after.virtual_bytes >= before.virtual_bytes + N_BYTES / 2);
        assert_true(after.process_cpu_ns > before.process_cpu_ns);
        assert_int_equal(memory[N_BYTES - 1], 1);
        free(memory);
}

static void memory_that_only_the_start_needed_is_returned(void **state) {
        SelfStats before = {}, after = {};

        (void)state;
        self_measure(&before);
        self_trim_memory();
        self_measure(&after);
        assert_true(after.resident_bytes < before.resident_bytes);
        assert_true(after.virtual_bytes <= before.virtual_bytes);
}

static void the_soft_limit_of_descriptors_is_raised_to_the_hard_one(void **state) {
        struct rlimit limit, raised;
        SelfStats self = {};

        (void)state;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ .rlim_cur = 64, .rlim_max = limit.rlim_max }), 0);
        self_prepare_process();
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
        assert_true(raised.rlim_cur == limit.rlim_max);
        self_measure(&self);
        assert_true(self.n_fds_max == limit.rlim_max);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tick_in_time_keeps_its_grid),
                cmocka_unit_test(a_late_tick_counts_those_it_missed_and_returns_to_the_grid),
                cmocka_unit_test(the_process_knows_its_descriptors),
                cmocka_unit_test(the_process_knows_its_memory_and_time),
                cmocka_unit_test(memory_that_only_the_start_needed_is_returned),
                cmocka_unit_test(the_soft_limit_of_descriptors_is_raised_to_the_hard_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
