/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep guard: ends the points of a sweep that was killed
 *
 * The guard is a process that gets the process groups of running points from the sweep over a socket. When the sweep ends and the
 * socket with it, the guard terminates the remaining groups, and kills them after five seconds. The guard also keeps the directory
 * locked, so that no other sweep starts there before.
 */

#include <sys/types.h>

#define SWEEP_JOBS_MAX 1024U /* points at once */

typedef struct SweepGuard {
        int fd;
        pid_t pid; /* 0: no guard */
} SweepGuard;

#define SWEEP_GUARD_NONE ((SweepGuard){ .fd = -1 })

/* Starts the guard, which keeps directory_fd open. 0 or a negative errno. */
int sweep_guard_start(SweepGuard *ret, int directory_fd);
/* Tells the guard that a point has started; with a negative number, that it has ended. group: the process group of the point. */
void sweep_guard_tell(const SweepGuard *guard, pid_t group);
/* Ends the guard at the end of the sweep. */
void sweep_guard_deinit(SweepGuard *guard);
