/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recording: a timeline that grows with each observation
 *
 * All intervals are equal. When all points are used, neighbours merge pairwise (mean, min and max are kept) and the interval doubles.
 * No total is computed from a recording. A recording grows in blocks of one size, so that a short job's recording is small and the
 * blocks of ended jobs fit new jobs.
 *
 * A thousand jobs have a recording each, so points are kept small. The last point is exact. Earlier points, which only a doubling
 * changes, take 38 bytes instead of 80. Their precision is
 *
 *   shares (cpu, memory)   1/128000
 *   rates                  1/2048 of the rate; rates below 2^-16 bytes/s become 0, rates above 2^48 become 2^48
 *   time observed          1/128000 of the interval
 *
 * which is finer than in the row of a finished job (timeline_text.c). Min and max are rounded once, a mean at each doubling.
 */

#include "measure/meter.h"
#include "series/timeline.h"

typedef struct ClosedPoint ClosedPoint;

typedef struct Recording {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* of one point; the initial interval times a power of two */
        uint32_t n, n_max;
        uint32_t n_allocated; /* number of closed points */
        ClosedPoint **blocks; /* owned, and each block is owned; all points but the last */
        TimelinePoint last;   /* valid when n > 0 */
} Recording;

/* n_max: even, 2…TIMELINE_POINTS_MAX. No allocation until the second point. */
void recording_init(Recording *recording, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns, size_t n_max);
void recording_deinit(Recording *recording);
/* 0 or -ENOMEM (then the observation is left out). */
int recording_add(Recording *recording, const Observation *observation);

/* Copies the points so far to *ret; caller deinits *ret. 0 or -ENOMEM. */
int recording_timeline(const Recording *recording, Timeline *ret);
/* Formats the points so far with timeline_format(). Caller frees *ret. */
int recording_format(const Recording *recording, char **ret);
