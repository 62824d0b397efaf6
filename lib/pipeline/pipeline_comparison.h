/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Comparison: what a change of a stage's concurrency or buffer did, from earlier runs of the same pipeline
 *
 * Runs are compared by the items that leave the last queue per second. A run whose stages differ in anything else, or
 * whose stages share another number of threads, is another pipeline. Differences below a tenth may be chance.
 */

#include <stdbool.h>
#include <stddef.h>

#include "json/json.h"
#include "pipeline/pipeline_stage.h"

#define PIPELINE_COMPARISON_RUNS_MAX 16U

/* A pipeline in an earlier run. */
typedef struct ComparedRun {
        const char *job;             /* id; borrowed */
        const PipelineStage *stages; /* borrowed */
        size_t n;
        unsigned n_threads;          /* that the stages share; 0: not known */
} ComparedRun;

/* A value that was tried, and items per second. */
typedef struct ComparedValue {
        unsigned value;
        double rate;
} ComparedValue;

typedef struct PipelineComparison {
        size_t n_changes; /* numbers that differ from the newest run that differs; 0: there is none */
        const char *job;  /* id of that run; borrowed */
        size_t stage;     /* of the first change */
        bool is_buffer;   /* the size of the queue at the exit of the stage has changed, not the concurrency */
        unsigned before, now;
        double rate_before, rate_now;
        /* ascending; of the runs that differ from this one in this number only, and of this run */
        ComparedValue tried[PIPELINE_COMPARISON_RUNS_MAX + 1];
        size_t n_tried;
        unsigned best; /* value to use or to try next; 0: not known, as several numbers have changed */
} PipelineComparison;

/* Compares a run with earlier ones, the newest first. At most PIPELINE_COMPARISON_RUNS_MAX of them count. */
PipelineComparison pipeline_comparison_make(const ComparedRun *run, const ComparedRun *earlier, size_t n_earlier);

/* Returns true if that value was tried. */
bool pipeline_comparison_was_tried(const PipelineComparison *comparison, unsigned value);
/* Returns true if `now` is clearly slower or faster than `before`. */
bool pipeline_comparison_is_clear(double before, double now);
/* Writes the comparison as an object, or null. stages: of the run. */
void pipeline_comparison_put(const PipelineComparison *comparison, const PipelineStage *stages, Json *json);
