/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lifecycle: a job's begin and end
 *
 * Each takes a sample of its own, so that a job of any length has exact totals, and is answered when its row is stored. An end that
 * nobody reports is noticed as well: job_watch.h.
 */

#include "jobs/lifecycle_types.h"

/*
 * Begins a job that perfd detected; its cgroup was made for it. 0: its row is queued, or will be when the store has room;
 * LIFECYCLE_REFUSED: a limit is reached, or the cgroup was removed; or < 0.
 */
enum {
        LIFECYCLE_REFUSED = 1,
};
int lifecycle_begin_found(Lifecycle *lifecycle, const JobInfo *info, const CgroupPlace *place);

/* Stores a job's cgroup and owner that became known after its begin, at once or at a later tick. 0 or < 0. */
int lifecycle_update_identity(Lifecycle *lifecycle, Job *job);

/*
 * At each tick: reads the cgroups; stores what the store had no room for; closes jobs that were empty for long enough; forgets those
 * that ended long ago. 0 or < 0.
 */
int lifecycle_tick(Lifecycle *lifecycle);
