/* SPDX-License-Identifier: Apache-2.0 */
#include "client/deliver/pipeline_pending.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "util/array.h"

static void drop_interval(PipelineInterval *interval) {
        free((char *)interval->stage);
}

static void drop_event(PipelineEvent *event) {
        free((char *)event->name);
}

void pipeline_pending_deinit(PipelinePending *pending) {
        for (size_t i = 0; i < pending->n_intervals; i++)
                drop_interval(&pending->intervals[i]);
        for (size_t i = 0; i < pending->n_events; i++)
                drop_event(&pending->events[i]);
        free(pending->intervals);
        free(pending->events);
        free(pending->description);
        *pending = (PipelinePending){};
}

/* --- merging -------------------------------------------------------------------------------------- */

static bool is_same_series(const PipelineInterval *a, const PipelineInterval *b) {
        return a->part == b->part && strcmp(a->stage, b->stage) == 0;
}

static void merge(PipelineInterval *into, const PipelineInterval *later) {
        PipelinePercentiles *percentiles = &into->percentiles;

        pipeline_report_add_sums(&into->sums, &later->sums);
        percentiles->p90_s = fmax(percentiles->p90_s, later->percentiles.p90_s);
        percentiles->p99_s = fmax(percentiles->p99_s, later->percentiles.p99_s);
        percentiles->get_p90_s = fmax(percentiles->get_p90_s, later->percentiles.get_p90_s);
        percentiles->get_p99_s = fmax(percentiles->get_p99_s, later->percentiles.get_p99_s);
        into->end_ms = later->end_ms;
        if (later->buffer_size > 0)
                into->buffer_size = later->buffer_size;
}

/* Orders intervals by series, and keeps the order within a series. */
static int compare_series(const void *a, const void *b) {
        const PipelineInterval *x = *(PipelineInterval *const *)a, *y = *(PipelineInterval *const *)b;

        return COMPARE(x->part, y->part) ?: strcmp(x->stage, y->stage) ?: COMPARE(x, y);
}

#define MERGED_MIN (PIPELINE_PENDING_MAX / 16) /* free places for which all intervals are sorted */

/* Merges each second interval of a series that was in no report into the one before it. 0 or -ENOMEM. */
static int merge_pairs(PipelinePending *pending) {
        PipelineInterval **list = calloc(pending->n_intervals + 1, sizeof(*list));
        size_t n_listed = 0, n = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = pending->n_reported; i < pending->n_intervals; i++)
                list[n_listed++] = &pending->intervals[i];
        qsort(list, n_listed, sizeof(*list), compare_series);
        for (size_t i = 0; i + 1 < n_listed; i++) {
                if (!is_same_series(list[i], list[i + 1]))
                        continue;
                merge(list[i], list[i + 1]);
                drop_interval(list[i + 1]);
                list[i + 1]->stage = NULL;
                pending->n_merged++;
                i++;
        }
        free(list);

        for (size_t i = 0; i < pending->n_intervals; i++)
                if (pending->intervals[i].stage)
                        pending->intervals[n++] = pending->intervals[i];
        pending->n_intervals = n;
        pending->is_merged = n > PIPELINE_PENDING_MAX - MERGED_MIN;
        return 0;
}

/* --- adding --------------------------------------------------------------------------------------- */

int pipeline_pending_add_interval(PipelinePending *pending, const PipelineInterval *interval) {
        PipelineInterval copy = *interval;
        int r = 0;

        if (pending->n_intervals >= PIPELINE_PENDING_MAX && !pending->is_merged)
                r = merge_pairs(pending);
        if (r == 0 && pending->n_intervals >= PIPELINE_PENDING_MAX) {
                pending->n_dropped++;
                return 0;
        }
        if (r == 0)
                r = ARRAY_RESERVE(pending->intervals, pending->n_intervals_allocated, pending->n_intervals + 1);
        if (r < 0)
                return r;
        copy.stage = strdup(interval->stage);
        if (!copy.stage)
                return -ENOMEM;
        pending->intervals[pending->n_intervals++] = copy;
        return 0;
}

int pipeline_pending_add_event(PipelinePending *pending, const PipelineEvent *event) {
        PipelineEvent copy = *event;

        if (pending->n_events >= PIPELINE_PENDING_MAX) {
                pending->n_dropped++;
                return 0;
        }
        if (ARRAY_RESERVE(pending->events, pending->n_events_allocated, pending->n_events + 1) < 0)
                return -ENOMEM;
        copy.name = strdup(event->name);
        if (!copy.name)
                return -ENOMEM;
        pending->events[pending->n_events++] = copy;
        return 0;
}

int pipeline_pending_describe(PipelinePending *pending, const char *producer, JsonText description) {
        char *copy = strndup(description.text, description.n);

        if (!copy)
                return -ENOMEM;
        free(pending->description);
        pending->description = copy;
        if (producer)
                (void)snprintf(pending->producer, sizeof(pending->producer), "%s", producer);
        return 0;
}

/* --- sending -------------------------------------------------------------------------------------- */

bool pipeline_pending_is_empty(const PipelinePending *pending) {
        return pending->n_intervals == 0 && pending->n_events == 0 && !pending->description;
}

PipelineReport pipeline_pending_report(PipelinePending *pending) {
        PipelineReport report = {
                .job = "",
                .producer = pending->producer,
                .intervals = pending->intervals,
                .n_intervals = MIN(pending->n_intervals, PIPELINE_REPORT_INTERVALS_MAX / N_PIPELINE_PARTS),
                .events = pending->events,
                .n_events = MIN(pending->n_events, PIPELINE_REPORT_EVENTS_MAX),
                .description = json_text(pending->description, pending->description ? strlen(pending->description) : 0),
        };

        if (pending->n_reported < report.n_intervals)
                pending->n_reported = report.n_intervals;
        return report;
}

void pipeline_pending_remove(PipelinePending *pending, const PipelineReport *sent) {
        assert(sent->n_intervals <= pending->n_intervals && sent->n_events <= pending->n_events);
        for (size_t i = 0; i < sent->n_intervals; i++)
                drop_interval(&pending->intervals[i]);
        for (size_t i = 0; i < sent->n_events; i++)
                drop_event(&pending->events[i]);
        pending->n_intervals -= sent->n_intervals;
        pending->is_merged = pending->is_merged && sent->n_intervals == 0;
        pending->n_reported -= MIN(pending->n_reported, sent->n_intervals);
        pending->n_events -= sent->n_events;
        if (pending->n_intervals > 0)
                memmove(pending->intervals, pending->intervals + sent->n_intervals,
                        pending->n_intervals * sizeof(*pending->intervals));
        if (pending->n_events > 0)
                memmove(pending->events, pending->events + sent->n_events,
                        pending->n_events * sizeof(*pending->events));
        if (sent->description.text) {
                free(pending->description);
                pending->description = NULL;
        }
}

void pipeline_pending_remove_refused(PipelinePending *pending, const PipelineReport *sent, const char *path) {
        size_t i;

        if (sscanf(path, "pipeline_report.stages[%zu]", &i) == 1 && i < sent->n_intervals) {
                drop_interval(&pending->intervals[i]);
                memmove(&pending->intervals[i], &pending->intervals[i + 1],
                        (--pending->n_intervals - i) * sizeof(*pending->intervals));
                pending->n_reported -= pending->n_reported > i;
        } else if (sscanf(path, "pipeline_report.events[%zu]", &i) == 1 && i < sent->n_events) {
                drop_event(&pending->events[i]);
                memmove(&pending->events[i], &pending->events[i + 1],
                        (--pending->n_events - i) * sizeof(*pending->events));
        } else if (strcmp(path, "pipeline_report.description") == 0) {
                free(pending->description);
                pending->description = NULL;
        } else {
                pipeline_pending_remove(pending, sent);
        }
}
