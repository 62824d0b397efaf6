/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Timeline: history for plots, in equal intervals
 *
 * Mean, min and max of each. Never feeds a total. recording.h makes one of observations, timeline_parse() one of what the store has.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define TIMELINE_POINTS_MAX 10000U

/*
 * X(ID, name, unit, key): the key is for stored texts, of which a day has thousands. CPU is the mean over CPUs; disks and
 * interfaces are physical ones. Ratios come first.
 */
#define SERIES(X)                                                    \
        X(CPU,          "cpu",          "ratio",            "c")     \
        X(MEMORY,       "memory",       "ratio",            "m")     \
        X(DISK_READ,    "disk_read",    "bytes_per_second", "dr")    \
        X(DISK_WRITE,   "disk_write",   "bytes_per_second", "dw")    \
        X(NET_SENT,     "net_sent",     "bytes_per_second", "ns")    \
        X(NET_RECEIVED, "net_received", "bytes_per_second", "nr")

typedef enum Series {
#define X(id, ...) SERIES_##id,
        SERIES(X)
#undef X
        N_SERIES,
} Series;

const char *timeline_series_name(Series series); /* "cpu", "memory", "disk_read", … */
const char *timeline_series_unit(Series series); /* "ratio", "bytes_per_second" */

static inline bool series_is_ratio(Series series) {
        return series <= SERIES_MEMORY;
}

typedef struct TimelineValue {
        float mean, min, max; /* NaN: nothing observed */
} TimelineValue;

typedef struct TimelinePoint {
        uint64_t observed_ns; /* time observed within the interval; 0: a hole */
        TimelineValue series[N_SERIES];
} TimelinePoint;

extern const TimelinePoint timeline_hole;

typedef struct Timeline {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* of one point */
        size_t n, n_allocated;
        TimelinePoint *points; /* owned */
} Timeline;

void timeline_deinit(Timeline *timeline);
/* Makes the points exist up to the n-th; new ones are holes. 0 or -ENOMEM. */
int timeline_reserve(Timeline *timeline, size_t n);

/*
 * Takes `b` into `a`. The weights are those of the points: where a source came and went within one point, its mean is off by
 * the time it was away.
 */
void timeline_merge_point(TimelinePoint *a, const TimelinePoint *b);

/*
 * Compact text for the store (the format: timeline_text.c; of a single point: point_text.h), and back: 0, PARSE_MALFORMED or
 * -ENOMEM. Caller frees *ret / deinits *ret.
 */
int timeline_format(const Timeline *timeline, char **ret);
int timeline_parse(const char *text, Timeline *ret);

/* {"begin_ms":…,"interval_ms":…,"series":{"cpu":{"unit":…,"mean":[…],"min":[…],"max":[…]},…}}; holes are null. */
void timeline_json(const Timeline *timeline, Buffer *out);
