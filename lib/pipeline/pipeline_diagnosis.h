/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnosis: the part of a data pipeline that limits the throughput, and a remedy
 *
 * Evidence is the time of workers only: the stage whose workers neither wait for items nor for room is the limit. The readiness of
 * different queues is not compared.
 */

#include "pipeline/pipeline_accounting.h"

typedef enum PipelineLimit {
        PIPELINE_LIMIT_UNKNOWN,  /* the statistics do not show it */
        PIPELINE_LIMIT_CONSUMER, /* the training loop: the pipeline keeps up with it */
        PIPELINE_LIMIT_SOURCE,   /* the first stage waits for the source */
        PIPELINE_LIMIT_STAGE,    /* the workers of a stage are busy */
        PIPELINE_LIMIT_POOL,     /* tasks of all stages fill the threads that they share */
        PIPELINE_LIMIT_CPU,      /* tasks use the CPUs that the job has, and more tasks run than there are CPUs */
        PIPELINE_LIMIT_LOCK,     /* many tasks run, but together they use one CPU, as with a lock of the interpreter */
        PIPELINE_LIMIT_HANDOVER, /* the consumer waits although the last stage is blocked on put: items wait in between */
        PIPELINE_LIMIT_HOST,     /* other processes on the node use CPUs that the tasks of the job wait for */
        N_PIPELINE_LIMITS,
} PipelineLimit;

typedef enum PipelineDirection {
        PIPELINE_DIRECTION_NONE,
        PIPELINE_DIRECTION_MORE_CONCURRENCY,
        PIPELINE_DIRECTION_LESS_CONCURRENCY,
        PIPELINE_DIRECTION_FASTER_TASK, /* the stage cannot have more than one worker */
        PIPELINE_DIRECTION_FASTER_SOURCE,
        PIPELINE_DIRECTION_MORE_THREADS,
        PIPELINE_DIRECTION_LARGER_BUFFER,
        PIPELINE_DIRECTION_MORE_CPUS,  /* a higher limit of the job */
        PIPELINE_DIRECTION_OTHER_HOST, /* or less other work on this one */
        N_PIPELINE_DIRECTIONS,
} PipelineDirection;

typedef enum PipelineConfidence {
        PIPELINE_CONFIDENCE_NONE,
        PIPELINE_CONFIDENCE_LOW,
        PIPELINE_CONFIDENCE_MEDIUM,
        PIPELINE_CONFIDENCE_HIGH,
        N_PIPELINE_CONFIDENCES,
} PipelineConfidence;

/* Names as in JSON, for example "stage", "more concurrency", "high". */
extern const char *const pipeline_limit_names[N_PIPELINE_LIMITS];
extern const char *const pipeline_direction_names[N_PIPELINE_DIRECTIONS];
extern const char *const pipeline_confidence_names[N_PIPELINE_CONFIDENCES];

typedef struct PipelineDiagnosis {
        PipelineLimit limit;
        PipelineDirection direction;
        PipelineConfidence confidence;
        size_t stage;      /* index of the limiting stage; n if the limit is none */
        size_t next_stage; /* index of the stage that limits next if this one is relieved; n: none known */
        double wait_share; /* of the elapsed time: the consumer waited in get of the last queue; NAN: unknown */
        bool is_wait_bound; /* the consumer waited at most so long: its calls of get were not measured, only that the queue was empty */
        double mean_wait_s; /* per item; NAN: unknown */
        double busy_workers; /* tasks of all stages that ran, or waited for a thread, mean over time */
} PipelineDiagnosis;

/*
 * stages: of one pipeline, in order, the last one's queue feeds the consumer. n_threads: size of the thread pool that the stages share; 0:
 * not known.
 */
PipelineDiagnosis pipeline_diagnosis_of(const PipelineStage *stages, size_t n, unsigned n_threads);
