/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Launcher: what started this process as one of many, and what it says of that in the environment
 *
 * Slurm, PMI, PMIx and Open MPI. One may run inside another (mpirun in a batch job of Slurm): the innermost knows.
 */

#include <stddef.h>
#include <stdint.h>

#include "job/job.h"

#define LAUNCH_IGNORED_MAX 16U

typedef struct Launch {
        int64_t rank;              /* -1: nobody says */
        int32_t node;              /* index of this node, -1: nobody says */
        uint32_t n_nodes, n_ranks; /* of the whole run, 0: nobody says */
        char job[JOB_ID_MAX];      /* "JOB.STEP.RANK" of a task of Slurm's, else "" */
        const char *ignored[LAUNCH_IGNORED_MAX]; /* names of variables that make no sense, alone or with the others */
        size_t n_ignored;
} Launch;

void launcher_find(Launch *ret);
