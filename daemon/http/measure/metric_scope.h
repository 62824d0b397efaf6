/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics of one scope
 *
 * A job has two tables of metrics: those of the node while it ran (MetricSet), and its own (UsageSet). ScopeMetrics
 * gives both the same form.
 */

#include <stddef.h>
#include <stdint.h>

#include "measure/metric.h"
#include "measure/usage.h"

typedef enum Scope {
        SCOPE_NODE, /* the whole node during the job */
        SCOPE_JOB,  /* the job itself */
        N_SCOPES,
} Scope;

const char *metric_scope_name(Scope scope); /* "node", "job" */
int metric_scope_find(const char *name);    /* Returns -1 for an unknown name. */

/* The table, with the value of each row; all borrowed. */
typedef struct ScopeMetrics {
        Scope scope;
        size_t n;
        const MetricInfo *info;
        const double *value;
        const uint8_t *quality; /* Quality */
} ScopeMetrics;

ScopeMetrics metric_scope_of_node(const MetricSet *metrics);
/* usage NULL: no job, the table is empty. */
ScopeMetrics metric_scope_of_job(const UsageSet *usage);

static inline bool metric_scope_has(const ScopeMetrics *metrics, size_t i) {
        return quality_is_present(metrics->quality[i]);
}

/* Returns the value in the unit of its key. */
static inline double metric_scope_key_value(const ScopeMetrics *metrics, size_t i) {
        return metrics->value[i] * metrics->info[i].scale;
}
