/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job info: the description of a job in the request that begins it */

#include <stddef.h>
#include <stdint.h>

#include "client/cli/common_options.h"
#include "job/job.h"

/*
 * Launcher: the program that started this process as one of many, and its variables in the environment
 *
 * Slurm, PMI, PMIx and Open MPI. A launcher may run inside another (mpirun in a batch job of Slurm): the innermost
 * is used.
 */

#define LAUNCH_IGNORED_MAX 16U

typedef struct Launch {
        int64_t rank;              /* -1: unknown */
        int32_t node;              /* index of this node, -1: unknown */
        uint32_t n_nodes, n_ranks; /* of the whole run, 0: unknown */
        char job[JOB_ID_MAX];      /* "JOB.STEP.RANK" of a task of Slurm, else "" */
        const char *ignored[LAUNCH_IGNORED_MAX]; /* names of variables with invalid or contradictory values */
        size_t n_ignored;
} Launch;

void job_info_find_launcher(Launch *ret);

/* Options that describe a job. */
typedef struct JobOptions {
        const char *id, *name, *gpus; /* NULL: not given */
        OptionTexts labels;
        PlaceOptions place;
        uint64_t interval_ns;  /* interval of readings of the node's CPUs; 0: not given */
        uint64_t pid;          /* 0: not given */
        OptionNumber uid;
} JobOptions;

/* --name, --label, --gpus, --interval and the place in a parallel run. */
extern const Option job_options[];

/*
 * Fills in id (option, else the launcher's, else a new one), name, labels, user (option, else this process's),
 * command, GPUs (option, else the environment's), and the place in a parallel run (option, else the launcher's where it
 * does not contradict the options). command: its words, or NULL. 0 or a negative errno; job_info_deinit() in any case.
 */
int job_info_fill(JobInfo *info, const JobOptions *options, const Launch *launch, char *const *command);

/* A command as typed into a shell, cut with an ellipsis. Bytes that are not UTF-8 become U+FFFD. */
void job_info_format_command(char *const *words, char ret[static JOB_COMMAND_MAX]);
