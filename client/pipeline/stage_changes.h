/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stage changes: spikes and drift of the task times of a job's stages, found in the stored intervals
 *
 * The change points are those of analysis/shift.h. A change that the next change reverses has an end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "pipeline/pipeline_stage.h"
#include "util/buffer.h"
#include "value/value.h"

/* Intervals in an answer that has the rows of several pages. */
typedef struct IntervalRows {
        const Value **items; /* owned; the rows are borrowed from the answer */
        size_t n;
} IntervalRows;

/*
 * Lists the rows of the answer's "intervals" in their order; none if it has no such list. While a job runs, perfd
 * may merge intervals between two pages. The answer then has some of them in one page, and their sum at the begin of
 * the next: rows that are a part of a later sum are left out, so that nothing is counted twice. 0 or -ENOMEM. Caller
 * frees.
 */
int stage_changes_list_rows(IntervalRows *ret, const Value *answer);
void stage_changes_free_rows(IntervalRows *rows);

typedef struct StageChange {
        PipelineStage stage;         /* without statistics */
        uint64_t begin_ms, end_ms;   /* Unix time; end 0: to the end of the run */
        double before_s, during_s;   /* median task times */
} StageChange;

/* Initialize with zeros. */
typedef struct StageChanges {
        StageChange *items; /* owned; by stage and time */
        size_t n;
        bool is_cut;        /* there are more intervals than requested: no changes were searched for */
} StageChanges;

void stage_changes_deinit(StageChanges *changes);

/* Maximum number of requested intervals. */
#define STAGE_CHANGES_INTERVALS_MAX 50000U
#define STAGE_CHANGES_PATH "/pipeline/intervals"
/* Finds the changes in the answer of this path below /api/v1/jobs/{id}. The first interval of a stage does not
 * count. 0 or -ENOMEM. */
int stage_changes_find(StageChanges *ret, const Value *answer);

/* Writes a change as a sentence. */
void stage_changes_describe(const StageChange *change, Buffer *out);
/* Writes the changes of a pipeline as items of a list. */
void stage_changes_put(const StageChanges *changes, unsigned pipeline, Json *json);
