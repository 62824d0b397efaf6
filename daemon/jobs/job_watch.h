/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job watch: ends that nobody reports
 *
 * A job is over when its own cgroup becomes empty or is removed, or, for a job without one, when the process that stands for the job
 * ends. Its numbers end at that moment; whoever began the job may still report how it ended.
 */

#include "jobs/lifecycle_types.h"

/* Watches the process and the cgroup of a job. 0; JOB_WATCH_GONE: its process has ended; or < 0. */
enum {
        JOB_WATCH_GONE = 1,
};
int job_watch_start(Lifecycle *lifecycle, Job *job);
/* Watches the cgroup of a job that has a first or another one. 0 or < 0. */
int job_watch_start_group(Lifecycle *lifecycle, Job *job);

/* The process that stands for the job has ended: so has the job, unless its cgroup lives on. 0 or < 0. */
int job_watch_end_process(Lifecycle *lifecycle, Job *job);

/* Something may have changed in a job's cgroup: reads it, and finds out whether it is empty or removed. 0 or < 0. */
int job_watch_check_group(Lifecycle *lifecycle, Job *job);

/* Explains in the job's note that its cgroup was removed, unless nothing is lost by that. */
void job_watch_note_removal(Job *job);

/* At each tick, for an active job: reads the cgroup, and closes a job that was over for long enough. 0 or < 0. */
int job_watch_tick(Lifecycle *lifecycle, Job *job);
/* At each checkpoint: closes jobs whose processes have ended without an event. 0 or < 0. */
int job_watch_sweep(Lifecycle *lifecycle);
