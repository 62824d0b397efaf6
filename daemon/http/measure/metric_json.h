/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics of a window as JSON
 *
 * The metrics have MLflow's names, units and form {"key","value","timestamp","step"}. The node's metrics come first,
 * then the job's own, then those of each of its GPUs. `usage` and `gpus` are NULL without a job.
 */

#include "http/measure/metric_scope.h"
#include "job/job_gpus.h"
#include "json/json.h"

/* Members that accompany each value. */
typedef struct MetricStamp {
        uint64_t time_ms;
        int64_t step;
} MetricStamp;

/*
 * Writes three members of the open object: "metrics", each with unit, quality, mean interval of its readings if
 * sampled, and scope; "absent", each with scope and reason; and "compat", the values as perf.py would report them.
 */
void metric_json_write_all(Json *json, const MetricSet *metrics, const UsageSet *usage, const JobGpus *gpus,
                           MetricStamp stamp);
/* Writes only "metrics", for a part of a job, without timestamp and step. */
void metric_json_write_part(Json *json, const MetricSet *metrics, const UsageSet *usage);
/* Writes {"key": value, …} of the known metrics. */
void metric_json_write_values(Json *json, const MetricSet *metrics, const UsageSet *usage);

/* Selects the values to write, in the form of an MLflow client, into the open array. */
typedef struct MetricChoice {
        const char *key;   /* select only this one; NULL: all */
        bool has_scope[N_SCOPES];
        bool is_compat;    /* the values as perf.py would report them: eighteen metrics of the node */
        bool has_raw_keys; /* the keys as perf.py spells them before they are adapted to MLflow */
} MetricChoice;
void metric_json_write_list(Json *json, const MetricSet *metrics, const UsageSet *usage, const JobGpus *gpus,
                            const MetricChoice *choice, MetricStamp stamp);
void metric_json_write_item(Json *json, const char *key, double value, MetricStamp stamp);
