/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Timeline: history for plots, in intervals of equal length
 *
 * Contains mean, min and max of each interval. Totals are never computed from a timeline. recording.h makes timelines
 * from observations, timeline_read() from stored bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/columns.h"

typedef struct Json Json;

#define TIMELINE_POINTS_MAX 10000U

/*
 * X(ID, name, unit, key). CPU is the mean over all CPUs; disk and network series cover physical devices. Timelines of
 * jobs have the first six, with mean, min and max. Of the others one number is kept: of the node, the least and the
 * most busy core, the shares of time in which a task waited, and rates of equipment; of jobs on a node with GPUs, sums
 * over the GPUs of the job. The activity of GPUs is a sum: two of 50 % are 1 GPU.
 */
#define SERIES(X)                                                       \
        X(CPU,             "cpu",             "ratio",            mean) \
        X(MEMORY,          "memory",          "ratio",            mean) \
        X(DISK_READ,       "disk_read",       "bytes_per_second", mean) \
        X(DISK_WRITE,      "disk_write",      "bytes_per_second", mean) \
        X(NET_SENT,        "net_sent",        "bytes_per_second", mean) \
        X(NET_RECEIVED,    "net_received",    "bytes_per_second", mean) \
        X(CORE_MIN,        "core_min",        "ratio",            min)  \
        X(CORE_MAX,        "core_max",        "ratio",            max)  \
        X(PRESSURE_CPU,    "pressure_cpu",    "ratio",            mean) \
        X(PRESSURE_MEMORY, "pressure_memory", "ratio",            mean) \
        X(PRESSURE_IO,     "pressure_io",     "ratio",            mean) \
        X(FABRIC_SENT,     "fabric_sent",     "bytes_per_second", mean) \
        X(FABRIC_RECEIVED, "fabric_received", "bytes_per_second", mean) \
        X(NETFS_READ,      "netfs_read",      "bytes_per_second", mean) \
        X(NETFS_WRITTEN,   "netfs_written",   "bytes_per_second", mean) \
        X(GPUS_ACTIVE,     "gpus_active",     "gpus",             mean) \
        X(GPUS_UTILIZED,   "gpus_utilized",   "gpus",             mean) \
        X(GPU_POWER,       "gpu_power",       "watts",            mean) \
        X(POWER,           "power",           "watts",            mean) \
        X(GPU_MEMORY,      "gpu_memory",      "bytes",            mean)

typedef enum Series {
#define X(id, ...) SERIES_##id,
        SERIES(X)
#undef X
        N_SERIES,
        N_JOB_SERIES = SERIES_NET_RECEIVED + 1,
        SERIES_FIRST_EQUIPMENT = SERIES_FABRIC_SENT, /* from here on: not in JSON if the node has none */
} Series;

const char *timeline_series_name(Series series); /* Returns "cpu", "memory", "disk_read", … */
const char *timeline_series_unit(Series series); /* Returns "ratio", "bytes_per_second", "gpus", "watts", "bytes" */

static inline bool series_is_ratio(Series series) {
        return series <= SERIES_MEMORY || (series >= N_JOB_SERIES && series < SERIES_FIRST_EQUIPMENT);
}

typedef enum TimelineKind {
        TIMELINE_OF_JOB,
        TIMELINE_OF_NODE, /* without the memory of GPUs */
        TIMELINE_OF_GPU_JOB,
        N_TIMELINE_KINDS,
} TimelineKind;

static inline bool timeline_has(TimelineKind kind, Series series) {
        bool is_of_gpus = series >= SERIES_GPUS_ACTIVE && series != SERIES_POWER;

        return series < N_JOB_SERIES || (kind == TIMELINE_OF_NODE && series != SERIES_GPU_MEMORY) ||
               (kind == TIMELINE_OF_GPU_JOB && is_of_gpus);
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
        TimelineKind kind;
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
 * A point in 16 bits for each number, as points are kept in memory and in the database: the observed share of the
 * interval, 0 for a gap, then mean, min and max of each series of jobs, then the other series. The precision is
 *
 *   ratios                 1/128000
 *   rates                  1/2048 of the rate; rates below 2^-16 bytes/s become 0, rates above 2^48 become 2^48
 *   time observed          1/128000 of the interval
 *
 * A point that was rounded once is restored exactly.
 */
#define TIMELINE_COLUMNS(kind)                                                              \
        (1U + 3 * N_JOB_SERIES + ((kind) == TIMELINE_OF_NODE      ? N_SERIES - 1U - N_JOB_SERIES \
                                  : (kind) == TIMELINE_OF_GPU_JOB ? 4U                           \
                                                                  : 0U))

void timeline_round_point(const TimelinePoint *point, uint64_t interval_ns, TimelineKind kind, uint16_t *ret);
void timeline_restore_point(const uint16_t *rounded, uint64_t interval_ns, TimelineKind kind, TimelinePoint *ret);

/*
 * Appends the timeline as columns (columns.h) for the store: rounded points, of a timeline of mere noise with fewer
 * bits. Returns 0 or -ENOMEM.
 */
int timeline_write(const Timeline *timeline, Buffer *out);
/* Reads what timeline_write() wrote; other bytes may follow. Returns 0, PARSE_MALFORMED or -ENOMEM. Caller deinits
 * *ret. */
int timeline_read(ColumnReader *reader, Timeline *ret);

/*
 * Writes {"begin_ms":…,"interval_ms":…,"series":{"cpu":{"unit":…,"mean":[…],"min":[…],"max":[…]},…}}; gaps are null.
 * A series of which one number is kept has only this array.
 */
void timeline_json(const Timeline *timeline, Buffer *out);
/* Writes a value with five digits, which is enough for plots. */
void timeline_put_value(Json *json, float v);
