/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lifecycle: a job's begin and end
 *
 * Each takes a sample of its own, so that a job of any length has exact totals, and is answered
 * when its row is on disk. An end is caught even when nobody says it: when the job's own cgroup becomes empty or is
 * removed, or, for a job that has none, when the process that stands for it goes away.
 */

#include "state.h"

/* Places a request. 0 (it is answered, or will be by a completion), STORE_QUEUE_FULL (nothing happened: ask again), or < 0. */
int lifecycle_begin(Service *service, const Request *request, Ticket ticket);
int lifecycle_end(Service *service, const Request *request, Ticket ticket);

/*
 * Begins a job that nobody announced; its group was made for it. 0: its row is on the way, or will be when the store can take it;
 * LIFECYCLE_REFUSED: a limit is reached, or the group is gone already; or < 0.
 */
enum {
        LIFECYCLE_REFUSED = 2,
};
int lifecycle_begin_found(Service *service, const JobInfo *info, const CgroupPlace *place);

/* Tells the store of a job's group and owner, which were learned after its begin. As store_put(). */
int lifecycle_put_learned(Service *service, const Job *job, StoreCookie cookie);

/* The store is done with a job's row. 0 or < 0. */
int lifecycle_complete_begin(Service *service, Job *job, StoreOutcome outcome);
void lifecycle_complete_end(Service *service, Job *job, StoreOutcome outcome);
/* The same with the owner of a job that had been found before its begin was said. */
void lifecycle_complete_adopt(Service *service, Ticket ticket, StoreOutcome outcome);

/* Watches the process and the group of a job that is in the table already. 0, LIFECYCLE_GONE when its process is gone, or < 0. */
enum {
        LIFECYCLE_GONE = 1,
};
int lifecycle_watch(Service *service, Job *job);
/* A job's group is another one, or its first: watches it. 0 or < 0. */
int lifecycle_watch_group(Service *service, Job *job);

/* Something has changed in a job's group: reads it, and finds out whether it is empty, or removed. 0 or < 0. */
int lifecycle_look_at_group(Service *service, Job *job);

/*
 * At each tick: reads the groups; begins those that were found while the store could not take them; closes those that
 * have been empty for long enough. 0 or < 0.
 */
int lifecycle_tick(Service *service);
/* Closes those whose processes are gone and whose end the store could not take before. 0 or < 0. */
int lifecycle_sweep(Service *service);
