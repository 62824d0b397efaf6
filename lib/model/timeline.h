#pragma once

/*
 * Timeline: bounded history for plots
 *
 * Equal intervals; when all are used, neighbours merge pairwise (mean, min and max
 * kept) and the interval doubles. Never feeds a total. Grows from a few points to
 * its limit, so that a short job's is small.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/meter.h"
#include "util/buffer.h"
#include "util/scoped.h"

#define TIMELINE_POINTS_MAX 10000U

typedef enum Series {
        SERIES_CPU,         /* ratio, mean over CPUs */
        SERIES_MEMORY,      /* ratio */
        SERIES_DISK_READ,   /* bytes/s, physical */
        SERIES_DISK_WRITE,
        SERIES_NET_SENT,    /* bytes/s, physical */
        SERIES_NET_RECEIVED,
        N_SERIES,
} Series;

const char *series_name(Series series); /* "cpu", "memory", "disk_read", … */
const char *series_unit(Series series); /* "ratio", "bytes_per_second" */

typedef struct TimelineValue {
        float mean, min, max; /* NaN: nothing observed */
} TimelineValue;

typedef struct TimelinePoint {
        uint64_t observed_ns; /* time observed within the interval; 0: a hole */
        TimelineValue series[N_SERIES];
} TimelinePoint;

typedef struct Timeline {
        uint64_t begin_boottime_ns;
        uint64_t begin_realtime_ns;
        uint64_t interval_ns; /* of one point; a power of two times the first */
        size_t n, n_allocated, n_max;
        TimelinePoint *points; /* owned */
} Timeline;

/* n_max: even, 2…TIMELINE_POINTS_MAX. No allocation until the first observation. */
void timeline_init(Timeline *timeline, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns, size_t n_max);
void timeline_deinit(Timeline *timeline);
/* 0 or -ENOMEM (then the observation is left out). */
int timeline_add(Timeline *timeline, const Observation *observation);

/*
 * Compact text for the store (the format: timeline_text.c; of a single point: point_text.h), and back: 0, PARSE_MALFORMED or
 * -ENOMEM. Caller frees *ret / deinits *ret.
 */
int timeline_format(const Timeline *timeline, char **ret);
int timeline_parse(const char *text, Timeline *ret);

/* {"begin_ms":…,"interval_ms":…,"series":{"cpu":{"unit":…,"mean":[…],"min":[…],"max":[…]},…}}; holes are null. */
void timeline_json(const Timeline *timeline, Buffer *out);
