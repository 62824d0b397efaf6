#pragma once

/*
 * Metrics of a window as JSON
 *
 * Under MLflow's names and units, in MLflow's shape {"key","value","timestamp","step"}.
 */

#include "model/metric.h"
#include "util/json.h"

/* What goes with every value. */
typedef struct MetricStamp {
        uint64_t time_ms;
        int64_t step;
} MetricStamp;

/*
 * Three members of the object that is open: "metrics", each with unit and quality; "absent", each with the
 * reason; "compat", perf.py's own reading.
 */
void metric_json_write_all(Json *json, const MetricSet *metrics, MetricStamp stamp);
/* {"key": value, …} of those there are. */
void metric_json_write_values(Json *json, const MetricSet *metrics);

/* What an MLflow client takes: a list of the values there are. key: only that one, NULL: all. */
typedef struct MetricChoice {
        const char *key;
        bool is_compat;    /* perf.py's own reading of its eighteen */
        bool has_raw_keys; /* as perf.py spelt them before it made them fit for MLflow */
} MetricChoice;
void metric_json_write_list(Json *json, const MetricSet *metrics, const MetricChoice *choice, MetricStamp stamp);
