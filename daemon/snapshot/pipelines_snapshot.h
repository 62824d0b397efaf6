/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* PipelinesSnapshot: the data pipelines' part of a Snapshot: totals of the stages of jobs that are in /metrics. */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"
#include "pipeline/pipeline_report.h"

/* Totals of a part of a stage since the job began. */
typedef struct PipelineTotal {
        char job[JOB_ID_MAX];
        char stage[PIPELINE_LABEL_MAX + 1];
        PipelinePart part;
        PipelineSums sums;
} PipelineTotal;

/* Counters since start, except for the last. */
typedef struct PipelinesStats {
        uint64_t n_intervals, n_repeated, n_rejected; /* stored; sent again; of stages beyond the limit of a job */
        uint64_t n_left_out;                          /* parts of stages that are not in /metrics now */
} PipelinesStats;

typedef struct PipelinesSnapshot {
        PipelineTotal *totals; /* owned; those of a job are together */
        size_t n, n_allocated;
        uint64_t version;      /* of the totals */
        PipelinesStats stats;
} PipelinesSnapshot;

void pipelines_snapshot_deinit(PipelinesSnapshot *pipelines);
