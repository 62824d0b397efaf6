/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline set: the stages of the data pipelines of a process with sums over a run, and what is known of the process
 * and its job
 *
 * Of a part of a stage with three or more intervals, the first does not count: the queues fill in it. If the time of
 * the first batch is known, it is left out of two as well.
 */

#include <stddef.h>

#include "json/json_text.h"
#include "pipeline/pipeline_diagnosis.h"
#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_stage.h"
#include "value/value.h"

#define PIPELINE_SET_THREADS_MAX 65536U

/* A worker of a stage whose tasks take longer than those of the others. Items that leave in order wait for it. */
typedef struct SlowWorker {
        unsigned pipeline, order; /* of its stage */
        size_t index, n;          /* n: workers of the stage; 0: none is slow */
        double mean_s, median_s;  /* time of its tasks, and the median of all workers */
} SlowWorker;

/*
 * Tasks of a stage that wait for each other, for example for a lock, for connections, or for a limit of the storage.
 * Of the first tasks of the stage, each took longer the more of them ran at once.
 */
typedef struct SharedWait {
        unsigned pipeline, order;  /* of its stage */
        unsigned enough;           /* tasks at once that reach nearly the highest throughput; 0: it is not sure */
        double alone_s, together_s; /* time of a task that runs alone, and beside all others */
} SharedWait;

#define PIPELINE_LOADERS_MAX 64U

/* A loader of PyTorch. */
typedef struct PipelineLoader {
        unsigned pipeline;
        double waited_s;             /* for the first batches of all epochs but the first, whose workers started anew */
        double cpus, waiting_for_cpu; /* as of PipelineProcess, for its tasks */
} PipelineLoader;

typedef struct PipelineSet {
        PipelineStage *stages; /* owned; in the order of pipeline and position */
        size_t n;
        PipelineProcess process;
        unsigned process_pipeline; /* the pipeline to which the pools of the process belong */
        SlowWorker slow;
        SharedWait shared[PIPELINE_POOLS_MAX];
        size_t n_shared;
        ImpossibleNumber impossible; /* the first of the description */
        PipelineLoader loaders[PIPELINE_LOADERS_MAX];
        size_t n_loaders;
        PipelineJob job;       /* job of the pipelines */
} PipelineSet;

/* Makes an empty set of an unknown process and job. */
void pipeline_set_init(PipelineSet *set);
void pipeline_set_deinit(PipelineSet *set);

/*
 * Reads the process from the description of a producer. A description is what the producer chose to send: members of
 * another type, and numbers that cannot be true, are not known. 0 or -ENOMEM.
 */
int pipeline_set_read_description(PipelineSet *set, JsonText description);
/* Returns the first number of a description that cannot be true, such as a share above 1. */
ImpossibleNumber pipeline_set_check_description(const Value *description);
