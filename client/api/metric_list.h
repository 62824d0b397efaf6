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

/*
 * MLflow: perf.py of lightgbm-benchmark puts a prefix before the name, leaves out what is not one of [a-zA-Z0-9_-. /], and cuts the
 * rest to 50 characters. MLflow itself also refuses a name that as a path would mean another one.
 */

#define METRIC_LIST_NAME_MAX 51 /* with NUL */

/* Applies perf.py's rule. Bytes that are not ASCII are omitted one by one, with the same result. */
void metric_list_name(const char *prefix, const char *key, char ret[static METRIC_LIST_NAME_MAX]);
/* Whether MLflow takes a name that the rule made: no part of it between '/' is empty, "." or "..", and it does not begin with "..". */
bool metric_list_name_is_valid(const char *name);

/* Appends the list, one metric on a line. answer: to /api/v1/node or /api/v1/jobs/{id}. 0 or -ENOMEM. */
int metric_list_write(const Value *answer, const MetricListStyle *style, Buffer *out, MetricListNames *ret_names);
