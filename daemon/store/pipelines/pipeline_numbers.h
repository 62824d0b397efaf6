/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline numbers: what derived numbers can use of a job's data pipelines
 *
 * A pipeline is an object with its stages by name: {"decode": {"busy_share": 0.97, …}, "sink": {"wait_share": 0.17, …}}. For the writer.
 */

#include "json/json.h"
#include "pipeline/pipeline_stage.h"
#include "store/database/database.h"

/* Derived numbers are not computed for a job with more stages: the writer, and then the loop, would need seconds for its results. */
#define PIPELINE_NUMBERS_STAGES_MAX 200

/* Stages of all pipelines of a job, in order. */
typedef struct PipelineNumbers {
        PipelineStage *stages; /* owned */
        size_t n;
} PipelineNumbers;

void pipeline_numbers_deinit(PipelineNumbers *numbers);
/* Reads the stages of a job; the first interval of a stage is left out as in the diagnosis. job: its id. 0 or an outcome of database.h. */
int pipeline_numbers_read(Database *database, Field job, PipelineNumbers *ret);
/* Writes the list of the pipelines. */
void pipeline_numbers_write(const PipelineNumbers *numbers, Json *json);
/* Writes the first pipeline; {} if there is none. */
void pipeline_numbers_write_first(const PipelineNumbers *numbers, Json *json);
