/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metric list: the metrics of an answer as JSON for an MLflow client
 *
 * The output [{"key", "value", "timestamp", "step"}, …] can be passed to log_batch() unchanged. timestamp is in ms;
 * step is the rank of a job, and 0 for the node.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "value/value.h"

typedef struct MetricListStyle {
        bool is_compat;     /* write perf.py's eighteen metrics, with values as perf.py computes them */
        bool has_raw_names; /* use perf.py's original spelling, before its MLflow renaming; the prefix is not changed */
        const char *prefix; /* "" if there is no prefix */
} MetricListStyle;

/* Problems found in the metric names. */
typedef struct MetricListNames {
        size_t n_same;         /* number of names equal to an earlier name */
        char *same;            /* the first such name, owned; NULL if there is none */
        char *refused;         /* the first name that MLflow would reject, owned; NULL if there is none, or if names
                                * are raw */
} MetricListNames;

void metric_list_names_deinit(MetricListNames *names);

/*
 * MLflow names: perf.py of lightgbm-benchmark prepends a prefix, removes characters outside [a-zA-Z0-9_-. /], and
 * truncates the name to 50 characters. MLflow itself also rejects a name that is not a normalized path.
 */

#define METRIC_LIST_NAME_MAX 51 /* including NUL */

/*
 * Applies perf.py's rule. Non-ASCII bytes are removed one by one; the result is the same as removing whole
 * characters.
 */
void metric_list_name(const char *prefix, const char *key, char ret[static METRIC_LIST_NAME_MAX]);
/*
 * Returns true if MLflow accepts a name written by metric_list_name(): no path component is empty, "." or "..", and
 * the name does not begin with "..".
 */
bool metric_list_name_is_valid(const char *name);

/*
 * Appends one list of the metrics of all answers, one metric per line. answers: of /api/v1/node or
 * /api/v1/jobs/{id}, each with another step, so that the same name in two of them is no problem. Returns 0 or
 * -ENOMEM.
 */
int metric_list_write(const Value *const *answers, size_t n_answers, const MetricListStyle *style, Buffer *out,
                      MetricListNames *ret_names);
