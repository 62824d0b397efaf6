/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Launcher: the program that started this process as one of many, and its variables in the environment
 *
 * Slurm, PMI, PMIx and Open MPI. A launcher may run inside another (mpirun in a batch job of Slurm): the innermost
 * is used.
 */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

#define LAUNCH_IGNORED_MAX 16U

typedef struct Launch {
        int64_t rank;              /* -1: unknown */
        int32_t node;              /* index of this node, -1: unknown */
        uint32_t n_nodes, n_ranks; /* of the whole run, 0: unknown */
        char job[JOB_ID_MAX];      /* "JOB.STEP.RANK" of a task of Slurm, else "" */
        const char *ignored[LAUNCH_IGNORED_MAX]; /* names of variables with invalid or contradictory values */
        size_t n_ignored;
} Launch;

void launcher_find(Launch *ret);
