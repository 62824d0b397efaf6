/* SPDX-License-Identifier: Apache-2.0 */
#include "pipelines/live_pipelines.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/user_counts.h"
#include "util/array.h"

void live_pipelines_deinit(LivePipelines *live) {
        for (size_t i = 0; i < live->n; i++)
                free(live->jobs[i].series);
        free(live->jobs);
        *live = (LivePipelines){};
}

/* Returns the job, which is added if needed; NULL: out of memory. */
static LiveJob *find_job(LivePipelines *live, const char *id, uint32_t uid) {
        for (size_t i = 0; i < live->n; i++)
                if (strcmp(live->jobs[i].id, id) == 0)
                        return &live->jobs[i];

        if (ARRAY_RESERVE(live->jobs, live->n_allocated, live->n + 1) < 0)
                return NULL;
        live->jobs[live->n] = (LiveJob){ .uid = uid };
        (void)snprintf(live->jobs[live->n].id, sizeof(live->jobs->id), "%s", id);
        return &live->jobs[live->n++];
}

static size_t text_bytes(const char *job, const char *stage) {
        return strlen(job) + strlen(stage);
}

/*
 * Returns the job with the least recently updated series of the user with the most text, counting n_bytes for this user. *ret: index of the
 * series. NULL: that is this user.
 */
static LiveJob *find_victim(LivePipelines *live, uint32_t uid, size_t n_bytes, size_t *ret) {
        UserCounts counts = {};
        LiveJob *victim = NULL;

        user_counts_add(&counts, uid, (uint32_t)n_bytes);
        for (const LiveJob *job = live->jobs; job < live->jobs + live->n; job++)
                user_counts_add(&counts, job->uid, (uint32_t)job->n_bytes);
        if (user_counts_get(&counts, uid) == counts.n_most)
                return NULL;
        for (LiveJob *job = live->jobs; job < live->jobs + live->n; job++)
                for (size_t i = 0; user_counts_get(&counts, job->uid) == counts.n_most && i < job->n; i++)
                        if (!victim || job->series[i].used < victim->series[*ret].used) {
                                victim = job;
                                *ret = i;
                        }
        return victim;
}

static void remove_series(LivePipelines *live, LiveJob *job, size_t i) {
        size_t n_bytes = text_bytes(job->id, job->series[i].total.stage);

        assert(live->n_series > 0 && job->n_bytes >= n_bytes && live->n_bytes >= n_bytes);
        job->series[i] = job->series[--job->n];
        job->n_bytes -= n_bytes;
        job->is_cut = true;
        live->n_series--;
        live->n_bytes -= n_bytes;
}

/* Returns false if no place is left for a series of this user. */
static bool make_place(LivePipelines *live, uint32_t uid, size_t n_bytes) {
        while (live->n_series >= LIVE_SERIES_MAX || live->n_bytes + n_bytes > LIVE_TEXT_MAX) {
                size_t i = 0;
                LiveJob *victim = find_victim(live, uid, n_bytes, &i);

                if (!victim)
                        return false;
                remove_series(live, victim, i);
        }
        return true;
}

/* Returns the series, which is added if needed; NULL: out of memory, or the limit is reached. */
static LiveSeries *find_series(LivePipelines *live, LiveJob *job, int64_t row, const char *label, PipelinePart part) {
        size_t n_bytes = text_bytes(job->id, label);
        LiveSeries *series;

        for (size_t i = 0; i < job->n; i++)
                if (job->series[i].row == row)
                        return &job->series[i];

        if (!make_place(live, job->uid, n_bytes) || ARRAY_RESERVE(job->series, job->n_allocated, job->n + 1) < 0)
                return NULL;

        series = &job->series[job->n++];
        *series = (LiveSeries){ .row = row, .total = { .part = part } };
        (void)snprintf(series->total.job, sizeof(series->total.job), "%s", job->id);
        (void)snprintf(series->total.stage, sizeof(series->total.stage), "%s", label);
        job->n_bytes += n_bytes;
        live->n_series++;
        live->n_bytes += n_bytes;
        return series;
}

void live_pipelines_update(LivePipelines *live, const RowSet *stored, uint32_t uid) {
        const StoredSeries *from = pipeline_rows_series(stored);
        PipelineWalk walk = pipeline_rows_walk(stored);
        LiveJob *job = find_job(live, pipeline_rows_job(stored), uid);
        PipelineInterval interval;

        for (; job && pipeline_rows_next(&walk, &interval); from++) {
                LiveSeries *series = from->row > 0 ? find_series(live, job, from->row, interval.stage, interval.part) : NULL;

                if (series) {
                        series->total.sums = from->sums;
                        series->used = ++live->n_uses;
                }
                job->is_cut |= from->row > 0 && !series;
        }
        if (job) {
                job->n_stored = pipeline_rows_stored(stored)->n_series;
                job->is_cut &= job->n < job->n_stored;
        }
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
                assert(live->n_series >= job->n && live->n_bytes >= job->n_bytes);
                live->n_series -= job->n;
                live->n_bytes -= job->n_bytes;
                live->version++;
                free(job->series);
        }
        live->n = n;
}

size_t live_pipelines_left_out(const LivePipelines *live) {
        size_t n = 0;

        for (size_t i = 0; i < live->n; i++)
                if (live->jobs[i].is_cut && live->jobs[i].n_stored > live->jobs[i].n)
                        n += live->jobs[i].n_stored - live->jobs[i].n;
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
