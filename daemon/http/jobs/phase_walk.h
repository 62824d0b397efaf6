/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PhaseWalk: iterates over the phases of a job
 *
 * Ended phases are in the store. The current phase is in the snapshot, which may be one tick old: a phase in both has ended. If
 * a job has too many phases, the walk returns the earliest phases and the current phase.
 */

#include "job/job.h"
#include "store/read/reader.h"

typedef struct PhaseWalk {
        Reader *reader;
        const PhaseView *lasting; /* the current phase; NULL: none, or already returned */
        uint32_t next;            /* index after the last ended phase */
        unsigned n_left; /* number of ended phases that may still be returned */
        bool is_in_store;
        bool has_all; /* at the end: no phase was left out because of the limit or because the store could not be read */
} PhaseWalk;

/*
 * lasting: the current phase, or NULL. n_max: maximum number of ended phases. Invalidates rows that the reader returned before.
 */
void phase_walk_begin(PhaseWalk *walk, Reader *reader, const char *job, const PhaseView *lasting, unsigned n_max);
/* False at the end. *ret is borrowed until the next call. */
bool phase_walk_next(PhaseWalk *walk, PhaseView *ret);

/* Returns the seconds that the client measured, else the length of the node's window, else the difference of the wall clock,
 * which may have been set in between. now_ms: end of a current phase. */
double phase_walk_seconds(const PhaseView *phase, uint64_t now_ms);
