/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Live pipelines: totals of the stages of running jobs, for /metrics
 *
 * A copy of the totals in the store, taken from its completions: after a restart, a stage appears with its next interval, and its totals
 * continue.
 */

#include "snapshot/pipelines_snapshot.h"
#include "store/pipelines/pipeline_rows.h"

#define LIVE_JOB_SERIES_MAX 400U /* of one job: parts of stages in /metrics */
#define LIVE_SERIES_MAX 4000U    /* of all jobs */

typedef struct LiveSeries {
        int64_t row; /* in the store */
        PipelineTotal total;
} LiveSeries;

typedef struct LiveJob {
        char id[JOB_ID_MAX];
        LiveSeries *series; /* owned */
        size_t n, n_allocated;
        size_t n_left_out;
} LiveJob;

typedef struct LivePipelines {
        LiveJob *jobs; /* owned */
        size_t n, n_allocated;
        size_t n_series;  /* of all jobs */
        uint64_t version; /* changes with the totals */
} LivePipelines;

void live_pipelines_deinit(LivePipelines *live);
/* Takes the new totals of a stored report. Out of memory: totals are missing from /metrics. */
void live_pipelines_update(LivePipelines *live, const RowSet *stored);
/* Removes the jobs for which is_shown() returns false. */
void live_pipelines_forget(LivePipelines *live, bool (*is_shown)(const void *userdata, const char *job), const void *userdata);
/* Returns the number of series that are left out because of the limits. */
size_t live_pipelines_left_out(const LivePipelines *live);
/* Copies the totals if they have changed. 0 or -ENOMEM. */
int live_pipelines_publish(const LivePipelines *live, PipelinesSnapshot *ret);
