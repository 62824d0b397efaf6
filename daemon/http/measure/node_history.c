/* SPDX-License-Identifier: Apache-2.0 */
#include "http/measure/node_history.h"

#include <sys/param.h>

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

/* Rows begin somewhat off their position in the grid: at the sample before their time. */
static uint64_t tolerance_of(const Timeline *timeline, uint64_t interval_ns) {
        return (interval_ns < timeline->interval_ns ? interval_ns : timeline->interval_ns) / 8;
}

/* Returns the time of the row since the begin of the grid, moved to the grid if it is only somewhat off. */
static uint64_t offset_of(const Timeline *timeline, uint64_t begin_ns, uint64_t interval_ns) {
        uint64_t offset_ns = begin_ns > timeline->begin_realtime_ns ? begin_ns - timeline->begin_realtime_ns : 0;
        uint64_t off_ns = offset_ns % timeline->interval_ns, tolerance_ns = tolerance_of(timeline, interval_ns);

        if (off_ns <= tolerance_ns)
                return offset_ns - off_ns;
        return timeline->interval_ns - off_ns <= tolerance_ns ? offset_ns + timeline->interval_ns - off_ns : offset_ns;
}

/* Distributes the point over the intervals that it overlaps, except for a small rest at either end. */
static void spread(Timeline *timeline, uint64_t from_ns, uint64_t to_ns, const TimelinePoint *point) {
        uint64_t tolerance_ns = tolerance_of(timeline, to_ns - from_ns);

        for (size_t i = (size_t)(from_ns / timeline->interval_ns); i < timeline->n; i++) {
                uint64_t begin_ns = i * timeline->interval_ns, end_ns = begin_ns + timeline->interval_ns;
                uint64_t part_ns = (end_ns < to_ns ? end_ns : to_ns) - (begin_ns > from_ns ? begin_ns : from_ns);
                TimelinePoint part = *point;

                if (part_ns < tolerance_ns)
                        continue;
                part.observed_ns = (uint64_t)((double)point->observed_ns * (double)part_ns / (double)(to_ns - from_ns));
                timeline_merge_point(&timeline->points[i], &part);
        }
}

/* Returns the number of intervals up to the end of a row. */
static uint64_t n_needed(const Timeline *timeline, uint64_t begin_ns, uint64_t interval_ns) {
        uint64_t to_ns = offset_of(timeline, begin_ns, interval_ns) + interval_ns;

        return (to_ns - tolerance_of(timeline, interval_ns) + timeline->interval_ns - 1) / timeline->interval_ns;
}

static int add_merging(Timeline *timeline, size_t n_max, uint64_t begin_ns, uint64_t interval_ns,
                       const TimelinePoint *point) {
        uint64_t from_ns, n;
        int r;

        while ((n = n_needed(timeline, begin_ns, interval_ns)) > n_max)
                halve(timeline);

        r = n > timeline->n ? timeline_reserve(timeline, (size_t)n) : 0;
        if (r < 0)
                return r;

        from_ns = offset_of(timeline, begin_ns, interval_ns);
        spread(timeline, from_ns, from_ns + interval_ns, point);
        return 0;
}

/* A row off the grid, as the first after a restart, begins another page. */
static int add_in_place(Timeline *timeline, size_t n_max, uint64_t begin_ns, uint64_t interval_ns,
                        const TimelinePoint *point) {
        uint64_t offset_ns = offset_of(timeline, begin_ns, interval_ns), i = offset_ns / timeline->interval_ns;
        int r;

        if (interval_ns != timeline->interval_ns || offset_ns % timeline->interval_ns != 0 || i >= n_max ||
            i < timeline->n)
                return NODE_HISTORY_FULL;

        r = timeline_reserve(timeline, (size_t)i + 1);
        if (r < 0)
                return r;

        timeline->points[i] = *point;
        return 0;
}

static int add_point(NodeHistory *history, uint64_t begin_ns, uint64_t interval_ns, const TimelinePoint *point) {
        Timeline *timeline = &history->timeline;

        if (timeline->interval_ns == 0) {
                timeline->interval_ns = history->step_ns ?: interval_ns;
                timeline->begin_realtime_ns = history->step_ns ? begin_ns - begin_ns % history->step_ns : begin_ns;
        }

        if (history->is_merging)
                return add_merging(timeline, history->n_points_max, begin_ns, interval_ns, point);
        return add_in_place(timeline, history->n_points_max, begin_ns, interval_ns, point);
}

int node_history_add(NodeHistory *history, const NodeSampleRow *row) {
        scoped(timeline_deinit) Timeline piece = {};
        ColumnReader bytes;
        int r = 0;

        if (row->interval_ms == 0 || row->interval_ms > TIME_MS_MAX || row->begin_ms > TIME_MS_MAX)
                return NODE_HISTORY_MALFORMED;
        column_reader_init(&bytes, row->timeline.bytes, row->timeline.n);
        if (timeline_read(&bytes, &piece) != 0 || piece.n == 0)
                return NODE_HISTORY_MALFORMED;

        for (size_t i = 0; r == 0 && i < piece.n; i++) {
                uint64_t begin_ms = row->begin_ms + i * row->interval_ms;

                if (begin_ms < history->since_ms || (history->until_ms > 0 && begin_ms >= history->until_ms))
                        continue;
                r = add_point(history, begin_ms * NS_PER_MS, row->interval_ms * NS_PER_MS, &piece.points[i]);
                if (r == NODE_HISTORY_FULL)
                        history->next_ms = begin_ms;
        }
        return r;
}

/* --- reading --------------------------------------------------------------------------------------- */

/* Samples are read for this time, although minutes are asked for: the last minute is not stored yet. */
#define LATEST_MS (10 * STORE_NODE_MINUTE_MS)
/* A block has a point for each minute of an hour, and of the checkpoint interval, which is ten minutes at most. */
#define BLOCK_MS_MAX (2 * 60 * STORE_NODE_MINUTE_MS)

/* Returns the time up to which minutes are read. */
static uint64_t minutes_end_ms(const NodeHistory *history, const NodeBounds *bounds) {
        bool is_coarse = history->step_ns >= STORE_NODE_MINUTE_MS * NS_PER_MS;
        uint64_t latest_ms = bounds->newest_ms > LATEST_MS ? bounds->newest_ms - LATEST_MS : 0;

        if (is_coarse && bounds->minutes_ms <= MAX(bounds->samples_ms, history->since_ms))
                return latest_ms - latest_ms % STORE_NODE_MINUTE_MS;
        return bounds->samples_ms;
}

/* Adds the rows of a query, the last of which is left out if it is not valid. unpacked: NULL for samples. */
static int add_rows(NodeHistory *history, Reader *reader, Buffer *unpacked) {
        NodeSampleRow row;
        int r = 0;

        while (history->next_ms == 0) {
                r = unpacked ? store_node_next_minutes(reader, unpacked, &row) : store_node_next(reader, &row);
                if (r != 0)
                        return r == READER_END ? 0 : r;
                r = node_history_add(history, &row);
                if (r < 0)
                        return r;
        }
        return 0;
}

int node_history_read(NodeHistory *history, Reader *reader) {
        const uint64_t since_ms = history->since_ms, until_ms = history->until_ms ?: UINT64_MAX;
        scoped(buffer_deinit) Buffer unpacked = {};
        NodeBounds bounds;
        uint64_t end_ms;
        int r;

        r = store_node_find_bounds(reader, &bounds);
        if (r != 0)
                return r;

        end_ms = minutes_end_ms(history, &bounds);
        if (since_ms < end_ms) {
                history->until_ms = until_ms < end_ms ? until_ms : end_ms - STORE_NODE_MINUTE_MS + 1;
                r = store_node_list_minutes(reader, since_ms > BLOCK_MS_MAX ? since_ms - BLOCK_MS_MAX : 0,
                                            history->until_ms);
                if (r == 0)
                        r = add_rows(history, reader, &unpacked);
        }
        history->since_ms = MAX(since_ms, end_ms);
        history->until_ms = until_ms;
        if (r == 0 && history->next_ms == 0 && history->since_ms < until_ms)
                r = store_node_list(reader, history->since_ms, until_ms);
        return r != 0 || history->next_ms > 0 || history->since_ms >= until_ms ? r : add_rows(history, reader, NULL);
}
