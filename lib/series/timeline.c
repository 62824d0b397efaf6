/* SPDX-License-Identifier: Apache-2.0 */
#include "series/timeline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "json/json.h"
#include "util/array.h"
#include "util/clock.h"

static const struct {
        const char *name;
        const char *unit;
} series_info[N_SERIES] = {
#define X(id, name, unit, key) [SERIES_##id] = { name, unit },
        SERIES(X)
#undef X
};

#define UNKNOWN { NAN, NAN, NAN }

const TimelinePoint timeline_hole = {
        .series = {
#define X(id, ...) [SERIES_##id] = UNKNOWN,
                SERIES(X)
#undef X
        },
};

const char *timeline_series_name(Series series) {
        assert(series < N_SERIES);
        return series_info[series].name;
}

const char *timeline_series_unit(Series series) {
        assert(series < N_SERIES);
        return series_info[series].unit;
}

void timeline_deinit(Timeline *timeline) {
        free(timeline->points);
        *timeline = (Timeline){};
}

int timeline_reserve(Timeline *timeline, size_t n) {
        if (ARRAY_RESERVE(timeline->points, timeline->n_allocated, n) < 0)
                return -ENOMEM;
        for (; timeline->n < n; timeline->n++)
                timeline->points[timeline->n] = timeline_hole;
        return 0;
}

static float weighted(float a, uint64_t a_ns, float b, uint64_t b_ns) {
        return (float)(a + ((double)b - a) * ((double)b_ns / ((double)a_ns + (double)b_ns)));
}

static void merge_value(TimelineValue *a, uint64_t a_ns, const TimelineValue *b, uint64_t b_ns) {
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

void timeline_merge_point(TimelinePoint *a, const TimelinePoint *b) {
        if (b->observed_ns == 0)
                return;

        for (Series series = 0; series < N_SERIES; series++)
                merge_value(&a->series[series], a->observed_ns, &b->series[series], b->observed_ns);
        a->observed_ns += b->observed_ns;
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Writes five digits, which is enough for plots. */
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
        json_put_array_begin(json, name);
        for (size_t i = 0; i < timeline->n; i++)
                put_float(json, *(const float *)(const void *)((const char *)&timeline->points[i].series[series] + offset));
        json_array_end(json);
}

static void put_series(const Timeline *timeline, Series series, Json *json) {
        json_put_object_begin(json, timeline_series_name(series));
        json_put_string(json, "unit", timeline_series_unit(series));
        put_values(timeline, series, "mean", offsetof(TimelineValue, mean), json);
        put_values(timeline, series, "min", offsetof(TimelineValue, min), json);
        put_values(timeline, series, "max", offsetof(TimelineValue, max), json);
        json_object_end(json);
}

void timeline_json(const Timeline *timeline, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_uint(&json, "begin_ms", timeline->begin_realtime_ns / NS_PER_MS);
        if (timeline->interval_ns % NS_PER_MS == 0)
                json_put_uint(&json, "interval_ms", timeline->interval_ns / NS_PER_MS);
        else
                json_put_double(&json, "interval_ms", (double)timeline->interval_ns / (double)NS_PER_MS);

        json_put_object_begin(&json, "series");
        for (Series series = 0; series < N_SERIES; series++)
                put_series(timeline, series, &json);
        json_object_end(&json);
        json_object_end(&json);
}
