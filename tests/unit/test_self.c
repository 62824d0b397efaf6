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

static SelfStats measure(Self *self) {
        self_read(self);
        return self->stats;
}

static void a_tick_in_time_keeps_its_grid(void **state) {
        Self self = { .statm_fd = -1 };

        (void)state;
        assert_true(self_count_tick(&self, 5000000, 5000000, 1000000) == 6000000);
        /* early, due to the timer's rounding */
        assert_true(self_count_tick(&self, 6000000, 5999999, 1000000) == 7000000);
        assert_true(self_count_tick(&self, 7000000, 7000250, 1000000) == 8000000);
        assert_true(self.stats.n_ticks == 3);
        assert_true(self.stats.n_missed_ticks == 0);
        assert_true(self.stats.lateness_sum_ns == 250000);
}

static void a_late_tick_counts_missed_ones_and_returns_to_the_grid(void **state) {
        Self self = { .statm_fd = -1 };

        (void)state;
        assert_true(self_count_tick(&self, 1000000, 4300000, 1000000) == 5000000);
        assert_true(self.stats.n_missed_ticks == 3);
        assert_true(self.stats.lateness_max_ns == 3300 * NS_PER_MS);
        assert_true(self_count_tick(&self, 5000000, 5001000, 1000000) == 6000000);
        assert_true(self.stats.lateness_max_ns == 3300 * NS_PER_MS);
        assert_true(self.stats.lateness_sum_ns == 3301 * NS_PER_MS);
}

static void the_process_knows_its_descriptors(void **state) {
        SelfStats before, after;
        int fds[20];
        Self self;

        (void)state;
        self_init(&self);
        before = measure(&self);
        for (size_t i = 0; i < 20; i++)
                assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
        after = measure(&self);
        assert_int_equal(after.n_open_fds, before.n_open_fds + 20);
        assert_true(before.n_open_fds >= 3);

        for (size_t i = 0; i < 20; i++)
                close(fds[i]);
        self.stats.n_ticks = 5; /* not counted at every tick */
        after = measure(&self);
        assert_int_equal(after.n_open_fds, before.n_open_fds + 20);
        self.stats.n_ticks = 10;
        after = measure(&self);
        assert_int_equal(after.n_open_fds, before.n_open_fds);
        self_deinit(&self);
}

static void the_process_knows_its_memory_and_time(void **state) {
        enum { N_BYTES = 32 << 20 };
        SelfStats before, after;
        char *memory;
        Self self;

        (void)state;
        self_init(&self);
        before = measure(&self);
        assert_true(before.resident_bytes > 0 && before.resident_bytes <= before.virtual_bytes);
        memory = malloc(N_BYTES);
        assert_non_null(memory);
        memset(memory, 1, N_BYTES);
        after = measure(&self);
        assert_true(after.resident_bytes >= before.resident_bytes + N_BYTES / 2);
        assert_true(after.virtual_bytes >= before.virtual_bytes + N_BYTES / 2);
        assert_true(after.process_cpu_ns > before.process_cpu_ns);
        assert_int_equal(memory[N_BYTES - 1], 1);
        free(memory);
        self_deinit(&self);
}

static void memory_that_only_the_start_needed_is_returned(void **state) {
        SelfStats before, after;
        Self self;

        (void)state;
        self_init(&self);
        before = measure(&self);
        self_trim_memory();
        after = measure(&self);
        assert_true(after.resident_bytes < before.resident_bytes);
        assert_true(after.virtual_bytes <= before.virtual_bytes);
        self_deinit(&self);
}

static void the_soft_limit_of_descriptors_is_raised_to_the_hard_one(void **state) {
        struct rlimit limit, raised;
        Self self;

        (void)state;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ .rlim_cur = 64, .rlim_max = limit.rlim_max }), 0);
        self_init(&self);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
        assert_true(raised.rlim_cur == limit.rlim_max);
        assert_true(self.stats.n_fds_max == limit.rlim_max);
        self_deinit(&self);
}

static void reloads_are_counted_with_their_outcome(void **state) {
        Self self;

        (void)state;
        self_init(&self);
        assert_true(self.stats.config_reload_ok);
        assert_true(self.stats.config_reload_realtime_ns == self.stats.started_realtime_ns);
        self_count_reload(&self, "perfd.conf:3: no", "");
        assert_false(self.stats.config_reload_ok || self.stats.is_config_in_force);
        assert_string_equal(self.stats.config_error, "perfd.conf:3: no");
        assert_true(self.stats.config_reload_realtime_ns > self.stats.started_realtime_ns);
        self_count_reload(&self, "", "http.threads");
        assert_true(self.stats.config_reload_ok && !self.stats.is_config_in_force);
        assert_string_equal(self.stats.config_error, "");
        assert_string_equal(self.stats.config_restart, "http.threads");
        self_count_reload(&self, "", "");
        assert_true(self.stats.config_reload_ok && self.stats.is_config_in_force);
        self_note_edited(&self, "/etc/perfd/perfd.conf");
        assert_false(self.stats.is_config_in_force);
        assert_string_equal(self.stats.config_edited, "/etc/perfd/perfd.conf");
        self_note_edited(&self, "");
        assert_true(self_note_ignored(&self, "socket.path"));
        assert_false(self_note_ignored(&self, "socket.path"));
        assert_false(self.stats.is_config_in_force);
        assert_true(self_note_ignored(&self, ""));
        assert_true(self.stats.is_config_in_force);
        self_deinit(&self);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tick_in_time_keeps_its_grid),
                cmocka_unit_test(a_late_tick_counts_missed_ones_and_returns_to_the_grid),
                cmocka_unit_test(the_process_knows_its_descriptors),
                cmocka_unit_test(the_process_knows_its_memory_and_time),
                cmocka_unit_test(memory_that_only_the_start_needed_is_returned),
                cmocka_unit_test(the_soft_limit_of_descriptors_is_raised_to_the_hard_one),
                cmocka_unit_test(reloads_are_counted_with_their_outcome),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
