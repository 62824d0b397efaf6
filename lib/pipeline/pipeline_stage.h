/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stage: statistics of one stage of a data pipeline
 *
 * A stage has tasks, which its workers run, and a queue at its exit. Intervals are kept as sums, so that merging two
 * of them is an addition and has the right weights: successes for the task time, elapsed time for the readiness,
 * items for the put and get time.
 */

#include <stdbool.h>
#include <stddef.h>

#define PIPELINE_STAGE_NAME_MAX 127U

typedef struct StageTasks {
        bool is_known;         /* false: the stage has no tasks, or their statistics are missing */
        double elapsed_s;      /* measured time; 0: that of the queue */
        double n, n_failures;  /* completed invocations, and failed invocations among them */
        double success_time_s; /* sum over the successful invocations */
} StageTasks;

typedef struct StageQueue {
        bool is_known;
        double elapsed_s;         /* measured time */
        double n_gets;            /* items that the next stage took */
        double put_s, get_s;      /* sums of the times that calls were blocked */
        double n_last;            /* gets in the newest interval */
        unsigned buffer_size;     /* 0: unknown */
        double ready_s, judged_s; /* time with an item in the queue, and the time of which this is a part; 0: no data */
} StageQueue;

typedef struct PipelineStage {
        char name[PIPELINE_STAGE_NAME_MAX + 1];
        unsigned pipeline, order; /* position: stages of a pipeline are in ascending order */
        unsigned concurrency;     /* as declared; 0: not declared */
        StageTasks tasks;
        StageQueue queue;
} PipelineStage;

/*
 * Parses the identity that SPDL gives to a stage, "0:1:decode[4]" or "1:decode": pipeline, order, name and declared
 * concurrency. label: not NUL-terminated. Returns false if the label has no order, or an empty or too long name.
 */
bool pipeline_stage_parse(PipelineStage *stage, const char *label, size_t n);

/* Orders stages by pipeline and position, for qsort(). */
int pipeline_stage_compare(const void *a, const void *b);

/* Returns successes' mean time, NAN if there was none. */
double pipeline_stage_mean_time(const PipelineStage *stage);
/* Returns items per second that left the queue, NAN if no time elapsed. */
double pipeline_stage_rate(const PipelineStage *stage);
/* Returns the share of tasks that failed, 0 without tasks. */
double pipeline_stage_failure_ratio(const PipelineStage *stage);

typedef enum PipelineReadiness {
        PIPELINE_READINESS_NO_DATA, /* no item was ever in the queue, or the producer does not report readiness */
        PIPELINE_READINESS_STALLED, /* items left the queue before, but none in the newest interval */
        PIPELINE_READINESS_KNOWN,
} PipelineReadiness;

/* *ret: share of the time with an item in the queue, 0…1, written for PIPELINE_READINESS_KNOWN only. It compares the
 * two sides of this queue; readiness of different queues cannot be compared. */
PipelineReadiness pipeline_stage_readiness(const PipelineStage *stage, double *ret);
