/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep guard: ends the points of a sweep that was killed
 *
 * A process that knows the process groups of the points that run, over a socket whose other end only the sweep has: at its end,
 * whatever is left of them is told to end, and killed after five seconds. It holds the directory as well, so that no other sweep
 * begins there before that.
 */

#include <sys/types.h>

#define SWEEP_JOBS_MAX 1024U /* points at once */

typedef struct SweepGuard {
        int fd;
        pid_t pid; /* 0: there is none */
} SweepGuard;

#define SWEEP_GUARD_NONE ((SweepGuard){ .fd = -1 })

/* directory_fd: kept open by the guard. 0 or a negative errno. */
int sweep_guard_start(SweepGuard *ret, int directory_fd);
/* A point of that group has begun, as it says itself, or has ended. */
void sweep_guard_begin(const SweepGuard *guard, pid_t group);
void sweep_guard_end(const SweepGuard *guard, pid_t group);
/* The sweep ends, and so does the guard. */
void sweep_guard_deinit(SweepGuard *guard);
