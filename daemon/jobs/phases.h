/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phases: marks inside a job
 *
 * A mark ends one phase and begins the next. The ended phase is a row of the store, and the answer waits for that
 * row. The current phase has its own window and usage in the job.
 */

#include "desk/desk.h"
#include "jobs/identity.h"
#include "node/node.h"

typedef struct PendingMark PendingMark;

typedef struct Phases {
        const JobsConfig *config; /* borrowed, as are the next four */
        Node *node;
        Store *store;
        Jobs *jobs;
        Identity *identity;
        PendingMark *pending; /* owned; marks whose phases are queued for the store, newest first */
} Phases;

void phases_deinit(Phases *phases);

/* Kinds of requests; their state is a Phases, the owner in a cookie a PendingMark. */
extern const Kind phases_kinds[1];
