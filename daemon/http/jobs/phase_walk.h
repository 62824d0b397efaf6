/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PhaseWalk: iterates over the phases of a job
 *
 * Ended phases are in the store, the present phase is in the snapshot, which may be one tick old: a phase that is in both has
 * ended. If there are too many, the earliest phases and the present one are returned.
 */

#include "job/job.h"
#include "store/reader.h"

typedef struct PhaseWalk {
        Reader *reader;
        const PhaseView *lasting; /* NULL: none, or it was handed out */
        uint32_t next;            /* the index after the last that has ended */
        unsigned n_left; /* of ended phases; 0: the others are left out */
        bool is_in_store;
        bool has_all; /* at the end: no phase was left out because of the limit or because the store could not be read */
} PhaseWalk;

/* lasting: NULL for none. n_max: of those that have ended. Rows that were asked for from the reader are gone. */
void phase_walk_begin(PhaseWalk *walk, Reader *reader, const char *job, const PhaseView *lasting, unsigned n_max);
/* False at the end. *ret is borrowed until the next. */
bool phase_walk_next(PhaseWalk *walk, PhaseView *ret);

/* Whoever marked it measured it best; then the node's window; the wall clock may have been set meanwhile. now_ms: where it lasts. */
double phase_walk_seconds(const PhaseView *phase, uint64_t now_ms);
