/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Doubt: statistics of a pipeline that contradict each other
 *
 * Each number alone is possible, as pipeline_report.h and pipeline_set.h check. Together they show that a producer
 * counts something else than its names say, and a verdict would be about nothing.
 */

#include "pipeline/pipeline_diagnosis.h"

#define PIPELINE_DOUBT_MAX 512U

/*
 * Writes the numbers that contradict each other most, such as "the times of decode add up to 900 workers, and it has a
 * concurrency of 2"; nothing if there are none. stages: of one pipeline, in order. Returns the highest confidence that
 * a verdict may have: none if nothing can be concluded.
 */
PipelineConfidence pipeline_doubt_find(const PipelineStage *stages, size_t n, const PipelineProcess *process,
                                       const PipelineJob *job, char ret[static PIPELINE_DOUBT_MAX]);
