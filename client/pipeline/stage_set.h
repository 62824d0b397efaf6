/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stage set: the stages of data pipelines with sums over a run, and their job
 *
 * Of a part of a stage with three or more intervals, the first does not count: the queues fill in it. If the time of
 * the first batch is known, it is left out of two as well.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/pipeline/pipeline_line.h"
#include "pipeline/pipeline_diagnosis.h"
#include "pipeline/pipeline_stage.h"
#include "util/buffer.h"
#include "value/value.h"

#define STAGE_SET_THREADS_MAX 65536U

/* A worker of a stage whose tasks take longer than those of the others. Items that leave in order wait for it. */
typedef struct SlowWorker {
        unsigned pipeline, order; /* of its stage */
        size_t index, n;          /* n: workers of the stage; 0: none is slow */
        double mean_s, median_s;  /* time of its tasks, and the median of all workers */
} SlowWorker;

typedef struct StageSet {
        PipelineStage *stages; /* owned; in the order of pipeline and position */
        size_t n;
        PipelineProcess process;
        unsigned process_pipeline; /* the pipeline to which the pools of the process belong */
        SlowWorker slow;
        PipelineJob job;       /* job of the pipelines */
        bool has_job;
        double first_batch_ms; /* Unix time at which a training loop first asked for a batch; 0: unknown */
} StageSet;

void stage_set_deinit(StageSet *set);

/* Reads the stages in the answer of /api/v1/jobs/{id}/pipeline. 0 or -ENOMEM. Call stage_set_deinit() in all cases. */
int stage_set_read_answer(const Value *answer, StageSet *ret);
/*
 * Adds the usage of the job and of its node from the answer of /api/v1/jobs/{id}. Jobs without a cgroup of their own
 * have no numbers of the job.
 */
void stage_set_join_job(StageSet *stages, const Value *job);

/*
 * Reads the stages in lines of pipeline_line.h. counts_open_periods: as of pipeline_report_counts_open_periods(),
 * until a line names the producer. Returns 0, PIPELINE_LINE_INVALID, with the number of the line and the error, or a
 * negative errno. Call stage_set_deinit() in all cases.
 */
int stage_set_read_lines(StageSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                         unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]);
