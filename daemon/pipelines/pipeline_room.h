/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline room: the subsystem for data pipelines
 *
 * Stores the reports of the pipelines' producers and keeps the totals of running jobs for /metrics.
 */

#include "desk/desk.h"
#include "jobs/identity.h"
#include "snapshot/snapshot.h"
#include "store/pipelines/pipeline_rows.h"

/*
 * Live pipelines: totals of the stages of running jobs, for /metrics
 *
 * A copy of the totals in the store, taken from its completions: after a restart, a stage appears with its next
 * interval, and its totals continue. The number and the text of series are limited: a further one takes the place of
 * the least recently updated series of the user with the most text. The user with the most text gets no further
 * place: the series of this user would otherwise replace each other with each report.
 */

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

typedef struct PipelineRoom {
        Store *store;       /* borrowed, like the next two */
        Identity *identity;
        const Jobs *jobs;
        LivePipelines live;
        PipelinesStats stats;
} PipelineRoom;

/* All arguments are borrowed until pipeline_room_deinit(). */
void pipeline_room_init(PipelineRoom *room, Store *store, Identity *identity, const Jobs *jobs);
void pipeline_room_deinit(PipelineRoom *room);

extern const Kind pipeline_room_kinds[1];

/* Fills the pipelines' part of a snapshot. 0 or -ENOMEM. */
int pipeline_room_publish(PipelineRoom *room, PipelinesSnapshot *ret);
