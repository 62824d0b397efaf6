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

/* Returns what the job used. Jobs without a cgroup of their own have no numbers. */
PipelineJob verdict_json_read_job(const FoundJob *job);
/* Searches the intervals of the tasks of the job for changes within the run. 0 or EXCHANGE_ANSWERED. */
int verdict_json_find_changes(const Target *target, const Sources *sources, Response *response,
                              PipelineChanges *ret);
/* Writes "verdicts". n_threads: as of pipeline_verdict_next(). changes: NULL: not searched for. */
void verdict_json_put(Json *json, const PipelineSet *set, unsigned n_threads, const PipelineChanges *changes);
