/* SPDX-License-Identifier: Apache-2.0 */
#include "node/recording.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_POINTS 24U

/*
 * Number of steps of shares and of observed time. Thousandths, and 1 s as a share of an interval doubled nine times,
 * are exact.
 */
#define STEPS 64000U
#define CODE_UNKNOWN UINT16_MAX
#define CODE_MAX (UINT16_MAX - 1U)

/*
 * The code of a rate consists of the exponent of the float and the first ten bits of its fraction, relative to 2^-16.
 */
#define RATE_MIN 0x1p-16F
#define RATE_BITS 10U
#define FLOAT_BITS 23U
#define FLOAT_EXPONENT_OF_1 127U
#define RATE_CODE_OFFSET (((FLOAT_EXPONENT_OF_1 - 16U) << RATE_BITS) - 1U)

struct ClosedPoint {
        uint16_t observed; /* observed share of the interval, in STEPS; 0: a gap */
        uint16_t mean[N_SERIES], min[N_SERIES], max[N_SERIES];
};

_Static_assert(sizeof(ClosedPoint) == 38, "as recording.h says");

void recording_init(Recording *recording, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns, size_t n_max) {
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

/* --- encoding of a point ---------------------------------------------------------------------- */

static uint16_t code_of_share(float v) {
        long code = v > 0 ? lrintf(v * STEPS) : 0;

        return (uint16_t)(code < (long)CODE_MAX ? code : (long)CODE_MAX);
}

static uint16_t code_of_rate(float v) {
        uint32_t bits;

        if (!(v >= RATE_MIN))
                return 0;

        memcpy(&bits, &v, sizeof(bits));
        bits = ((bits + (1U << (FLOAT_BITS - RATE_BITS - 1))) >> (FLOAT_BITS - RATE_BITS)) - RATE_CODE_OFFSET;
        return (uint16_t)(bits < CODE_MAX ? bits : CODE_MAX);
}

static uint16_t code_of(Series series, float v) {
        if (isnan(v))
                return CODE_UNKNOWN;
        return series_is_ratio(series) ? code_of_share(v) : code_of_rate(v);
}

static float value_of(Series series, uint16_t code) {
        uint32_t bits = (code + RATE_CODE_OFFSET) << (FLOAT_BITS - RATE_BITS);
        float v;

        if (code == CODE_UNKNOWN)
                return NAN;
        if (series_is_ratio(series))
                return (float)code / STEPS;
        if (code == 0)
                return 0;

        memcpy(&v, &bits, sizeof(v));
        return v;
}

static uint16_t observed_of(uint64_t observed_ns, uint64_t interval_ns) {
        double steps = rint((double)observed_ns / (double)interval_ns * STEPS);

        return (uint16_t)fmin(fmax(steps, observed_ns > 0), STEPS);
}

static void point_close(const TimelinePoint *point, uint64_t interval_ns, ClosedPoint *ret) {
        ret->observed = observed_of(point->observed_ns, interval_ns);
        for (Series series = 0; series < N_SERIES; series++) {
                ret->mean[series] = code_of(series, point->series[series].mean);
                ret->min[series] = code_of(series, point->series[series].min);
                ret->max[series] = code_of(series, point->series[series].max);
        }
}

static void point_open(const ClosedPoint *closed, uint64_t interval_ns, TimelinePoint *ret) {
        ret->observed_ns = (uint64_t)llrint((double)interval_ns * closed->observed / STEPS);
        for (Series series = 0; series < N_SERIES; series++)
                ret->series[series] = (TimelineValue){
                        .mean = value_of(series, closed->mean[series]),
                        .min = value_of(series, closed->min[series]),
                        .max = value_of(series, closed->max[series]),
                };
}

static ClosedPoint *closed_at(const Recording *recording, size_t at) {
        assert(at < recording->n_allocated);
        return &recording->blocks[at / BLOCK_POINTS][at % BLOCK_POINTS];
}

static void point_get(const Recording *recording, size_t at, TimelinePoint *ret) {
        if (at + 1 == recording->n)
                *ret = recording->last;
        else
                point_open(closed_at(recording, at), recording->interval_ns, ret);
}

/* --- adding ----------------------------------------------------------------------------------- */

static int reserve_closed(Recording *recording, size_t n) {
        if (n > 0 && !recording->blocks)
                recording->blocks = calloc((recording->n_max + BLOCK_POINTS - 1) / BLOCK_POINTS, sizeof(*recording->blocks));
        if (n > 0 && !recording->blocks)
                return -ENOMEM;

        for (; recording->n_allocated < n; recording->n_allocated += BLOCK_POINTS) {
                ClosedPoint *block = calloc(BLOCK_POINTS, sizeof(*block));

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
                        point_close(&recording->last, recording->interval_ns, closed_at(recording, recording->n - 1));
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
                        point_close(&merged, 2 * recording->interval_ns, closed_at(recording, i));
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
#define X(name, series, ...) [SERIES_##series] = o->name##_rate,
                IO_RATES(X)
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
        point_close(&before, recording->interval_ns, closed_at(recording, at));
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

/* --- reading ---------------------------------------------------------------------------------- */

int recording_timeline(const Recording *recording, Timeline *ret) {
        Timeline timeline = {
                .begin_boottime_ns = recording->begin_boottime_ns,
                .begin_realtime_ns = recording->begin_realtime_ns,
                .interval_ns = recording->interval_ns,
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

int recording_format(const Recording *recording, char **ret) {
        scoped(timeline_deinit) Timeline timeline = {};
        int r;

        r = recording_timeline(recording, &timeline);
        return r < 0 ? r : timeline_format(&timeline, ret);
}
