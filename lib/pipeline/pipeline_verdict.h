/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdict: the diagnosis of a pipeline in sentences and as JSON
 */

#include "json/json.h"
#include "pipeline/pipeline_comparison.h"
#include "pipeline/pipeline_diagnosis.h"
#include "pipeline/pipeline_doubt.h"
#include "pipeline/pipeline_set.h"

typedef struct PipelineVerdict {
        const PipelineStage *stages; /* borrowed; of one pipeline, in order */
        size_t n;
        PipelineProcess process;
        bool is_described;           /* the description of the producer is of this pipeline, or of one like it */
        bool waits_elsewhere;        /* the training loop waits longer for something else than for this pipeline */
        const PipelineLoader *loader; /* borrowed; NULL: another pipeline */
        SlowWorker slow;             /* of the limiting stage */
        SharedWait shared;           /* of the limiting stage; .enough: 0 if its tasks do not wait for each other */
        PipelineConfidence most;     /* less than high: the statistics contradict each other ... */
        char doubt[PIPELINE_DOUBT_MAX]; /* ... in these numbers */
        PipelineDiagnosis diagnosis;
        PipelineJob job;
        PipelineComparison comparison; /* with earlier runs */
        bool has_advice_of_runs;       /* direction and confidence are those of the comparison */
} PipelineVerdict;

/*
 * Returns the next pipeline of a set, diagnosed; false: there is none. *at: first 0. n_threads: 0 for those of the
 * set. Stages are borrowed.
 */
bool pipeline_verdict_next(const PipelineSet *set, unsigned n_threads, size_t *at, PipelineVerdict *ret);
/*
 * Joins the verdict with the earlier runs of the pipeline, the newest first: what a change of the concurrency or of a
 * buffer did is known, not likely. The jobs of the runs are borrowed.
 */
void pipeline_verdict_compare(PipelineVerdict *verdict, const ComparedRun *earlier, size_t n_earlier);
/* Writes the members of an open object, with the sentences. Members that are not known are null. */
void pipeline_verdict_put(const PipelineVerdict *verdict, Json *json);
