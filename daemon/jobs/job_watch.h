/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job watch: ends that nobody reports
 *
 * A job is over when its own cgroup becomes empty or is removed. A job without a cgroup is over when its process
 * ends. The numbers of the job end at that moment; the client that began the job may still report how the job ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "jobs/lifecycle_types.h"
#include "node/node.h"

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

/*
 * Opens a descriptor that becomes readable when the process ends; the caller closes it. The pidfd and the start time
 * distinguish the process from a later one with the same pid. 0, JOB_WATCH_GONE: it has ended, or < 0.
 */
int job_watch_open_process(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd);

/* False if the process has ended. True for a process that cannot be read, and for pid 0, which names no process. */
bool job_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks);
