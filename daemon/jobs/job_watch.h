/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job watch: ends that nobody reports
 *
 * A job is over when its own cgroup becomes empty or is removed. A job without a cgroup is over when its process ends. The numbers
 * of the job end at that moment; the client that began the job may still report how the job ended.
 */

#include "jobs/lifecycle_types.h"

/* Watches the process and the cgroup of a job. 0; JOB_WATCH_GONE: the process has ended; or < 0. */
enum {
        JOB_WATCH_GONE = 1,
};
int job_watch_start(Lifecycle *lifecycle, Job *job);
/* Watches the cgroup that a job has just received. 0 or < 0. */
int job_watch_start_group(Lifecycle *lifecycle, Job *job);

/* Handles the end of the job's process, which ends the job unless processes remain in its cgroup. 0 or < 0. */
int job_watch_end_process(Lifecycle *lifecycle, Job *job);

/* Reads the cgroup of a job after a change, and ends the job if the cgroup is empty or removed. 0 or < 0. */
int job_watch_check_group(Lifecycle *lifecycle, Job *job);

/* Explains in the job's note that its cgroup was removed, if counters were lost. */
void job_watch_note_removal(Job *job);

/* At each tick, for an active job: reads the cgroup, and closes a job that was over for long enough. 0 or < 0. */
int job_watch_tick(Lifecycle *lifecycle, Job *job);
/* At each checkpoint: closes jobs whose processes have ended without an event. 0 or < 0. */
int job_watch_sweep(Lifecycle *lifecycle);
