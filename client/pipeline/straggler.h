/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stragglers: ranks of a run, each with a file or a job of its own, a stage of which is slower than in the other ranks */

#include <stddef.h>

#include "json/json.h"
#include "pipeline/pipeline_ranks.h"
#include "pipeline/pipeline_stage.h"

typedef struct RankFile {
        const char *name;            /* of the file or job; borrowed */
        const PipelineStage *stages; /* borrowed */
        size_t n;
} RankFile;

typedef struct Straggler {
        const char *name;           /* NULL: no straggler of the whole run, only of parts of the run */
        const PipelineStage *stage; /* of the straggler; NULL: a measure of the whole rank */
        PipelineMeasure measure;
        double value, median; /* of the straggler, and of all ranks */
        size_t n_ranks;
        const char *const *in_turn; /* ranks that were slow one after the other; borrowed */
        size_t n_in_turn;           /* 0: the slow rank does not change */
} Straggler;

/*
 * Calls report() for each stage and measure with a straggler; `name` is of its file. Stages of different files are the same if pipeline,
 * position and name agree. Returns 0 or -ENOMEM.
 */
int straggler_find_all(const RankFile *files, size_t n, void (*report)(const Straggler *straggler, void *userdata), void *userdata);

/* Writes "rank3.json is a straggler: a task of decode takes 412 ms, the median of 8 ranks is 170 ms." */
void straggler_put(const Straggler *straggler, Buffer *out);
void straggler_put_json(const Straggler *straggler, Json *json);
