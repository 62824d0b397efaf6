/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep run: runs the points of a plan, one after the other
 *
 * Each point is a process group of its own: a signal for the sweep reaches a point when the sweep passes the signal
 * on, and then reaches all processes of the point. If the sweep is killed, a guard terminates the group, and keeps
 * the directory locked until then.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/sweep/sweep_plan.h"
#include "client/sweep/sweep_tree.h"

/* Recording of a point as a job. */
typedef struct SweepRecorder {
        const char *program;        /* path of this perfctl */
        const char *socket, *spool, *component, *component_version; /* options of `perfctl run`; NULL: its defaults */
} SweepRecorder;

/* All members are borrowed. */
typedef struct SweepOrder {
        const SweepPlan *plan;
        const SweepTree *tree;
        const SweepRecord *const *records; /* of each point; NULL without a record */
        const SweepRecorder *recorder; /* NULL: points are not recorded as jobs */
        bool no_color;
        bool stops_on_failure;
        bool retries_failed; /* of those recorded */
} SweepOrder;

/* Returns true if point i is recorded and does not run again. */
bool sweep_run_is_recorded(const SweepOrder *order, size_t i);

/* Appends the command of point i without `perfctl run`, as typed into a shell. 0 or a negative errno. */
int sweep_run_put_command(const SweepOrder *order, size_t i, const char *directory, Buffer *out);

/* Runs the points that are not recorded. EXIT_DONE, EXIT_FAILED, or 128 + the signal that ended the sweep. */
int sweep_run(const SweepOrder *order);
