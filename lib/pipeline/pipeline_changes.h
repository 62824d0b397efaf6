/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Changes: spikes and drift of the task times of a job's stages, found in the stored intervals
 *
 * The change points are those of analysis/shift.h. A change that the next change reverses has an end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_stage.h"
#include "util/buffer.h"

/* Longer jobs have merged intervals. The search of a longer series takes more time than it is worth. */
#define PIPELINE_CHANGES_SERIES_MAX    1000U
#define PIPELINE_CHANGES_INTERVALS_MAX 25000U

typedef struct PipelineChange {
        PipelineStage stage;       /* without statistics */
        uint64_t begin_ms, end_ms; /* Unix time; end 0: to the end of the run */
        double before_s, during_s; /* median task times */
} PipelineChange;

/* An interval of a stage's tasks. */
typedef struct ChangePlace {
        uint64_t end_ms;
        double elapsed_s, time_s; /* time_s: mean time of a task */
} ChangePlace;

/* Initialize with zeros. */
typedef struct PipelineChanges {
        PipelineChange *items; /* owned; by stage and time */
        size_t n;
        bool is_cut;           /* there are too many intervals for the time: some were not searched */
        size_t n_intervals;
        char label[PIPELINE_LABEL_MAX + 1]; /* of the stage whose intervals are being added */
        ChangePlace *places;                /* owned; of this stage */
        size_t n_places;
} PipelineChanges;

void pipeline_changes_deinit(PipelineChanges *changes);

/*
 * Adds the next interval of a stage's tasks; those of a stage come one after the other, by time, and the first does
 * not count. 0 or -ENOMEM.
 */
int pipeline_changes_add(PipelineChanges *changes, const char *label, uint64_t end_ms, const PipelineSums *sums);
/* To be called after the last interval. 0 or -ENOMEM. */
int pipeline_changes_finish(PipelineChanges *changes);

/* Writes a change as a sentence, with the time of this process's time zone. */
void pipeline_changes_describe(const PipelineChange *change, Buffer *out);
/* Writes the changes of a pipeline as items of a list. */
void pipeline_changes_put(const PipelineChanges *changes, unsigned pipeline, Json *json);
