/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metric list: the metrics of an answer as JSON for an MLflow client
 *
 * [{"key", "value", "timestamp", "step"}, …]: log_batch() takes it as it is. timestamp in ms; step is the rank of a
 * job, 0 for the node.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/value.h"
#include "util/buffer.h"

typedef struct MetricListStyle {
        bool is_compat;     /* perf.py's own reading of its eighteen */
        bool has_raw_names; /* as perf.py spelt them before it made them fit for MLflow; the prefix as it is given */
        const char *prefix; /* "" for none */
} MetricListStyle;

/* Problems with the names. */
typedef struct MetricListNames {
        size_t n_same;         /* names that another one before is the same as */
        char *same;            /* the first of them, owned; NULL: there is none */
        char *refused;         /* the first that MLflow would refuse, owned; NULL: there is none, or they are raw */
} MetricListNames;

void metric_list_names_deinit(MetricListNames *names);

/* Appends the list, one metric on a line. answer: to /api/v1/node or /api/v1/jobs/{id}. 0 or -ENOMEM. */
int metric_list_write(const Value *answer, const MetricListStyle *style, Buffer *out, MetricListNames *ret_names);
