/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Timeline: history for plots, in intervals of equal length
 *
 * Contains mean, min and max of each interval. Totals are never computed from a timeline. recording.h makes timelines
 * from observations, timeline_parse() from stored texts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define TIMELINE_POINTS_MAX 10000U

/*
 * X(ID, name, unit, key): the short key is for stored texts, of which a day has thousands. CPU is the mean over all
 * CPUs; disk and network series cover physical devices. Ratios come first.
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

const char *timeline_series_name(Series series); /* Returns "cpu", "memory", "disk_read", … */
const char *timeline_series_unit(Series series); /* Returns "ratio" or "bytes_per_second" */

static inline bool series_is_ratio(Series series) {
        return series <= SERIES_MEMORY;
}

typedef struct TimelineValue {
        float mean, min, max; /* NaN if nothing was observed */
} TimelineValue;

typedef struct TimelinePoint {
        uint64_t observed_ns; /* observed part of the interval; 0: a gap */
        TimelineValue series[N_SERIES];
} TimelinePoint;

extern const TimelinePoint timeline_hole;

typedef struct Timeline {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* length of one point's interval */
        size_t n, n_allocated;
        TimelinePoint *points; /* owned */
} Timeline;

void timeline_deinit(Timeline *timeline);
/* Extends the timeline to n points; new points are gaps. Returns 0 or -ENOMEM. */
int timeline_reserve(Timeline *timeline, size_t n);

/*
 * Merges `b` into `a`. Each series is weighted by the observed time of its point: if a source was unavailable for
 * part of a point, its mean is inaccurate.
 */
void timeline_merge_point(TimelinePoint *a, const TimelinePoint *b);

/*
 * Formats and parses the compact text for the store (format: see timeline_text.c; of a single point: point_text.h).
 * Returns 0, PARSE_MALFORMED or -ENOMEM. Caller frees *ret / deinits *ret.
 */
int timeline_format(const Timeline *timeline, char **ret);
int timeline_parse(const char *text, Timeline *ret);

/*
 * Writes {"begin_ms":…,"interval_ms":…,"series":{"cpu":{"unit":…,"mean":[…],"min":[…],"max":[…]},…}}; gaps are null.
 */
void timeline_json(const Timeline *timeline, Buffer *out);
