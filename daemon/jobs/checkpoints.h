/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checkpoints: puts the progress of every running job into the store
 *
 * A round covers every job and consists of parts: the progress of a thousand jobs is megabytes of text, and formatting all of it at
 * once would block the loop. The next part is put when the store has written rows, so that few parts are queued.
 */

#include "jobs/table/jobs.h"
#include "node/node.h"
#include "store/store.h"

typedef struct Checkpoints {
        Jobs *jobs;       /* borrowed, as are node and store */
        const Node *node;
        Store *store;
        uint32_t round;   /* number of the current or last round; Job.checkpoint_round marks the jobs that are done */
        bool is_under_way;
} Checkpoints;

/* Begins a round and puts its first part, or with is_whole all parts. Ends a round that is under way. 0 or < 0. */
int checkpoints_begin(Checkpoints *checkpoints, bool is_whole);
/* Puts the next part if a round is under way; called after the store has written rows. 0 or < 0. */
int checkpoints_continue(Checkpoints *checkpoints);
