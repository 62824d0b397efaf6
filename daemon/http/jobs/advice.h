/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Advice: what a person should do about a job's numbers
 *
 * Each rule compares numbers of a job with a threshold and, where it holds, says one plain sentence with the numbers
 * in it. perfctl-report(1) explains every rule under its name.
 */

#include <stddef.h>

#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"

#define ADVICE_MAX 3 /* the weightiest ones */

typedef struct Advice {
        const char *rule; /* "cpu-unused", "throttled", … */
        char text[200];
} Advice;

/*
 * Returns how many, at most ADVICE_MAX, the weightiest first. node: where the job runs or ran; NULL: nothing is known of the node.
 */
size_t advice_give(const JobView *job, const NodeSnapshot *node, Advice ret[static ADVICE_MAX]);

/* The name of the i-th rule, for those who check that each is documented. NULL: there are no more. */
const char *advice_rule_name(size_t i);
