/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Live pipelines: totals of the stages of running jobs, for /metrics
 *
 * A copy of the totals in the store, taken from its completions: after a restart, a stage appears with its next interval, and its totals
 * continue.
 * The number and the text of series are limited: a further one takes the place of the least recently updated series of the user with the
 * most text. The user with the most text gets no further place: the series of this user would otherwise replace each other with each
 * report.
 */

#include "snapshot/snapshot.h"
#include "store/pipelines/pipeline_rows.h"

#define LIVE_SERIES_MAX 400U   /* of all jobs: parts of stages in /metrics */
#define LIVE_TEXT_MAX   32768U /* bytes of their labels, each of which appears up to six times in /metrics */

typedef struct LiveSeries {
        int64_t row;   /* in the store */
        uint64_t used; /* sequence number of the last update */
        PipelineTotal total;
} LiveSeries;

typedef struct LiveJob {
        char id[JOB_ID_MAX];
        uint32_t uid; /* of its user */
        LiveSeries *series; /* owned */
        size_t n, n_allocated;
        size_t n_bytes;  /* text of the series */
        size_t n_stored; /* series in the store, at the last report */
        bool is_cut;     /* a series has no place because of the limit */
} LiveJob;

typedef struct LivePipelines {
        LiveJob *jobs; /* owned */
        size_t n, n_allocated;
        size_t n_series;  /* of all jobs */
        size_t n_bytes;   /* text of these series */
        uint64_t version; /* changes with the totals */
        uint64_t n_uses;
} LivePipelines;

void live_pipelines_deinit(LivePipelines *live);
/* Takes the new totals of a stored report of a job of this user. Out of memory: totals are missing from /metrics. */
void live_pipelines_update(LivePipelines *live, const RowSet *stored, uint32_t uid);
/* Removes the jobs for which is_shown() returns false. */
void live_pipelines_forget(LivePipelines *live, bool (*is_shown)(const void *userdata, const char *job), const void *userdata);
/* Returns the number of series that are left out because of the limit. */
size_t live_pipelines_left_out(const LivePipelines *live);
/* Copies the totals if they have changed. 0 or -ENOMEM. */
int live_pipelines_publish(const LivePipelines *live, PipelinesSnapshot *ret);
