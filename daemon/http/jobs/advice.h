/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Advice: recommendations that follow from a job's metrics
 *
 * Each rule compares metrics of a job with a threshold. If the rule applies, its advice is one sentence that
 * contains the numbers. perfctl-report(1) explains every rule under its name.
 */

#include <stddef.h>

#include "snapshot/job_description.h"
#include "snapshot/snapshot.h"

#define ADVICE_MAX 3 /* only the most important advice is given */

typedef struct Advice {
        const char *rule; /* "cpu-unused", "throttled", … */
        char text[200];
} Advice;

/* Returns the number of advice, at most ADVICE_MAX, most important first. node: the node on which the job runs or
 * ran; NULL: unknown. */
size_t advice_give(const JobView *job, const JobGpus *gpus, const NodeSnapshot *node, Advice ret[static ADVICE_MAX]);

/* Returns the name of the i-th rule, or NULL. A test checks that each rule is documented. */
const char *advice_rule_name(size_t i);
