/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics of a window as JSON
 *
 * Under MLflow's names and units, in MLflow's shape {"key","value","timestamp","step"}. The node's come first, then
 * the job's own. `usage` is NULL where there is no job.
 */

#include "http/measure/metric_scope.h"
#include "util/json.h"

/* Members that accompany each value. */
typedef struct MetricStamp {
        uint64_t time_ms;
        int64_t step;
} MetricStamp;

/*
 * Three members of the object that is open: "metrics", each with unit, quality and scope; "absent", each with scope
 * and reason; "compat", perf.py's own reading.
 */
void metric_json_write_all(Json *json, const MetricSet *metrics, const UsageSet *usage, MetricStamp stamp);
/* "metrics" alone, of a part of a job: neither timestamp nor step. */
void metric_json_write_part(Json *json, const MetricSet *metrics, const UsageSet *usage);
/* {"key": value, …} of those there are. */
void metric_json_write_values(Json *json, const MetricSet *metrics, const UsageSet *usage);

/* Selects the values to write, in the form of an MLflow client, into the open array. */
typedef struct MetricChoice {
        const char *key;   /* only that one; NULL: all */
        bool has_scope[N_SCOPES];
        bool is_compat;    /* perf.py's own reading of its eighteen, which are the node's */
        bool has_raw_keys; /* as perf.py spelt them before it made them fit for MLflow */
} MetricChoice;
void metric_json_write_list(Json *json, const MetricSet *metrics, const UsageSet *usage, const MetricChoice *choice,
                            MetricStamp stamp);
void metric_json_write_item(Json *json, const char *key, double value, MetricStamp stamp);
