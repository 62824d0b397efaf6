#include "http/metric_json.h"

#include <string.h>

static double mlflow_value(const MetricSet *metrics, Metric metric) {
        return metrics->value[metric] * metric_info[metric].scale;
}

/* Leaves the object open for what else there is to say. */
static void begin_metric(Json *json, const char *key, double value, MetricStamp stamp) {
        json_object_begin(json);
        json_put_string(json, "key", key);
        json_put_double(json, "value", value);
        json_put_uint(json, "timestamp", stamp.time_ms);
        json_put_int(json, "step", stamp.step);
}

static void write_present(Json *json, const MetricSet *metrics, MetricStamp stamp) {
        json_key(json, "metrics");
        json_array_begin(json);
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                if (!quality_is_present(metrics->quality[metric]))
                        continue;

                begin_metric(json, metric_info[metric].key, mlflow_value(metrics, metric), stamp);
                json_put_string(json, "unit", metric_info[metric].key_unit);
                json_put_string(json, "quality", quality_name(metrics->quality[metric]));
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_absent(Json *json, const MetricSet *metrics) {
        json_key(json, "absent");
        json_array_begin(json);
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                if (quality_is_present(metrics->quality[metric]))
                        continue;

                json_object_begin(json);
                json_put_string(json, "key", metric_info[metric].key);
                json_put_string(json, "reason", quality_reason(metrics->quality[metric]));
                json_object_end(json);
        }
        json_array_end(json);
}

static void write_compat(Json *json, const MetricSet *metrics, MetricStamp stamp) {
        json_key(json, "compat");
        json_array_begin(json);
        for (Metric metric = 0; metric < N_PERFPY_METRICS; metric++) {
                if (!metrics->has_compat[metric])
                        continue;

                begin_metric(json, metric_info[metric].key, metrics->compat[metric], stamp);
                json_put_string(json, "unit", metric_info[metric].key_unit);
                json_object_end(json);
        }
        json_array_end(json);
}

void metric_json_write_all(Json *json, const MetricSet *metrics, MetricStamp stamp) {
        write_present(json, metrics, stamp);
        write_absent(json, metrics);
        write_compat(json, metrics, stamp);
}

void metric_json_write_values(Json *json, const MetricSet *metrics) {
        json_object_begin(json);
        for (Metric metric = 0; metric < N_METRICS; metric++)
                if (quality_is_present(metrics->quality[metric]))
                        json_put_double(json, metric_info[metric].key, mlflow_value(metrics, metric));
        json_object_end(json);
}

static bool is_chosen(const MetricSet *metrics, const MetricChoice *choice, Metric metric) {
        if (choice->is_compat && (metric >= N_PERFPY_METRICS || !metrics->has_compat[metric]))
                return false;
        if (!choice->is_compat && !quality_is_present(metrics->quality[metric]))
                return false;

        return !choice->key || strcmp(choice->key, metric_info[metric].key) == 0 || strcmp(choice->key, metric_raw_key(metric)) == 0;
}

void metric_json_write_list(Json *json, const MetricSet *metrics, const MetricChoice *choice, MetricStamp stamp) {
        json_array_begin(json);
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                if (!is_chosen(metrics, choice, metric))
                        continue;

                begin_metric(json, choice->has_raw_keys ? metric_raw_key(metric) : metric_info[metric].key,
                             choice->is_compat ? metrics->compat[metric] : mlflow_value(metrics, metric), stamp);
                json_object_end(json);
        }
        json_array_end(json);
}
