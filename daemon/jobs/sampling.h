/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampling: takes samples of the node and adds them to every running job
 */

#include "jobs/table/jobs.h"
#include "node/node.h"

/* Takes a sample at each tick. 0 or < 0. */
int sampling_tick(Jobs *jobs, Node *node);

/* Applies the shortest interval of CPU readings that a running job requests and may have: when a job begins, and at
 * each tick, since jobs end. */
void sampling_ask_cpus(const Jobs *jobs, Node *node);

/* Takes a sample for a begin, an end or a mark, unless the latest is at most 1 ms old. 0 or < 0. */
int sampling_now(Jobs *jobs, Node *node);
