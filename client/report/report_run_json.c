/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/report/report.h"
#include "client/report/report_total.h"

static void put_index(Json *json, const char *key, int64_t index) {
        json_put_int_or_null(json, key, index >= 0, index);
}

static void put_time(Json *json, const char *key, uint64_t ms) {
        json_put_int_or_null(json, key, ms > 0, (int64_t)ms);
}

/* Copies a member of the report. */
static void put_member(Json *json, const char *key, const Value *from) {
        value_put_json(value_get(from, key), key, json);
}

/* --- run ------------------------------------------------------------------------------------------ */

static const char *run_state(const ReportRun *run) {
        const char *state = "finished";

        for (size_t i = 0; i < run->n_reports; i++) {
                const char *other = answer_text(run->reports[i].job, "state");

                if (strcmp(other, "running") == 0)
                        return other;
                if (strcmp(other, "interrupted") == 0)
                        state = other;
        }
        return state;
}

static void put_times(Json *json, const ReportRun *run) {
        RunTimes times = report_run_times(run);
        bool is_open = false;

        for (size_t i = 0; i < run->n_reports; i++)
                is_open |= run->reports[i].end_ms == 0;
        json_put_uint(json, "begin_ms", times.begin_ms);
        put_time(json, "end_ms", is_open ? 0 : times.end_ms);
        json_put_double(json, "seconds", (double)(times.last_ms - times.begin_ms) / 1e3);
}

static void write_run(const ReportRun *run, Json *json) {
        scoped(buffer_deinit) Buffer id = {}, missing = {}, failed = {};
        size_t n_failed;

        report_run_id(run, &id);
        report_run_missing_ranks(run, &missing);
        report_run_ranks(run, RANKS_FAILED, &failed, &n_failed);

        json_put_object_begin(json, "run");
        json_put_text_or_null(json, "id", id.text);
        json_put_text_or_null(json, "name", report_run_text(run, "name"));
        json_put_text_or_null(json, "command", report_run_text(run, "command"));
        json_put_text_or_null(json, "user", report_run_text(run, "user"));
        json_put_string(json, "state", run_state(run));
        put_times(json, run);
        put_index(json, "ranks", run->n_ranks > 0 ? (int64_t)run->n_ranks : -1);
        put_index(json, "nodes", run->n_nodes > 0 ? (int64_t)run->n_nodes : -1);
        json_put_string(json, "missing_ranks", missing.text ? missing.text : "");
        json_put_uint(json, "failed", n_failed);
        json_put_string(json, "failed_ranks", failed.text ? failed.text : "");
        if (value_get(run->reports[0].job, "slurm"))
                put_member(json, "slurm", run->reports[0].job);
        json_object_end(json);
}

/* --- ranks and hosts ------------------------------------------------------------------------------ */

/* Copies the metrics of the scope. Metrics without a scope are those of a node. */
static void write_metrics(Json *json, const Value *job, const char *scope) {
        const Value *metrics = value_get(job, "metrics");

        json_put_array_begin(json, "metrics");
        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const char *of = answer_text(&metrics->items[i], "scope");

                if (strcmp(*of ? of : "node", scope) == 0)
                        value_write_json(&metrics->items[i], json);
        }
        json_array_end(json);
}

static void write_report(Json *json, const RankReport *report) {
        json_object_begin(json);
        put_index(json, "rank", report->rank);
        json_put_int(json, "step", report->rank > 0 ? report->rank : 0);
        json_put_string(json, "id", report->id);
        json_put_text_or_null(json, "hostname", report->hostname);
        put_index(json, "node_index", report->node);
        put_member(json, "command", report->job);
        put_member(json, "state", report->job);
        put_member(json, "exit", report->job);
        json_put_bool(json, "failed", !report_run_rank_is_good(report));
        json_put_uint(json, "begin_ms", report->begin_ms);
        put_time(json, "end_ms", report->end_ms);
        json_put_double(json, "seconds", report_run_rank_seconds(report));
        put_member(json, "note", report->job);
        put_member(json, "isolation", report->job);
        put_member(json, "cgroup", report->job);
        json_put_bool(json, "counted", report->counts);
        write_metrics(json, report->job, "job");
        put_member(json, "phases", report->job);
        put_member(json, "steps", report->job);
        put_member(json, "gpus", report->job);
        if (value_get(report->job, "pipelines"))
                put_member(json, "pipelines", report->job);
        json_object_end(json);
}

static void write_host(Json *json, const ReportRun *run, size_t i) {
        const RunHost *host = &run->hosts[i];

        json_object_begin(json);
        json_put_text_or_null(json, "hostname", host->name);
        put_index(json, "node_index", host->node);
        put_member(json, "cpus", host->record->on);
        put_member(json, "memory_bytes", host->record->on);
        json_put_uint(json, "reports", host->n_reports);
        put_index(json, "rank", host->record->rank);
        json_put_string(json, "id", host->record->id);
        write_metrics(json, host->record->job, "node");
        json_object_end(json);
}

/* --- totals --------------------------------------------------------------------------------------- */

static void write_total(Json *json, const MetricInfo *info, TotalOf parts, const char *of, const ReportTotal *total) {
        json_object_begin(json);
        json_put_string(json, "key", info->key);
        json_put_double(json, "value", total->value);
        json_put_string(json, "unit", info->key_unit);
        json_put_string(json, "quality", metric_quality_name(total->is_exact ? QUALITY_EXACT : QUALITY_SAMPLED));
        json_put_string(json, "scope", parts == TOTAL_OF_HOSTS ? "node" : "job");
        json_put_string(json, "of", of);
        json_put_uint(json, "count", total->n);
        if (total->at)
                put_index(json, "rank", total->at->rank);
        json_object_end(json);
}

/* Returns true if the metric can be summed over ranks or hosts. Pressure cannot: ranks wait at the same time. */
static bool is_summed(const MetricInfo *info) {
        bool is_cpu_time = strcmp(info->key_unit, "h") == 0;

        return is_cpu_time || (info->type == METRIC_TYPE_COUNTER && !strstr(info->key, "psi_"));
}

static void write_total_of(const ReportRun *run, Json *json, TotalOf of, const MetricInfo *info, bool is_sum) {
        ReportTotal total;

        if (is_sum ? report_total_sum(run, of, info->key, &total) : report_total_max(run, of, info->key, &total))
                write_total(json, info, of, is_sum ? "sum" : "max", &total);
}

/* Returns true if the total is computed from the resources of all ranks together. */
static bool is_of_resources(UsageMetric metric) {
        return metric == USAGE_CPU_UNUSED || metric == USAGE_CPU_RATIO || metric == USAGE_MEMORY_LIMIT ||
               (metric >= USAGE_GPU_TIME && metric <= USAGE_GPU_ENERGY);
}

static void write_own_total(const ReportRun *run, Json *json, UsageMetric metric) {
        const MetricInfo *info = &usage_info[metric];
        ReportTotal total;

        if (is_of_resources(metric))
                return;
        if (metric != USAGE_CPU_GIVEN)
                write_total_of(run, json, TOTAL_OF_RANKS, info, metric == USAGE_CPU_MEAN || is_summed(info));
        else if (report_total_given(run, false, &total))
                write_total(json, info, TOTAL_OF_RANKS, "sum", &total);
}

static void write_cpu_shares(const ReportRun *run, Json *json) {
        ReportTotal used, given;

        if (!report_total_sum(run, TOTAL_OF_RANKS, "job_cpu_seconds", &used) ||
            !report_total_given(run, true, &given) || !(given.value > 0))
                return;

        given.is_exact &= used.is_exact;
        write_total(
                json, &usage_info[USAGE_CPU_UNUSED], TOTAL_OF_RANKS, "sum",
                &(ReportTotal){ .value = fmax(given.value - used.value, 0), .is_exact = given.is_exact, .n = given.n });
        write_total(json, &usage_info[USAGE_CPU_RATIO], TOTAL_OF_RANKS, "ratio",
                    &(ReportTotal){ .value = used.value / given.value, .is_exact = given.is_exact, .n = given.n });
}

/* Ranks of a node may have the same GPUs. */
static void write_gpus(const ReportRun *run, Json *json) {
        ReportTotal total;

        if (report_gpus_sum(run, "seconds", &total))
                write_total(json, &usage_info[USAGE_GPU_TIME], TOTAL_OF_RANKS, "sum", &total);
        if (report_gpus_sum(run, "energy_joules", &total))
                write_total(json, &usage_info[USAGE_GPU_ENERGY], TOTAL_OF_RANKS, "sum", &total);
}

static void write_spread(const ReportRun *run, Json *json, const char *key, const char *unit, const char *metric) {
        double imbalance;
        Spread spread;

        if (!report_total_spread(run, metric, &spread))
                return;

        imbalance = report_total_imbalance(&spread);
        json_object_begin(json);
        json_put_string(json, "key", key);
        json_put_string(json, "unit", unit);
        json_put_double(json, "min", spread.min);
        put_index(json, "min_rank", spread.least->rank);
        json_put_double(json, "mean", spread.mean);
        json_put_double(json, "max", spread.max);
        put_index(json, "max_rank", spread.most->rank);
        json_put_double(json, "imbalance", imbalance);
        json_put_uint(json, "count", spread.n);
        json_object_end(json);
}

static void write_spreads(const ReportRun *run, Json *json) {
        static const UsageMetric metrics[] = { USAGE_CPU_SECONDS, USAGE_MEMORY_PEAK, USAGE_READ_BYTES,
                                               USAGE_WRITE_BYTES };

        json_put_array_begin(json, "spread");
        write_spread(run, json, "seconds", "s", NULL);
        for (size_t i = 0; i < N_ELEMENTS(metrics); i++)
                write_spread(run, json, usage_info[metrics[i]].key, usage_info[metrics[i]].key_unit,
                             usage_info[metrics[i]].key);
        json_array_end(json);
}

/* --- advice --------------------------------------------------------------------------------------- */

static void write_advice(const ReportRun *run, Json *json) {
        json_put_array_begin(json, "advice");
        for (size_t i = 0; i < run->n_reports; i++) {
                const Value *advice = value_get(run->reports[i].job, "advice");

                for (size_t k = 0; advice && advice->type == VALUE_LIST && k < advice->n_items; k++) {
                        json_object_begin(json);
                        put_index(json, "rank", run->reports[i].rank);
                        json_put_string(json, "id", run->reports[i].id);
                        put_member(json, "rule", &advice->items[k]);
                        put_member(json, "text", &advice->items[k]);
                        json_object_end(json);
                }
        }
        json_array_end(json);
}

void report_run_write_json(const ReportRun *run, Json *json) {
        json_object_begin(json);
        write_run(run, json);

        json_put_array_begin(json, "reports");
        for (size_t i = 0; i < run->n_reports; i++)
                write_report(json, &run->reports[i]);
        json_array_end(json);

        json_put_array_begin(json, "hosts");
        for (size_t i = 0; i < run->n_hosts; i++)
                write_host(json, run, i);
        json_array_end(json);

        json_put_array_begin(json, "total");
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                write_own_total(run, json, metric);
        write_cpu_shares(run, json);
        write_gpus(run, json);
        for (const MetricInfo *info = metric_info; info < metric_info + N_METRICS; info++)
                if (is_summed(info) || strncmp(info->key, "max_t_", 6) == 0)
                        write_total_of(run, json, TOTAL_OF_HOSTS, info, is_summed(info));
        json_array_end(json);

        write_spreads(run, json);
        write_advice(run, json);
        json_object_end(json);
}
