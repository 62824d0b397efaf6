/* SPDX-License-Identifier: Apache-2.0 */
#include "http/measure/metric_json.h"

#include <string.h>

static void begin_metric(Json *json, const char *key, double value) {
        json_object_begin(json);
        json_put_string(json, "key", key);
        json_put_double(json, "value", value);
}

static void put_stamp(Json *json, MetricStamp stamp) {
        json_put_uint(json, "timestamp", stamp.time_ms);
        json_put_int(json, "step", stamp.step);
}

/* Writes the interval of the readings that a number is from; none for an exact number. */
static void put_interval(Json *json, const ScopeMetrics *scope_metrics, size_t i, const MetricSet *metrics) {
        Metric interval = scope_metrics->scope == SCOPE_NODE && metric_is_of_cpu_readings((Metric)i)
                                  ? METRIC_CPU_INTERVAL
                                  : METRIC_SAMPLE_INTERVAL;

        if (scope_metrics->quality[i] == QUALITY_SAMPLED && quality_is_present(metrics->quality[interval]))
                json_put_uint(json, "interval_ms", (uint64_t)(metrics->value[interval] * 1e3 + 0.5));
}

/* stamp NULL: none. metrics: of the window. */
static void write_present(Json *json, const ScopeMetrics *scope_metrics, const MetricSet *metrics,
                          const MetricStamp *stamp) {
        for (size_t i = 0; i < scope_metrics->n; i++) {
                if (!metric_scope_has(scope_metrics, i))
                        continue;

                begin_metric(json, scope_metrics->info[i].key, metric_scope_key_value(scope_metrics, i));
                if (stamp)
                        put_stamp(json, *stamp);
                json_put_string(json, "unit", scope_metrics->info[i].key_unit);
                json_put_string(json, "quality", metric_quality_name(scope_metrics->quality[i]));
                put_interval(json, scope_metrics, i, metrics);
                json_put_string(json, "scope", metric_scope_name(scope_metrics->scope));
                json_object_end(json);
        }
}

/* stamp: of a whole metric. choice: of those in the form of an MLflow client; NULL: all. */
static void write_gpus(Json *json, const JobGpus *gpus, const MetricChoice *choice, MetricStamp stamp) {
        JobGpuMetric metric;

        for (size_t i = 0; gpus && i < gpus->n; i++)
                for (JobGpuNumber k = 0; k < N_JOB_GPU_NUMBERS; k++) {
                        if (!job_gpus_metric(&gpus->items[i], k, &metric) ||
                            (choice && choice->key && strcmp(choice->key, metric.key) != 0))
                                continue;
                        begin_metric(json, metric.key, metric.value);
                        put_stamp(json, stamp);
                        if (!choice) {
                                json_put_string(json, "unit", metric.unit);
                                json_put_string(json, "quality", metric_quality_name(QUALITY_SAMPLED));
                                json_put_string(json, "scope", metric_scope_name(SCOPE_JOB));
                        }
                        json_object_end(json);
                }
}

static void write_absent(Json *json, const ScopeMetrics *scope_metrics) {
        for (size_t i = 0; i < scope_metrics->n; i++) {
                if (metric_scope_has(scope_metrics, i) || scope_metrics->quality[i] == QUALITY_NO_EQUIPMENT)
                        continue;

                json_object_begin(json);
                json_put_string(json, "key", scope_metrics->info[i].key);
                json_put_string(json, "scope", metric_scope_name(scope_metrics->scope));
                json_put_string(json, "reason", metric_quality_reason(scope_metrics->quality[i]));
                json_object_end(json);
        }
}

static void write_compat(Json *json, const MetricSet *metrics, MetricStamp stamp) {
        for (Metric metric = 0; metric < N_PERFPY_METRICS; metric++) {
                if (!metrics->has_compat[metric])
                        continue;

                begin_metric(json, metric_info[metric].key, metrics->compat[metric]);
                put_stamp(json, stamp);
                json_put_string(json, "unit", metric_info[metric].key_unit);
                json_object_end(json);
        }
}

void metric_json_write_all(Json *json, const MetricSet *metrics, const UsageSet *usage, const JobGpus *gpus,
                           MetricStamp stamp) {
        const ScopeMetrics node = metric_scope_of_node(metrics), job = metric_scope_of_job(usage);

        json_put_array_begin(json, "metrics");
        write_present(json, &node, metrics, &stamp);
        write_present(json, &job, metrics, &stamp);
        write_gpus(json, gpus, NULL, stamp);
        json_array_end(json);

        json_put_array_begin(json, "absent");
        write_absent(json, &node);
        write_absent(json, &job);
        json_array_end(json);

        json_put_array_begin(json, "compat");
        write_compat(json, metrics, stamp);
        json_array_end(json);
}

void metric_json_write_part(Json *json, const MetricSet *metrics, const UsageSet *usage) {
        const ScopeMetrics node = metric_scope_of_node(metrics), job = metric_scope_of_job(usage);

        json_put_array_begin(json, "metrics");
        write_present(json, &node, metrics, NULL);
        write_present(json, &job, metrics, NULL);
        json_array_end(json);
}

static void write_values(Json *json, const ScopeMetrics *scope_metrics) {
        for (size_t i = 0; i < scope_metrics->n; i++)
                if (metric_scope_has(scope_metrics, i))
                        json_put_double(json, scope_metrics->info[i].key, metric_scope_key_value(scope_metrics, i));
}

void metric_json_write_values(Json *json, const MetricSet *metrics, const UsageSet *usage) {
        const ScopeMetrics node = metric_scope_of_node(metrics), job = metric_scope_of_job(usage);

        json_object_begin(json);
        write_values(json, &node);
        write_values(json, &job);
        json_object_end(json);
}

/* perf.py has other names for some of the node's metrics. */
static const char *raw_key(const ScopeMetrics *scope_metrics, size_t i) {
        return scope_metrics->scope == SCOPE_NODE ? metric_raw_key((Metric)i) : scope_metrics->info[i].key;
}

static bool is_asked_for(const MetricChoice *choice, const ScopeMetrics *scope_metrics, size_t i) {
        return !choice->key || strcmp(choice->key, scope_metrics->info[i].key) == 0 ||
               strcmp(choice->key, raw_key(scope_metrics, i)) == 0;
}

static void write_chosen(Json *json, const ScopeMetrics *scope_metrics, const MetricChoice *choice, MetricStamp stamp) {
        for (size_t i = 0; i < scope_metrics->n; i++)
                if (metric_scope_has(scope_metrics, i) && is_asked_for(choice, scope_metrics, i))
                        metric_json_write_item(
                                json, choice->has_raw_keys ? raw_key(scope_metrics, i) : scope_metrics->info[i].key,
                                metric_scope_key_value(scope_metrics, i), stamp);
}

static void write_chosen_compat(Json *json, const MetricSet *metrics, const MetricChoice *choice, MetricStamp stamp) {
        const ScopeMetrics scope_metrics = metric_scope_of_node(metrics);

        for (Metric metric = 0; metric < N_PERFPY_METRICS; metric++)
                if (metrics->has_compat[metric] && is_asked_for(choice, &scope_metrics, metric))
                        metric_json_write_item(json,
                                               choice->has_raw_keys ? metric_raw_key(metric) : metric_info[metric].key,
                                               metrics->compat[metric], stamp);
}

void metric_json_write_list(Json *json, const MetricSet *metrics, const UsageSet *usage, const JobGpus *gpus,
                            const MetricChoice *choice, MetricStamp stamp) {
        const ScopeMetrics node = metric_scope_of_node(metrics), job = metric_scope_of_job(usage);

        if (choice->has_scope[SCOPE_NODE] && choice->is_compat)
                write_chosen_compat(json, metrics, choice, stamp);
        else if (choice->has_scope[SCOPE_NODE])
                write_chosen(json, &node, choice, stamp);
        if (choice->has_scope[SCOPE_JOB] && !choice->is_compat) {
                write_chosen(json, &job, choice, stamp);
                write_gpus(json, gpus, choice, stamp);
        }
}

void metric_json_write_item(Json *json, const char *key, double value, MetricStamp stamp) {
        begin_metric(json, key, value);
        put_stamp(json, stamp);
        json_object_end(json);
}
