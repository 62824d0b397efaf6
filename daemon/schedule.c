/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <assert.h>

#include "util/clock.h"

ScheduleNow schedule_now(void) {
        return (ScheduleNow){ clock_boottime_ns() / NS_PER_US, clock_realtime_ns() / NS_PER_US };
}

uint64_t schedule_align(ScheduleGrid grid, uint64_t planned_us, ScheduleNow now) {
        int64_t interval_us = (int64_t)grid.interval_us, phase_us;

        assert(interval_us > 0);

        /* the wall clock may show a time soon after the epoch: differences may be negative */
        phase_us = (int64_t)(now.realtime_us + (planned_us - now.boottime_us) - grid.offset_us) % interval_us;
        if (phase_us < 0)
                phase_us += interval_us;
        if (phase_us > interval_us / 2)
                phase_us -= interval_us;
        planned_us -= (uint64_t)phase_us;
        return planned_us > now.boottime_us ? planned_us : planned_us + grid.interval_us;
}

uint64_t schedule_next(ScheduleGrid grid, ScheduleNow now) {
        return schedule_align(grid, now.boottime_us + grid.interval_us, now);
}
