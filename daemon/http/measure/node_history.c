/* SPDX-License-Identifier: Apache-2.0 */
#include "http/measure/node_history.h"

#include <assert.h>

#include "util/clock.h"

#define TIME_MS_MAX (INT64_MAX / NS_PER_MS)

void node_history_deinit(NodeHistory *history) {
        timeline_deinit(&history->timeline);
}

/* Merges neighbouring points, and doubles the interval. */
static void halve(Timeline *timeline) {
        size_t n = 0;

        for (size_t i = 0; i < timeline->n; i += 2, n++) {
                TimelinePoint point = timeline->points[i];

                if (i + 1 < timeline->n)
                        timeline_merge_point(&point, &timeline->points[i + 1]);
                timeline->points[n] = point;
        }

        timeline->n = n;
        timeline->interval_ns *= 2;
}

/* Computes the positions of a row in the grid. */
typedef struct Places {
        size_t first, n;
} Places;

/* Rows begin a few milliseconds off their position, and are longer than one position if the interval was shortened later. */
static Places places_of(const Timeline *timeline, uint64_t begin_ns, uint64_t interval_ns) {
        uint64_t shorter_ns = interval_ns < timeline->interval_ns ? interval_ns : timeline->interval_ns;
        uint64_t offset_ns = begin_ns > timeline->begin_realtime_ns ? begin_ns - timeline->begin_realtime_ns : 0;
        uint64_t n = interval_ns / timeline->interval_ns;

        return (Places){
                .first = (size_t)((offset_ns + shorter_ns / 2) / timeline->interval_ns),
                .n = (size_t)(n > 1 ? n : 1),
        };
}

static int add_merging(Timeline *timeline, size_t n_max, uint64_t begin_ns, uint64_t interval_ns, TimelinePoint *point) {
        Places places = places_of(timeline, begin_ns, interval_ns);
        int r;

        while (places.first + places.n > n_max) {
                halve(timeline);
                places = places_of(timeline, begin_ns, interval_ns);
        }

        assert(places.n > 0 && places.first + places.n <= n_max);
        r = timeline_reserve(timeline, places.first + places.n);
        if (r < 0)
                return r;

        point->observed_ns /= places.n;
        for (size_t i = places.first; i < places.first + places.n; i++)
                timeline_merge_point(&timeline->points[i], point);
        return 0;
}

static int add_in_place(Timeline *timeline, size_t n_max, uint64_t begin_ns, uint64_t interval_ns, const TimelinePoint *point) {
        Places places = places_of(timeline, begin_ns, interval_ns);
        int r;

        if (interval_ns != timeline->interval_ns || places.first >= n_max || places.first < timeline->n)
                return NODE_HISTORY_FULL;

        r = timeline_reserve(timeline, places.first + 1);
        if (r < 0)
                return r;

        timeline->points[places.first] = *point;
        return 0;
}

int node_history_add(NodeHistory *history, const NodeSampleRow *row) {
        scoped(timeline_deinit) Timeline piece = {};
        Timeline *timeline = &history->timeline;
        uint64_t begin_ns = row->begin_ms * NS_PER_MS, interval_ns = row->interval_ms * NS_PER_MS;

        if (row->interval_ms == 0 || row->interval_ms > TIME_MS_MAX || row->begin_ms > TIME_MS_MAX)
                return NODE_HISTORY_MALFORMED;
        if (timeline_parse(row->timeline, &piece) != 0 || piece.n == 0)
                return NODE_HISTORY_MALFORMED;

        if (timeline->interval_ns == 0) {
                timeline->begin_realtime_ns = begin_ns;
                timeline->interval_ns = interval_ns;
        }

        if (history->is_merging)
                return add_merging(timeline, history->n_points_max, begin_ns, interval_ns, &piece.points[0]);
        return add_in_place(timeline, history->n_points_max, begin_ns, interval_ns, &piece.points[0]);
}
