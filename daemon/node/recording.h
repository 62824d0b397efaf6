/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recording: a timeline that is extended by each observation
 *
 * All intervals have the same length. When all points are used, adjacent points are merged in pairs (mean, min and
 * max are preserved) and the interval doubles. Totals are never computed from a recording. A recording is allocated
 * in blocks of one size, so that recordings of short jobs are small and the blocks of ended jobs can be reused.
 *
 * There is a recording for each of a thousand jobs, so all points but the last are rounded (timeline.h), which takes
 * 38 bytes instead of 80. They change only when the interval doubles: min and max are rounded once, a mean at each
 * doubling.
 */

#include "measure/meter.h"
#include "measure/timeline.h"

typedef struct Recording {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* length of one point; the initial interval times a power of two */
        uint32_t n, n_max;
        uint32_t n_allocated; /* number of closed points */
        TimelineKind kind;    /* may be set before the first point is closed: n_allocated is 0 */
        uint16_t **blocks;    /* array and blocks owned; all points but the last */
        TimelinePoint last;   /* valid if n > 0 */
} Recording;

/* n_max: even, 2…TIMELINE_POINTS_MAX. Allocates nothing before the second point. */
void recording_init(Recording *recording, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns,
                    size_t n_max);
void recording_deinit(Recording *recording);
/* Returns 0, or -ENOMEM if the observation was dropped. */
int recording_add(Recording *recording, const Observation *observation);

/* Makes the last point the first, of a begin so much later, and drops all before. */
void recording_keep_last(Recording *recording);

/* Copies the points to *ret; caller deinits *ret. Returns 0 or -ENOMEM. */
int recording_timeline(const Recording *recording, Timeline *ret);
/* Appends the points with timeline_write(). Returns 0 or -ENOMEM. */
int recording_write(const Recording *recording, Buffer *out);
