/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampling: the node's samples, added to every running job
 */

#include "jobs/jobs.h"
#include "node/node.h"

/* At each tick: takes a sample for the node and every job. 0 or < 0. */
int sampling_tick(Jobs *jobs, Node *node);

/* For a begin, an end or a mark: takes a sample, unless the latest is at most 1 ms old. 0 or < 0. */
int sampling_now(Jobs *jobs, Node *node);
