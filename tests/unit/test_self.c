/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "self.h"
#include "util/clock.h"

static void a_late_tick_is_counted_and_the_next_is_on_the_grid(void **state) {
        Self self;

        (void)state;
        self_init(&self);
        assert_int_equal(self_count_tick(&self, 1000, 1000, 100), 1100);
        assert_int_equal(self.stats.lateness_last_ns, 0);
        assert_int_equal(self_count_tick(&self, 1100, 1130, 100), 1200);
        assert_int_equal(self.stats.lateness_last_ns, 30 * NS_PER_US);
        assert_int_equal(self_count_tick(&self, 1200, 1450, 100), 1500);
        assert_int_equal(self.stats.n_missed_ticks, 2);
        assert_int_equal(self.stats.n_ticks, 3);
        assert_int_equal(self.stats.lateness_max_ns, 250 * NS_PER_US);
        assert_int_equal(self.stats.lateness_sum_ns, 280 * NS_PER_US);
        self_deinit(&self);
}

static void a_reload_is_counted_with_its_outcome(void **state) {
        Self self;

        (void)state;
        self_init(&self);
        assert_true(self.stats.config_reload_ok);
        self_count_reload(&self, false);
        assert_false(self.stats.config_reload_ok);
        assert_int_equal(self.stats.n_config_reloads, 1);
        assert_true(self.stats.config_reload_realtime_ns >= self.stats.started_realtime_ns);
        self_deinit(&self);
}

static void memory_time_and_descriptors_are_the_process_own(void **state) {
        struct rlimit limit;
        uint64_t n;
        Self self;
        int fd;

        (void)state;
        self_init(&self);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(limit.rlim_cur, limit.rlim_max);
        assert_int_equal(self.stats.n_fds_max, limit.rlim_cur);
        self_read(&self);
        assert_true(self.stats.resident_bytes > 0 && self.stats.virtual_bytes >= self.stats.resident_bytes);
        assert_true(self.stats.process_cpu_ns > 0);
        n = self.stats.n_open_fds;
        assert_true(n >= 1);

        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        self_read(&self);
        assert_int_equal(self.stats.n_open_fds, n + 1);
        close(fd);
        self_deinit(&self);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_late_tick_is_counted_and_the_next_is_on_the_grid),
                cmocka_unit_test(a_reload_is_counted_with_its_outcome),
                cmocka_unit_test(memory_time_and_descriptors_are_the_process_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
