/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accounting: how the workers of a stage spend their time
 *
 * A worker gets an item from the queue before its stage, runs a task, and puts the outcome into the queue of its stage. So the times of
 * tasks, gets and puts of all workers add up to the number of workers times the elapsed time. If the sum is larger than the declared
 * concurrency allows, more workers were there than declared.
 */

#include "pipeline/pipeline_stage.h"

typedef struct StageAccounting {
        double workers;               /* sum of the times of tasks, gets and puts, per second */
        unsigned concurrency;         /* declared, or inferred from `workers`; at least 1 */
        bool is_inferred;             /* not declared, or declared too low */
        double busy, starved, blocked; /* shares of the workers' time: in tasks, in get, in put; NAN if unknown */
} StageAccounting;

/*
 * input: the stage whose queue the workers take items from; NULL: none. Failed tasks are taken to last as long as the others. Returns
 * false if the stage has no tasks, or no elapsed time.
 */
bool pipeline_accounting_of(const PipelineStage *stage, const PipelineStage *input, StageAccounting *ret);
