/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline report: intervals of the stages of a data pipeline, as a producer sends them
 *
 * The tasks of a stage and the queue at its exit are measured apart, often with different ends: each is a part of
 * the stage, with intervals of its own. An interval holds sums, so that merging two of them is an addition.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json_text.h"
#include "pipeline/pipeline_stage.h"

#define PIPELINE_LABEL_MAX 160U          /* bytes of a stage's label: position, name and concurrency */
#define PIPELINE_EVENT_NAME_MAX 64U      /* bytes */
#define PIPELINE_PRODUCER_MAX 64U        /* bytes */
#define PIPELINE_REPORT_INTERVALS_MAX 2000U /* of one report */
#define PIPELINE_REPORT_EVENTS_MAX 1000U
#define PIPELINE_SECONDS_MAX 1e9 /* of an interval or a call */
#define PIPELINE_DESCRIPTION_MAX 65536U  /* bytes */

typedef enum PipelinePart {
        PIPELINE_TASKS,
        PIPELINE_QUEUE,
        N_PIPELINE_PARTS,
} PipelinePart;

/* Sums over an interval, or over several. Times in seconds. */
typedef struct PipelineSums {
        double elapsed_s;
        double n;          /* tasks completed, or items taken out of the queue */
        double n_failures; /* of the tasks */
        double time_s;     /* of the tasks that succeeded, or for which calls of put were blocked */
        double get_s;      /* for which calls of get were blocked */
        double ready_s;    /* with an item in the queue */
        double judged_s;   /* time of which ready_s is a part; 0: the readiness is not known */
} PipelineSums;

/* Percentiles of the times of an interval; of merged intervals, the largest. 0: not measured. */
typedef struct PipelinePercentiles {
        double p90_s, p99_s; /* of tasks, or of put */
        double get_p90_s, get_p99_s;
} PipelinePercentiles;

typedef struct PipelineInterval {
        const char *stage; /* label; borrowed */
        PipelinePart part;
        uint64_t end_ms;   /* Unix time; 0: time of arrival */
        uint32_t buffer_size; /* of the queue; 0: unknown */
        PipelineSums sums;
        PipelinePercentiles percentiles;
} PipelineInterval;

/* Name of the event of the first batch of a training loop: from the loop's request for the batch until its arrival. */
#define PIPELINE_EVENT_FIRST_BATCH "first_batch"

typedef struct PipelineEvent {
        const char *name; /* borrowed */
        uint64_t begin_ms; /* Unix time; 0: it ended at the time of arrival */
        double seconds;
} PipelineEvent;

/* All texts are borrowed. */
typedef struct PipelineReport {
        const char *job;       /* "": the job of the sender */
        bool is_job_inherited; /* `job` is from $PERFD_JOB; the cgroup may determine another job */
        const char *producer;  /* "": unknown */
        PipelineInterval *intervals;
        size_t n_intervals;
        PipelineEvent *events;
        size_t n_events;
        JsonText description;  /* an object; empty: the description is kept */
} PipelineReport;

/* Label of a stage: n bytes of a text. */
#define PIPELINE_LABEL_EXPECTED                                                                                        \
        "PIPELINE:POSITION:NAME[CONCURRENCY] or POSITION:NAME, with a name of 1 to 127 bytes without control "         \
        "characters"
bool pipeline_report_label_is_valid(const char *label, size_t n);

/* A number that a producer may send: its name in each part, NULL if the part has none, and the largest possible. */
typedef struct PipelineNumber {
        const char *names[N_PIPELINE_PARTS];
        size_t offset; /* of the double in PipelineInterval */
        double max;
} PipelineNumber;

#define N_PIPELINE_NUMBERS 10U
extern const PipelineNumber pipeline_report_numbers[N_PIPELINE_NUMBERS];

/* A number that cannot be true. */
typedef struct ImpossibleNumber {
        const char *name; /* NULL: there is none */
        double value, max; /* expected: 0 to max */
} ImpossibleNumber;

/*
 * Turns the numbers of a producer into sums: in place of a sum, time_s and get_s have the mean, and ready_s the share,
 * NAN if it is not known. counts_open_periods: as below. Returns the first number that cannot be true.
 */
ImpossibleNumber pipeline_report_take(PipelineInterval *interval, bool counts_open_periods);

/* Adds `later` to `sums`. */
void pipeline_report_add_sums(PipelineSums *sums, const PipelineSums *later);

/* Subtracts the first of at least PIPELINE_INTERVALS_MIN intervals, in which a pipeline fills its queues. Of a
 * producer that ends the first interval at the first batch, it is left out of two intervals, too. */
#define PIPELINE_INTERVALS_MIN 3U
void pipeline_report_drop_first(PipelineSums *sums, const PipelineSums *first, uint64_t n_intervals,
                                bool is_start_known);

/* Fills the tasks or the queue of a stage with sums. n_last: tasks or items of the newest interval. */
void pipeline_report_set_stage(PipelineStage *stage, PipelinePart part, const PipelineSums *sums, double n_last);

/*
 * True if the producer's readiness of an interval without items is right: "spdl 0.8" and later, and every other
 * library. SPDL before 0.8 counts an empty queue as ready until the next item comes. An unknown producer, "", is
 * treated as such an SPDL.
 */
bool pipeline_report_counts_open_periods(const char *producer);
