/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdict: the diagnosis of a pipeline in sentences, as a table and as JSON
 */

#include "client/cli/grid.h"
#include "client/pipeline/stage_set.h"
#include "json/json.h"
#include "pipeline/pipeline_diagnosis.h"

typedef struct VerdictPipeline {
        const PipelineStage *stages; /* borrowed; of one pipeline, in order */
        size_t n;
        PipelineProcess process;
        SlowWorker slow;             /* of the limiting stage */
        PipelineDiagnosis diagnosis;
        PipelineJob job;
} VerdictPipeline;

/*
 * Returns the next pipeline of a set, diagnosed; false: there is none. *at: first 0. n_threads: 0 for those of the
 * set. Stages are borrowed.
 */
bool verdict_next(const StageSet *set, unsigned n_threads, size_t *at, VerdictPipeline *ret);

/* Returns the time for which the training loop waited for data, in seconds; NAN: unknown. */
double verdict_waited_s(const VerdictPipeline *pipeline);
/* Writes the headline and the verdict with the known facts of the job, each a line without its end. Names of stages
 * are not escaped. */
void verdict_write_headline(const VerdictPipeline *pipeline, Buffer *out);
void verdict_write_sentence(const VerdictPipeline *pipeline, Buffer *out);
/* Adds a row for each stage to a grid with the columns VERDICT_HEADS. */
#define VERDICT_HEADS "STAGE|>WORKERS|>BUSY|>STARVED|>BLOCKED|>TIME|>ITEMS/S|>READY|>FAILED"
void verdict_fill_grid(const VerdictPipeline *pipeline, Grid *grid);
/* Writes the members of an open object. */
void verdict_put_members(const VerdictPipeline *pipeline, Json *json);
