/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdicts about the data pipelines of a job as JSON
 *
 * They are made for each request: those of a running job change with every interval.
 */

#include "http/jobs/job_lookup.h"
#include "json/json.h"
#include "pipeline/pipeline_changes.h"
#include "pipeline/pipeline_verdict.h"

/* The pipelines of a job and of its earlier runs: those of its user, with its name and rank. */
typedef struct PipelineRuns {
        PipelineSet set;         /* of the job */
        bool has_changes;        /* changes within the run were searched for */
        PipelineChanges changes;
        PipelineSet earlier[PIPELINE_COMPARISON_RUNS_MAX]; /* newest first */
        char jobs[PIPELINE_COMPARISON_RUNS_MAX][JOB_ID_MAX];
        size_t n_earlier;
} PipelineRuns;

void verdict_json_deinit(PipelineRuns *runs);
/*
 * Reads the pipelines of a job, which may be a row of the reader: the row is not valid afterwards. 0, an outcome of
 * reader.h, or -ENOMEM.
 */
int verdict_json_read(Reader *reader, const FoundJob *job, bool has_changes, PipelineRuns *ret);
/* Writes "verdicts". n_threads: as of pipeline_verdict_next(). */
void verdict_json_put(Json *json, const PipelineRuns *runs, unsigned n_threads);
