/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule.h"
#include "util/clock.h"

/* tests: daemon/schedule.c */

#define S UINT64_C(1000000)
#define EPOCH_S UINT64_C(1763750000)

static uint64_t phase_of(ScheduleGrid grid, uint64_t boottime_us, ScheduleNow now) {
        return (now.realtime_us + (boottime_us - now.boottime_us)) % grid.interval_us;
}

static void ticks_are_at_multiples_of_the_wall_clock_plus_the_offset(void **state) {
        const ScheduleGrid grid = { S, 250000 }, slow = { 60 * S, 59 * S };
        /* 100.4 s after the boot, the wall clock has 0.9 s */
        const ScheduleNow now = { 100400000, EPOCH_S * S + 900000 };

        (void)state;
        assert_int_equal(schedule_next(grid, now), 101750000); /* 100.75 s is less than half an interval from now */
        assert_int_equal(schedule_align(grid, 100800000, now), 100750000);
        assert_int_equal(phase_of(grid, schedule_next(grid, now), now), 250000);
        assert_int_equal(phase_of(slow, schedule_next(slow, now), now), 59 * S);
}

/* A loop with timers of CLOCK_BOOTTIME: the wall clock is set between the ticks. */
static void a_clock_that_steps_neither_skips_nor_repeats_ticks(void **state) {
        const ScheduleGrid grid = { S, 250000 };
        const int64_t steps_us[] = { 0,  1,       -1,       400000,   -400000,       500000,          -500000,
                                     600000, -600000, 999999, -999999, 3600 * (int64_t)S + 123456,
                                     -86400 * (int64_t)S - 654321, 30 * 365 * 86400 * (int64_t)S + 7 };
        ScheduleNow now = { 100 * S, EPOCH_S * S };
        uint64_t deadline_us = schedule_next(grid, now);

        (void)state;
        for (unsigned i = 0; i < 100 * sizeof(steps_us) / sizeof(steps_us[0]); i++) {
                uint64_t late_us = i * 7919 % 300, before_us = deadline_us;

                now.realtime_us += deadline_us + late_us - now.boottime_us;
                now.boottime_us = deadline_us + late_us;
                if (i % 5 == 4) /* else the clock keeps its time, and four ticks later the phase is right */
                        now.realtime_us += (uint64_t)steps_us[i / 5 % (sizeof(steps_us) / sizeof(steps_us[0]))];
                deadline_us = schedule_align(grid, deadline_us + grid.interval_us, now);
                assert_in_range(deadline_us - before_us, S / 2, S + S / 2);
                assert_int_equal(phase_of(grid, deadline_us, now), 250000);
        }
}

static void a_time_that_has_passed_is_not_planned(void **state) {
        const ScheduleGrid grid = { S, 0 };
        const ScheduleNow now = { 100 * S, EPOCH_S * S + 200000 }; /* set while the tick was late */

        (void)state;
        assert_int_equal(schedule_align(grid, 100 * S + 100, now), 100 * S + 800000);
}

static void a_clock_before_or_soon_after_the_epoch_works(void **state) {
        const ScheduleGrid grid = { 60 * S, 59 * S };
        const ScheduleNow now = { 10000 * S, 3 * S }; /* the machine was suspended, and the clock was set to 1970 */

        (void)state;
        assert_int_equal(schedule_next(grid, now), 10000 * S + 56 * S);
        assert_int_equal(schedule_align(grid, 10001 * S, now), 9996 * S + 60 * S);
}

static void now_is_the_time_of_both_clocks(void **state) {
        ScheduleNow now = schedule_now();

        (void)state;
        assert_in_range(now.boottime_us, 1, clock_boottime_ns() / NS_PER_US);
        assert_true(now.realtime_us > EPOCH_S * S);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ticks_are_at_multiples_of_the_wall_clock_plus_the_offset),
                cmocka_unit_test(a_clock_that_steps_neither_skips_nor_repeats_ticks),
                cmocka_unit_test(a_time_that_has_passed_is_not_planned),
                cmocka_unit_test(a_clock_before_or_soon_after_the_epoch_works),
                cmocka_unit_test(now_is_the_time_of_both_clocks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
