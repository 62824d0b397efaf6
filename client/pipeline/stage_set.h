/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stage set: the stages of data pipelines with sums over a run, and their job
 */

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/pipeline_diagnosis.h"
#include "pipeline/pipeline_stage.h"

#define STAGE_SET_THREADS_MAX 65536U

typedef struct StageSet {
        PipelineStage *stages; /* owned; in the order of pipeline and position */
        size_t n;
        unsigned n_threads;    /* of the pool that the stages share; 0: not known */
        PipelineJob job;       /* job of the pipelines */
        bool has_job;
        double first_batch_ms; /* Unix time at which a training loop first asked for a batch; 0: unknown */
} StageSet;

void stage_set_deinit(StageSet *set);
