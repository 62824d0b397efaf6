/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Phases: marks inside a job
 *
 * A mark ends one phase and begins the next. The one that ended is a row of the store from then on, and the answer
 * waits for it; the one that lasts is a window and a usage of its own in the job.
 */

#include "state.h"

/* 0 (it is answered, or will be by a completion), STORE_QUEUE_FULL (nothing happened: ask again), or < 0. */
int phases_mark(Service *service, const Request *request, Ticket ticket);
void phases_complete(Service *service, PendingMark *mark, StoreOutcome outcome);

void phases_deinit(Service *service);
