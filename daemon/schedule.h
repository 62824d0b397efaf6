/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schedule: times of the ticks
 *
 * A job that runs on many nodes waits for the node that is disturbed last. Ticks are therefore at the same moments on
 * all nodes whose clocks are synchronised: at multiples of the interval since the epoch, plus an offset. Timers use
 * CLOCK_BOOTTIME, which is never set; the phase is that of the wall clock. After each step of the wall clock, the next
 * interval is longer or shorter by at most its half, and the ticks are in phase again: none is skipped or repeated.
 */

#include <stdint.h>

typedef struct ScheduleGrid {
        uint64_t interval_us, offset_us;
} ScheduleGrid;

/* The same moment in both clocks. */
typedef struct ScheduleNow {
        uint64_t boottime_us, realtime_us;
} ScheduleNow;

ScheduleNow schedule_now(void);

/* Returns the time of the grid that is nearest to planned_us, or the next one if that has passed. Both are times of
 * CLOCK_BOOTTIME; planned_us is later than now. */
uint64_t schedule_align(ScheduleGrid grid, uint64_t planned_us, ScheduleNow now);
/* Returns the first time of the grid that is at least half an interval from now. */
uint64_t schedule_next(ScheduleGrid grid, ScheduleNow now);
