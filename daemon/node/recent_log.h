/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * RecentLog: makes the points of Recent from observations
 *
 * Observations that are closer together than a second are merged to one point.
 */

#include "measure/meter.h"
#include "node/recording.h"
#include "snapshot/recent.h"

/* Clock ticks of a core at the begin of the current point. */
typedef struct CoreTicks {
        uint32_t busy, total; /* wrap around */
        bool is_known;
} CoreTicks;

typedef struct RecentLog {
        Recent recent;
        Recording point;   /* the current one; interval_ns 0: none has begun */
        CoreTicks *cores;  /* owned, as is percent; indexed by CPU number */
        uint8_t *percent;  /* of the last point */
        size_t n_cores, n_cores_allocated, n_percent_allocated;
} RecentLog;

void recent_log_deinit(RecentLog *log);
/* Adds an observation that ended at the sample. 0 or -ENOMEM. */
int recent_log_add(RecentLog *log, const Observation *observation, const Sample *sample);
