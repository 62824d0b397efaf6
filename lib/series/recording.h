/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recording: a timeline in the making
 *
 * Equal intervals; when all are used, neighbours merge pairwise (mean, min and max kept) and the interval doubles. Never
 * feeds a total. Grows by blocks of one size to its limit, so that a short job's is small, and what ended jobs leave fits the next.
 *
 * A thousand jobs have one each, so points are kept small. The last one is as observed, exactly; those before, which only a
 * doubling touches again, take 38 bytes instead of 80. They are right to within
 *
 *   shares (cpu, memory)   1/128000
 *   rates                  1/2048 of themselves; below 2^-16 bytes/s they are 0, above 2^48 that
 *   time observed          1/128000 of the interval
 *
 * which is finer than a finished job's row, see timeline_text.c. Min and max are rounded once, a mean again at each doubling.
 */

#include "series/timeline.h"

typedef struct ClosedPoint ClosedPoint;

typedef struct Recording {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* of one point; a power of two times the first */
        uint32_t n, n_max;
        uint32_t n_allocated; /* of closed ones */
        ClosedPoint **blocks; /* owned, as each of them; all but the last point */
        TimelinePoint last;   /* means something when n > 0 */
} Recording;

/* n_max: even, 2…TIMELINE_POINTS_MAX. No allocation until the second point. */
void recording_init(Recording *recording, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns, size_t n_max);
void recording_deinit(Recording *recording);
/* 0 or -ENOMEM (then the observation is left out). */
int recording_add(Recording *recording, const Observation *observation);

/* What was recorded so far, or -ENOMEM. Caller deinits *ret. */
int recording_timeline(const Recording *recording, Timeline *ret);
/* The same as timeline_format() tells it. Caller frees *ret. */
int recording_format(const Recording *recording, char **ret);
