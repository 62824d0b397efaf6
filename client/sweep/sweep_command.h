/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep command: the argument vector of a point
 *
 * Consists of `perfctl run` with the point's job and labels, and the command.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/sweep/sweep_plan.h"
#include "job/job.h"

typedef struct SweepCommand {
        char **words; /* the list and each word are owned; NULL follows the last word */
        size_t n, n_allocated;
        bool failed;          /* there was no memory for a word */
        char job[JOB_ID_MAX]; /* "" without perfd */
        const char *left_out; /* a setting that cannot be a label, borrowed from the plan; NULL: none */
} SweepCommand;

void sweep_command_deinit(SweepCommand *command);

/* Recording of a point as a job. */
typedef struct SweepRecorder {
        const char *program;        /* path of this perfctl */
        const char *socket, *spool, *component, *component_version; /* options of `perfctl run`; NULL: its defaults */
} SweepRecorder;

/* *ret must own nothing. number: of the point, from 1. recorder: NULL: the point is not a job. 0 or a negative errno. */
int sweep_command_make(SweepCommand *ret, const SweepPlan *plan, const SweepPoint *point, size_t number, const char *directory,
                       const SweepRecorder *recorder);

/* Writes the command as typed into a shell. */
void sweep_command_put(const SweepCommand *command, Buffer *out);
