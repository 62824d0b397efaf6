/* SPDX-License-Identifier: Apache-2.0 */
#include "http/node/node_recent.h"

#include <math.h>

#include "json/json.h"
#include "util/clock.h"

/* Numbers of cores in an answer; with more, it has fewer points. */
#define CORE_NUMBERS_MAX 1500000U

/* A part of the points, oldest first. */
typedef struct Selected {
        const RecentPoint *points[RECENT_POINTS_MAX];
        const uint8_t *cores[RECENT_POINTS_MAX]; /* of each point */
        size_t n_cores[RECENT_POINTS_MAX];
        size_t n, n_cores_max;
} Selected;

/* Selects the points that ended after a time. */
static void choose(const Recent *recent, uint64_t since_ms, Selected *ret) {
        size_t n_points_max, n_all = 0;

        ret->n = ret->n_cores_max = 0;
        for (size_t i = 0; i < recent->n_chunks; i++) {
                n_all += recent->n_points[i];
                if (recent->chunks[i]->n_cores > ret->n_cores_max)
                        ret->n_cores_max = recent->chunks[i]->n_cores;
        }
        n_points_max = CORE_NUMBERS_MAX / (ret->n_cores_max + 1);
        for (size_t i = 0; i < recent->n_chunks; i++) {
                const RecentChunk *chunk = recent->chunks[i];

                for (size_t k = 0; k < recent->n_points[i]; k++, n_all--) {
                        if (chunk->points[k].end_realtime_ms <= since_ms || n_all > n_points_max)
                                continue;
                        ret->points[ret->n] = &chunk->points[k];
                        ret->cores[ret->n] = &chunk->cores[k * chunk->n_cores];
                        ret->n_cores[ret->n++] = chunk->n_cores;
                }
        }
}

static void put_percent(Json *json, const Selected *selected, size_t point, size_t cpu) {
        uint8_t percent = cpu < selected->n_cores[point] ? selected->cores[point][cpu] : RECENT_UNKNOWN;

        if (percent == RECENT_UNKNOWN)
                json_null(json);
        else
                json_uint(json, percent);
}

static bool has_values(const Selected *selected, Series series) {
        for (size_t i = 0; i < selected->n; i++)
                if (isfinite(selected->points[i]->values[series]))
                        return true;
        return false;
}

static void write_points(const NodeSnapshot *node, const Selected *selected, Json *json) {
        json_object_begin(json);
        json_put_uint(json, "interval_ms", node->interval_ns / NS_PER_MS);
        json_put_array_begin(json, "times_ms");
        for (size_t i = 0; i < selected->n; i++)
                json_uint(json, selected->points[i]->end_realtime_ms);
        json_array_end(json);

        json_put_object_begin(json, "series");
        for (Series series = 0; series < N_SERIES; series++) {
                if (series >= SERIES_FIRST_EQUIPMENT && !has_values(selected, series))
                        continue;
                json_put_array_begin(json, timeline_series_name(series));
                for (size_t i = 0; i < selected->n; i++)
                        timeline_put_value(json, selected->points[i]->values[series]);
                json_array_end(json);
        }
        json_object_end(json);

        json_put_array_begin(json, "cores");
        for (size_t cpu = 0; cpu < selected->n_cores_max; cpu++) {
                json_array_begin(json);
                for (size_t i = 0; i < selected->n; i++)
                        put_percent(json, selected, i, cpu);
                json_array_end(json);
        }
        json_array_end(json);
        json_object_end(json);
}

void node_recent_answer(const Target *target, const Sources *sources, Response *response) {
        Json json = { .out = response->body };
        Selected selected;
        uint64_t since_ms;

        if (exchange_parameter_u64(target, response, "since_ms", 0, INT64_MAX, 0, &since_ms) > 0)
                return;
        choose(&exchange_node(sources)->recent, since_ms, &selected);
        write_points(exchange_node(sources), &selected, &json);
}

/* The latest point, unless it was sent: a clock that was set makes no difference. */
static void write_event(const Snapshot *snapshot, uint64_t *position, Buffer *out) {
        const Recent *recent = &snapshot->node.recent;
        size_t last = recent->n_chunks - 1, n = recent->n_chunks > 0 ? recent->n_points[last] : 0;
        Json json = { .out = out };
        Selected selected;

        if (*position == 0)
                buffer_puts(out, "retry: 2000\n\n");
        if (n == 0 || *position == recent->chunks[last]->points[n - 1].end_realtime_ms) {
                *position = *position ?: 1;
                return;
        }

        selected.n = 1;
        selected.points[0] = &recent->chunks[last]->points[n - 1];
        selected.n_cores_max = selected.n_cores[0] = recent->chunks[last]->n_cores;
        selected.cores[0] = &recent->chunks[last]->cores[(n - 1) * selected.n_cores_max];
        buffer_puts(out, "event: sample\ndata: ");
        write_points(&snapshot->node, &selected, &json);
        buffer_puts(out, "\n\n");
        *position = selected.points[0]->end_realtime_ms;
}

void node_recent_stream(const Target *target, const Sources *sources, Response *response) {
        (void)target, (void)sources;
        response->events = write_event;
}
