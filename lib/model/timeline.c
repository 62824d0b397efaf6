#include "model/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/json.h"

#define POINTS_FIRST 8U

static const struct {
        const char *name;
        const char *unit;
} series_info[N_SERIES] = {
        [SERIES_CPU] = { "cpu", "ratio" },
        [SERIES_MEMORY] = { "memory", "ratio" },
        [SERIES_DISK_READ] = { "disk_read", "bytes_per_second" },
        [SERIES_DISK_WRITE] = { "disk_write", "bytes_per_second" },
        [SERIES_NET_SENT] = { "net_sent", "bytes_per_second" },
        [SERIES_NET_RECEIVED] = { "net_received", "bytes_per_second" },
};

static const TimelineValue unknown = { NAN, NAN, NAN };

const char *series_name(Series series) {
        return series_info[series].name;
}

const char *series_unit(Series series) {
        return series_info[series].unit;
}

void timeline_init(Timeline *timeline, uint64_t begin_boottime_ns, uint64_t begin_realtime_ns, uint64_t interval_ns, size_t n_max) {
        *timeline = (Timeline){
                .begin_boottime_ns = begin_boottime_ns,
                .begin_realtime_ns = begin_realtime_ns,
                .interval_ns = interval_ns,
                .n_max = n_max,
        };
}

void timeline_deinit(Timeline *timeline) {
        free(timeline->points);
        *timeline = (Timeline){};
}

static void point_clear(TimelinePoint *point) {
        *point = (TimelinePoint){};
        for (Series series = 0; series < N_SERIES; series++)
                point->series[series] = unknown;
}

/* Makes the points exist up to the n-th; new ones are holes. */
static int reserve(Timeline *timeline, size_t n) {
        size_t n_new = timeline->n_allocated ? timeline->n_allocated : POINTS_FIRST;
        TimelinePoint *bigger;

        while (n_new < n)
                n_new *= 2;
        if (n_new > timeline->n_max)
                n_new = timeline->n_max;

        if (n_new > timeline->n_allocated) {
                bigger = reallocarray(timeline->points, n_new, sizeof(*bigger));
                if (!bigger)
                        return -ENOMEM;
                timeline->points = bigger;
                timeline->n_allocated = n_new;
        }

        for (; timeline->n < n; timeline->n++)
                point_clear(&timeline->points[timeline->n]);
        return 0;
}

static float weighted(float a, uint64_t a_ns, float b, uint64_t b_ns) {
        return (float)(a + ((double)b - a) * ((double)b_ns / ((double)a_ns + (double)b_ns)));
}

/*
 * Takes b into a. The weights are those of the points: where a source came and went within
 * one point, its mean is off by the time it was away.
 */
static void value_merge(TimelineValue *a, uint64_t a_ns, const TimelineValue *b, uint64_t b_ns) {
        if (isnan(b->mean))
                return;
        if (isnan(a->mean)) {
                *a = *b;
                return;
        }

        a->mean = weighted(a->mean, a_ns, b->mean, b_ns);
        a->min = b->min < a->min ? b->min : a->min;
        a->max = b->max > a->max ? b->max : a->max;
}

static void point_merge(TimelinePoint *a, const TimelinePoint *b) {
        if (b->observed_ns == 0)
                return;

        for (Series series = 0; series < N_SERIES; series++)
                value_merge(&a->series[series], a->observed_ns, &b->series[series], b->observed_ns);
        a->observed_ns += b->observed_ns;
}

/* Half as many points of twice the length. */
static void halve(Timeline *timeline) {
        size_t n = (timeline->n + 1) / 2;

        for (size_t i = 0; i < n; i++) {
                TimelinePoint merged = timeline->points[2 * i];

                if (2 * i + 1 < timeline->n)
                        point_merge(&merged, &timeline->points[2 * i + 1]);
                timeline->points[i] = merged;
        }

        timeline->n = n;
        timeline->interval_ns *= 2;
}

static void point_from(const Observation *o, TimelinePoint *ret) {
        const double values[N_SERIES] = {
                [SERIES_CPU] = o->has_cpu ? o->cpu_mean : NAN,
                [SERIES_MEMORY] = o->has_memory ? o->memory : NAN,
                [SERIES_DISK_READ] = o->disk_read_rate,
                [SERIES_DISK_WRITE] = o->disk_write_rate,
                [SERIES_NET_SENT] = o->net_sent_rate,
                [SERIES_NET_RECEIVED] = o->net_received_rate,
        };

        for (Series series = 0; series < N_SERIES; series++) {
                float v = (float)values[series];

                ret->series[series] = (TimelineValue){ v, v, v };
        }
}

/* Spreads the observation over the intervals it touches; from, to: since the begin of the timeline. */
static void spread(Timeline *timeline, const Observation *observation, uint64_t from_ns, uint64_t to_ns) {
        TimelinePoint point;

        point_from(observation, &point);
        while (from_ns < to_ns) {
                size_t at = (size_t)(from_ns / timeline->interval_ns);
                uint64_t end_ns = ((uint64_t)at + 1) * timeline->interval_ns;

                if (end_ns > to_ns)
                        end_ns = to_ns;
                point.observed_ns = end_ns - from_ns;
                point_merge(&timeline->points[at], &point);
                from_ns = end_ns;
        }
}

int timeline_add(Timeline *timeline, const Observation *observation) {
        uint64_t begin_ns = timeline->begin_boottime_ns, from_ns, to_ns;
        int r;

        if (observation->end_ns <= begin_ns || observation->end_ns <= observation->begin_ns)
                return 0;

        from_ns = observation->begin_ns > begin_ns ? observation->begin_ns - begin_ns : 0;
        to_ns = observation->end_ns - begin_ns;

        while ((to_ns - 1) / timeline->interval_ns >= timeline->n_max)
                halve(timeline);

        r = reserve(timeline, (size_t)((to_ns - 1) / timeline->interval_ns) + 1);
        if (r < 0)
                return r;

        spread(timeline, observation, from_ns, to_ns);
        return 0;
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Five digits draw any plot. */
static void put_float(Json *json, float v) {
        char text[32];

        if (!isfinite(v)) {
                json_null(json);
                return;
        }

        (void)snprintf(text, sizeof(text), "%.5g", (double)v);
        json_raw(json, text);
}

static void put_values(const Timeline *timeline, Series series, const char *name, size_t offset, Json *json) {
        json_key(json, name);
        json_array_begin(json);
        for (size_t i = 0; i < timeline->n; i++)
                put_float(json, *(const float *)(const void *)((const char *)&timeline->points[i].series[series] + offset));
        json_array_end(json);
}

static void put_series(const Timeline *timeline, Series series, Json *json) {
        json_key(json, series_name(series));
        json_object_begin(json);
        json_put_string(json, "unit", series_unit(series));
        put_values(timeline, series, "mean", offsetof(TimelineValue, mean), json);
        put_values(timeline, series, "min", offsetof(TimelineValue, min), json);
        put_values(timeline, series, "max", offsetof(TimelineValue, max), json);
        json_object_end(json);
}

void timeline_json(const Timeline *timeline, Buffer *out) {
        Json json;

        json_init(&json, out);
        json_object_begin(&json);
        json_put_uint(&json, "begin_ms", timeline->begin_realtime_ns / NS_PER_MS);
        if (timeline->interval_ns % NS_PER_MS == 0)
                json_put_uint(&json, "interval_ms", timeline->interval_ns / NS_PER_MS);
        else
                json_put_double(&json, "interval_ms", (double)timeline->interval_ns / (double)NS_PER_MS);

        json_key(&json, "series");
        json_object_begin(&json);
        for (Series series = 0; series < N_SERIES; series++)
                put_series(timeline, series, &json);
        json_object_end(&json);
        json_object_end(&json);
}
