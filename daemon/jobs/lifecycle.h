/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lifecycle: a job's begin and end
 *
 * A begin or an end takes a sample, so that a job of any length has exact totals, and is answered when its row is
 * stored. Ends that no client reports are in job_watch.h.
 */

#include "jobs/lifecycle_types.h"

/*
 * Begins a detected job, for which the cgroup was created. 0: its row is queued, or will be when the store has room;
 * LIFECYCLE_REFUSED: the cgroup was removed; LIFECYCLE_FULL: the limit of jobs is reached; or < 0.
 */
enum {
        LIFECYCLE_REFUSED = 1,
        LIFECYCLE_FULL,
};
int lifecycle_begin_found(Lifecycle *lifecycle, const JobInfo *info, const CgroupPlace *place);

/* Ends jobs with the last reading of their GPUs. 0 or < 0. */
int lifecycle_watch_gpus(Lifecycle *lifecycle);

/* Stores a cgroup and an owner that became known after the job's begin, at once or at a later tick. 0 or < 0. */
int lifecycle_update_identity(Lifecycle *lifecycle, Job *job);

/*
 * At each tick: reads the cgroups, puts rows again for which the store had no room, closes jobs that are over, and
 * removes the results of jobs that ended long ago. 0 or < 0.
 */
int lifecycle_tick(Lifecycle *lifecycle);

/* Detected jobs are begun by perfd itself, for the system. */
#define JOB_ORIGIN_SYSTEM ((JobOrigin){ .uid = 0, .is_admin = true })
/* Charges a job that runs already, which is never refused. 0 or -ENOMEM. */
int lifecycle_charge_again(Shares *shares, bool is_watched, JobOrigin *origin);
