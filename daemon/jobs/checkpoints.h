/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checkpoints: the progress of every running job, to the store
 *
 * In rounds, and each round in parts: the progress of a thousand jobs is megabytes of text, and would hold up the loop while it is
 * written. The next part is put when the store has written something, so that few parts wait there.
 */

#include "jobs/jobs.h"
#include "node/node.h"
#include "store/store.h"

typedef struct Checkpoints {
        Jobs *jobs;       /* borrowed, as node and store */
        const Node *node;
        Store *store;
        uint32_t round;   /* the present or last; Job.checkpoint_round says which jobs are done */
        bool is_under_way;
} Checkpoints;

/* Begins a round and puts its first part, or with is_whole all of it. Ends a round that is under way. 0 or < 0. */
int checkpoints_begin(Checkpoints *checkpoints, bool is_whole);
/* After the store has written: puts the next part if a round is under way. 0 or < 0. */
int checkpoints_continue(Checkpoints *checkpoints);
