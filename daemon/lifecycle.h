#pragma once

/*
 * Lifecycle: a job's begin and end
 *
 * Each takes a sample of its own, so that a job of any length has exact totals, and is answered
 * when its row is on disk. A job whose process goes away without an end is closed as interrupted.
 */

#include "state.h"

/* Places a request. 0 (it is answered, or will be by a completion), STORE_QUEUE_FULL (nothing happened: ask again), or < 0. */
int lifecycle_begin(Service *service, const Request *request, Ticket ticket);
int lifecycle_end(Service *service, const Request *request, Ticket ticket);

/* The store is done with a job's row. 0 or < 0. */
int lifecycle_complete_begin(Service *service, Job *job, StoreOutcome outcome);
void lifecycle_complete_end(Service *service, Job *job, StoreOutcome outcome);

/* An observation is new: every running job sees it. */
void lifecycle_observe(Service *service);

/* Watches the process of a job that is in the table already. 0, LIFECYCLE_GONE when it is gone, or < 0. */
enum {
        LIFECYCLE_GONE = 1,
};
int lifecycle_watch(Service *service, Job *job);

/* Closes those whose processes are gone and whose end the store could not take before. 0 or < 0. */
int lifecycle_sweep(Service *service);
