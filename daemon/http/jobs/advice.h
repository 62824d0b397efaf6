/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Advice: what a person should do about a job's numbers
 *
 * Each rule compares numbers of a job with a threshold and, where it holds, says one plain sentence with the numbers
 * in it. perfctl-report(1) explains every rule under its name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/metric.h"
#include "measure/usage.h"

#define ADVICE_MAX 3 /* the weightiest ones */

typedef struct Advice {
        const char *rule; /* "cpu-unused", "throttled", … */
        char text[200];
} Advice;

typedef struct AdviceInput {
        const MetricSet *metrics; /* of the node meanwhile */
        const UsageSet *usage;    /* of the job itself */
        bool is_running;
        uint32_t n_node_cpus;
        uint64_t node_memory_bytes;
} AdviceInput;

/* Returns how many, at most ADVICE_MAX, the weightiest first. */
size_t advice_give(const AdviceInput *input, Advice ret[static ADVICE_MAX]);

/* The names of all rules, for those who check that each is documented. NULL-terminated. */
extern const char *const advice_rules[];
