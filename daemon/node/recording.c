/* SPDX-License-Identifier: Apache-2.0 */
#include "node/recording.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_POINTS 24U

_Static_assert(TIMELINE_COLUMNS(TIMELINE_OF_JOB) * sizeof(uint16_t) == 38, "as recording.h says");

void recording_init(Recording *recording, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns,
                    size_t n_max) {
        assert(interval_ns > 0);
        assert(n_max >= 2 && n_max <= TIMELINE_POINTS_MAX && n_max % 2 == 0);

        *recording = (Recording){
                .begin_boottime_ns = begin_boottime_ns,
                .begin_realtime_ns = begin_realtime_ns,
                .interval_ns = interval_ns,
                .n_max = (uint32_t)n_max,
        };
}

void recording_deinit(Recording *recording) {
        for (size_t i = 0; i < recording->n_allocated / BLOCK_POINTS; i++)
                free(recording->blocks[i]);
        free(recording->blocks);
        *recording = (Recording){};
}

/* --- points ------------------------------------------------------------------------------------ */

static uint16_t *closed_at(const Recording *recording, size_t at) {
        assert(at < recording->n_allocated);
        return &recording->blocks[at / BLOCK_POINTS][at % BLOCK_POINTS * TIMELINE_COLUMNS(recording->kind)];
}

static void point_get(const Recording *recording, size_t at, TimelinePoint *ret) {
        if (at + 1 == recording->n)
                *ret = recording->last;
        else
                timeline_restore_point(closed_at(recording, at), recording->interval_ns, recording->kind, ret);
}

/* --- adding ----------------------------------------------------------------------------------- */

static int reserve_closed(Recording *recording, size_t n) {
        if (n > 0 && !recording->blocks)
                recording->blocks = calloc((recording->n_max + BLOCK_POINTS - 1) / BLOCK_POINTS,
                                           sizeof(*recording->blocks));
        if (n > 0 && !recording->blocks)
                return -ENOMEM;

        for (; recording->n_allocated < n; recording->n_allocated += BLOCK_POINTS) {
                uint16_t *block = calloc(BLOCK_POINTS * TIMELINE_COLUMNS(recording->kind), sizeof(*block));

                if (!block)
                        return -ENOMEM;
                recording->blocks[recording->n_allocated / BLOCK_POINTS] = block;
        }
        return 0;
}

/* Allocates all points up to the n-th; new points are gaps. */
static int reserve(Recording *recording, size_t n) {
        int r;

        r = reserve_closed(recording, n - 1);
        if (r < 0)
                return r;

        for (; recording->n < n; recording->n++) {
                if (recording->n > 0)
                        timeline_round_point(&recording->last, recording->interval_ns, recording->kind,
                                             closed_at(recording, recording->n - 1));
                recording->last = timeline_hole;
        }
        return 0;
}

/* Merges pairs of points, which halves their number and doubles the interval. */
static void halve(Recording *recording) {
        uint32_t n = (recording->n + 1) / 2;
        TimelinePoint merged, second;

        for (size_t i = 0; i < n; i++) {
                point_get(recording, 2 * i, &merged);
                if (2 * i + 1 < recording->n) {
                        point_get(recording, 2 * i + 1, &second);
                        timeline_merge_point(&merged, &second);
                }
                if (i + 1 < n)
                        timeline_round_point(&merged, 2 * recording->interval_ns, recording->kind,
                                             closed_at(recording, i));
        }

        if (n > 0)
                recording->last = merged;
        recording->n = n;
        recording->interval_ns *= 2;
}

static void point_from(const Observation *o, TimelinePoint *ret) {
        const double values[N_SERIES] = {
                [SERIES_CPU] = o->has_cpu ? o->cpu_mean : NAN,
                [SERIES_MEMORY] = o->has_memory ? o->memory : NAN,
                [SERIES_CORE_MIN] = o->has_cpu ? o->cpu_min : NAN,
                [SERIES_CORE_MAX] = o->has_cpu ? o->cpu_max : NAN,
#define X(name, series, ...) [SERIES_##series] = o->name##_rate,
                IO_RATES(X)
                PRESSURE_RATES(X)
                EQUIPMENT_RATES(X)
#undef X
#define X(id, ...) [SERIES_##id] = o->gpus[SUM_##id],
                GPU_SUMS(X)
#undef X
        };

        for (Series series = 0; series < N_SERIES; series++) {
                float v = (float)values[series];

                ret->series[series] = (TimelineValue){ v, v, v };
        }
}

static void merge_at(Recording *recording, size_t at, const TimelinePoint *point) {
        TimelinePoint before;

        if (at + 1 == recording->n) {
                timeline_merge_point(&recording->last, point);
                return;
        }

        point_get(recording, at, &before);
        timeline_merge_point(&before, point);
        timeline_round_point(&before, recording->interval_ns, recording->kind, closed_at(recording, at));
}

/*
 * Distributes the observation over the intervals that it overlaps, and adds points if necessary. A point is closed
 * when its interval has ended. from_ns, to_ns: time since the start.
 */
static int spread(Recording *recording, const Observation *observation, uint64_t from_ns, uint64_t to_ns) {
        TimelinePoint point;
        int r;

        point_from(observation, &point);
        while (from_ns < to_ns) {
                size_t at = (size_t)(from_ns / recording->interval_ns);
                uint64_t end_ns = ((uint64_t)at + 1) * recording->interval_ns;

                r = reserve(recording, at + 1);
                if (r < 0)
                        return r;

                if (end_ns > to_ns)
                        end_ns = to_ns;
                point.observed_ns = end_ns - from_ns;
                merge_at(recording, at, &point);
                from_ns = end_ns;
        }

        return 0;
}

int recording_add(Recording *recording, const Observation *observation) {
        uint64_t begin_ns = recording->begin_boottime_ns, from_ns, to_ns, n;
        int r;

        if (observation->end_ns <= begin_ns || observation->end_ns <= observation->begin_ns)
                return 0;

        from_ns = observation->begin_ns > begin_ns ? observation->begin_ns - begin_ns : 0;
        to_ns = observation->end_ns - begin_ns;

        while ((to_ns - 1) / recording->interval_ns >= recording->n_max)
                halve(recording);

        n = (to_ns - 1) / recording->interval_ns + 1;
        r = reserve_closed(recording, (size_t)n - 1);
        return r < 0 ? r : spread(recording, observation, from_ns, to_ns);
}

void recording_keep_last(Recording *recording) {
        uint64_t dropped_ns = recording->n > 0 ? (recording->n - 1) * recording->interval_ns : 0;

        recording->begin_boottime_ns += dropped_ns;
        recording->begin_realtime_ns += dropped_ns;
        recording->n = recording->n > 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

int recording_timeline(const Recording *recording, Timeline *ret) {
        Timeline timeline = {
                .begin_boottime_ns = recording->begin_boottime_ns,
                .begin_realtime_ns = recording->begin_realtime_ns,
                .interval_ns = recording->interval_ns,
                .kind = recording->kind,
        };
        int r;

        r = timeline_reserve(&timeline, recording->n);
        if (r < 0)
                return r;

        for (size_t i = 0; i < recording->n; i++)
                point_get(recording, i, &timeline.points[i]);
        *ret = timeline;
        return 0;
}

int recording_write(const Recording *recording, Buffer *out) {
        scoped(timeline_deinit) Timeline timeline = {};
        int r;

        r = recording_timeline(recording, &timeline);
        return r < 0 ? r : timeline_write(&timeline, out);
}
