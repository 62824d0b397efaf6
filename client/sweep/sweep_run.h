/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep run: a plan's points, one after the other or several at once
 *
 * Each point is a process group of its own, so that a signal for the sweep reaches a point when the sweep passes it on,
 * and nothing of a point is left out then.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/sweep/sweep_command.h"
#include "client/sweep/sweep_guard.h"
#include "client/sweep/sweep_plan.h"
#include "client/sweep/sweep_tree.h"

/* All members are borrowed. */
typedef struct SweepOrder {
        const SweepPlan *plan;
        const SweepTree *tree;
        const SweepRecorder *recorder; /* NULL: points are not recorded as jobs */
        bool no_color;
        size_t n_jobs;       /* at once */
        bool keeps_going;    /* after a point that failed */
        bool retries_failed; /* of those recorded */
} SweepOrder;

/* Whether the point need not be run. *ret_record: its record, or NULL. 0 or -ENOMEM. */
int sweep_run_is_recorded(const SweepOrder *order, const SweepPoint *point, bool *ret, const SweepRecord **ret_record);

/* Runs what is not recorded. EXIT_DONE, EXIT_FAILED, or 128 + the signal that ended it. */
int sweep_run(const SweepOrder *order);
