/* SPDX-License-Identifier: Apache-2.0 */
#include "pipelines/live_pipelines.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void live_pipelines_deinit(LivePipelines *live) {
        for (size_t i = 0; i < live->n; i++)
                free(live->jobs[i].series);
        free(live->jobs);
        *live = (LivePipelines){};
}

/* Returns the job, which is added if needed; NULL: out of memory. */
static LiveJob *find_job(LivePipelines *live, const char *id) {
        for (size_t i = 0; i < live->n; i++)
                if (strcmp(live->jobs[i].id, id) == 0)
                        return &live->jobs[i];

        if (ARRAY_RESERVE(live->jobs, live->n_allocated, live->n + 1) < 0)
                return NULL;
        live->jobs[live->n] = (LiveJob){};
        (void)snprintf(live->jobs[live->n].id, sizeof(live->jobs->id), "%s", id);
        return &live->jobs[live->n++];
}

/* Returns the series, which is added if needed; NULL: out of memory, or the limits are reached. */
static LiveSeries *find_series(LivePipelines *live, LiveJob *job, int64_t row, const char *label, PipelinePart part) {
        LiveSeries *series;

        for (size_t i = 0; i < job->n; i++)
                if (job->series[i].row == row)
                        return &job->series[i];

        if (job->n == LIVE_JOB_SERIES_MAX || live->n_series == LIVE_SERIES_MAX ||
            ARRAY_RESERVE(job->series, job->n_allocated, job->n + 1) < 0)
                return NULL;

        series = &job->series[job->n++];
        *series = (LiveSeries){ .row = row, .total = { .part = part } };
        (void)snprintf(series->total.job, sizeof(series->total.job), "%s", job->id);
        (void)snprintf(series->total.stage, sizeof(series->total.stage), "%s", label);
        live->n_series++;
        return series;
}

void live_pipelines_update(LivePipelines *live, const RowSet *stored) {
        const StoredSeries *from = pipeline_rows_series(stored);
        PipelineWalk walk = pipeline_rows_walk(stored);
        LiveJob *job = find_job(live, pipeline_rows_job(stored));
        PipelineInterval interval;
        size_t n_left_out = 0;

        for (; job && pipeline_rows_next(&walk, &interval); from++) {
                LiveSeries *series = from->row > 0 ? find_series(live, job, from->row, interval.stage, interval.part) : NULL;

                if (series)
                        series->total.sums = from->sums;
                n_left_out += from->row > 0 && !series;
        }
        if (job && n_left_out > job->n_left_out)
                job->n_left_out = n_left_out;
        live->version++;
}

void live_pipelines_forget(LivePipelines *live, bool (*is_shown)(const void *userdata, const char *job), const void *userdata) {
        size_t n = 0;

        for (size_t i = 0; i < live->n; i++) {
                LiveJob *job = &live->jobs[i];

                if (is_shown(userdata, job->id)) {
                        live->jobs[n++] = *job;
                        continue;
                }
                assert(live->n_series >= job->n);
                live->n_series -= job->n;
                live->version++;
                free(job->series);
        }
        live->n = n;
}

size_t live_pipelines_left_out(const LivePipelines *live) {
        size_t n = 0;

        for (size_t i = 0; i < live->n; i++)
                n += live->jobs[i].n_left_out;
        return n;
}

int live_pipelines_publish(const LivePipelines *live, PipelinesSnapshot *ret) {
        int r;

        if (ret->version == live->version)
                return 0;
        r = ARRAY_RESERVE(ret->totals, ret->n_allocated, live->n_series);
        if (r < 0)
                return r;

        ret->n = 0;
        for (size_t i = 0; i < live->n; i++)
                for (size_t k = 0; k < live->jobs[i].n; k++)
                        ret->totals[ret->n++] = live->jobs[i].series[k].total;
        assert(ret->n == live->n_series);
        ret->version = live->version;
        return 0;
}
