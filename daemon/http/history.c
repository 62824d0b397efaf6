#include "http/history.h"

#include <errno.h>
#include <math.h>

#include "util/clock.h"

void history_init(History *history, size_t n_points_max, bool is_merging) {
        *history = (History){ .n_points_max = n_points_max, .is_merging = is_merging };
}

void history_deinit(History *history) {
        timeline_deinit(&history->timeline);
}

/* Points from n on become holes. */
static int timeline_grow(Timeline *timeline, size_t n) {
        if (n > timeline->n_allocated) {
                size_t n_allocated = n > 2 * timeline->n_allocated ? n : 2 * timeline->n_allocated;
                TimelinePoint *points;

                points = reallocarray(timeline->points, n_allocated, sizeof(*points));
                if (!points)
                        return -ENOMEM;
                timeline->points = points;
                timeline->n_allocated = n_allocated;
        }

        for (; timeline->n < n; timeline->n++) {
                TimelinePoint *point = &timeline->points[timeline->n];

                point->observed_ns = 0;
                for (Series series = 0; series < N_SERIES; series++)
                        point->series[series] = (TimelineValue){ NAN, NAN, NAN };
        }

        return 0;
}

static void merge_value(TimelineValue *into, const TimelineValue *from, double weight) {
        if (isnan(from->mean))
                return;
        if (isnan(into->mean)) {
                *into = *from;
                return;
        }

        into->mean = (float)(into->mean * (1 - weight) + from->mean * weight);
        into->min = fminf(into->min, from->min);
        into->max = fmaxf(into->max, from->max);
}

static void merge_point(TimelinePoint *into, const TimelinePoint *from) {
        uint64_t observed_ns = into->observed_ns + from->observed_ns;

        if (from->observed_ns == 0)
                return;

        for (Series series = 0; series < N_SERIES; series++)
                merge_value(&into->series[series], &from->series[series], (double)from->observed_ns / (double)observed_ns);
        into->observed_ns = observed_ns;
}

/* Neighbours become one, and the interval doubles. */
static void halve(Timeline *timeline) {
        size_t n = 0;

        for (size_t i = 0; i < timeline->n; i += 2, n++) {
                TimelinePoint point = timeline->points[i];

                if (i + 1 < timeline->n)
                        merge_point(&point, &timeline->points[i + 1]);
                timeline->points[n] = point;
        }

        timeline->n = n;
        timeline->interval_ns *= 2;
}

/* Rows begin a few milliseconds off their place. */
static size_t place_of(const Timeline *timeline, uint64_t time_ms) {
        uint64_t begin_ms = timeline->begin_realtime_ns / NS_PER_MS;

        if (time_ms < begin_ms)
                return 0;

        return (size_t)(((time_ms - begin_ms) * NS_PER_MS + timeline->interval_ns / 2) / timeline->interval_ns);
}

static int add_merging(Timeline *timeline, size_t n_max, uint64_t begin_ms, uint64_t interval_ms, TimelinePoint *point) {
        size_t first, n;
        int r;

        while (place_of(timeline, begin_ms + interval_ms) > n_max)
                halve(timeline);

        /* A row may be longer than a place, when the interval was set shorter before. */
        first = place_of(timeline, begin_ms);
        n = (size_t)(interval_ms * NS_PER_MS / timeline->interval_ns);
        n = n > 1 ? n : 1;
        if (first + n > timeline->n) {
                r = timeline_grow(timeline, first + n);
                if (r < 0)
                        return r;
        }

        point->observed_ns /= n;
        for (size_t i = first; i < first + n; i++)
                merge_point(&timeline->points[i], point);
        return 0;
}

static int add_in_place(Timeline *timeline, size_t n_max, uint64_t begin_ms, uint64_t interval_ms, const TimelinePoint *point) {
        size_t i = place_of(timeline, begin_ms);
        int r;

        if (interval_ms * NS_PER_MS != timeline->interval_ns || i >= n_max || i < timeline->n)
                return HISTORY_FULL;

        r = timeline_grow(timeline, i + 1);
        if (r < 0)
                return r;

        timeline->points[i] = *point;
        return 0;
}

int history_add(History *history, const NodeSampleRow *row) {
        scoped(timeline_deinit) Timeline piece = {};
        Timeline *timeline = &history->timeline;

        if (row->interval_ms == 0 || row->interval_ms > INT64_MAX / NS_PER_MS || row->begin_ms > INT64_MAX / NS_PER_MS)
                return HISTORY_MALFORMED;
        if (timeline_parse(row->timeline, &piece) != 0 || piece.n != 1)
                return HISTORY_MALFORMED;

        if (timeline->interval_ns == 0) {
                timeline->begin_realtime_ns = row->begin_ms * NS_PER_MS;
                timeline->interval_ns = row->interval_ms * NS_PER_MS;
        }

        if (history->is_merging)
                return add_merging(timeline, history->n_points_max, row->begin_ms, row->interval_ms, &piece.points[0]);
        return add_in_place(timeline, history->n_points_max, row->begin_ms, row->interval_ms, &piece.points[0]);
}
