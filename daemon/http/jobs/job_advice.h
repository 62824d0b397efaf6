/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What advice.h says of a job, on this node
 */

#include "http/jobs/advice.h"
#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"

/* snapshot NULL: nothing is known of the node. How many there are. */
size_t job_advice(const JobView *job, const NodeSnapshot *node, Advice ret[static ADVICE_MAX]);
