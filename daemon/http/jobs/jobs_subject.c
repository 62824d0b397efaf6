/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "http/jobs/jobs_subject.h"
#include "http/jobs/job_json.h"
#include "http/jobs/job_lookup.h"
#include "http/jobs/phases_json.h"
#include "http/measure/node_history.h"
#include "http/pagination.h"
#include "measure/export_samples.h"
#include "measure/timeline.h"
#include "store/jobs/job_reader.h"
#include "store/node/store_node.h"
#include "util/clock.h"

#define HISTORY_POINTS 1000U

static MetricStamp stamp_of(const Sources *sources, const JobView *job) {
        return (MetricStamp){
                .time_ms = job_lookup_time_ms(sources, job),
                .step = job->info.rank > 0 ? job->info.rank : 0,
        };
}

static void write_listed_job(Json *json, const JobView *job, const Viewer *viewer, bool has_metrics) {
        json_object_begin(json);
        job_json_write_identity(json, job, viewer);
        json_key(json, "metrics");
        if (has_metrics)
                metric_json_write_values(json, &job->metrics, &job->usage);
        else
                json_null(json);
        json_object_end(json);
}

/* Conditions of a list that no index of the store can meet. */
#define LABEL_FILTERS_MAX 16U /* a query has at most 32 parameters */

typedef struct ListFilter {
        JobFilter stored;
        bool has_failed; /* jobs that exited with a status other than 0, or were terminated by a signal */
        const char *labels[LABEL_FILTERS_MAX]; /* "key=value"; a job has all of them */
        size_t n_labels;
} ListFilter;

static int labels_parse(const Target *target, Response *response, ListFilter *filter) {
        for (size_t i = 0; i < target->n_parameters; i++) {
                const char *label = target->parameters[i].value;

                if (strcmp(target->parameters[i].name, "label") != 0)
                        continue;
                if (filter->n_labels == LABEL_FILTERS_MAX)
                        return exchange_error(response, 400, "query parameter 'label' is given more than %u times", LABEL_FILTERS_MAX);
                if (!strchr(label, '='))
                        return exchange_error(response, 400, "query parameter 'label' must be KEY=VALUE, not '%s'", label);
                filter->labels[filter->n_labels++] = label;
        }
        return 0;
}

static bool has_labels(const JobDescription *info, const ListFilter *filter) {
        for (size_t i = 0; i < filter->n_labels; i++) {
                const char *label = filter->labels[i];
                size_t k = 0, n_key = strcspn(label, "=");

                while (k < info->n_labels && (strncmp(info->labels[k].key, label, n_key) != 0 || info->labels[k].key[n_key] ||
                                              strcmp(info->labels[k].value, label + n_key + 1) != 0))
                        k++;
                if (k == info->n_labels)
                        return false;
        }
        return true;
}

static bool is_listed(const JobView *job, const JobRecord *live, const ListFilter *filter) {
        if (live && filter->stored.state && strcmp(job_state_name(live->state), filter->stored.state) != 0)
                return false;
        if (filter->has_failed && (!job->end.has_exit_status || (job->end.exit_status == 0 && job->end.signal == 0)))
                return false;
        return has_labels(&job->info, filter);
}

/* 0 or EXCHANGE_ANSWERED. */
static int write_jobs(const Target *target, const Sources *sources, Response *response, const ListFilter *filter, Pagination *page,
                      Json *json) {
        JobRow row;
        int r;

        r = job_reader_list(sources->reader, &filter->stored);
        while (r == 0 && (r = job_reader_next(sources->reader, &row)) == 0) {
                const JobRecord *live = row.view.state == JOB_RUNNING ? job_lookup_live(sources->snapshot, row.view.info.id) : NULL;
                JobView view;

                if (!is_listed(&row.view, live, filter))
                        continue;
                if (!pagination_admit(page, response->body, (PageKey){ row.view.begin_realtime_ms, row.row }))
                        break;
                if (live)
                        snapshot_jobs_record_view(live, &sources->snapshot->node, &view);
                write_listed_job(json, live ? &view : &row.view, &target->viewer, live || row.has_metrics);
        }

        return r == 0 || r == READER_END ? 0 : exchange_store_error(response, r);
}

static int list_filter_parse(const Target *target, Response *response, ListFilter *filter, Pagination *page) {
        JobFilter *stored = &filter->stored;

        *filter = (ListFilter){};
        stored->name = exchange_parameter(target, "name");
        stored->user = exchange_parameter(target, "user");
        stored->state = exchange_parameter(target, "state");
        if (stored->state && job_state_find(stored->state) < 0)
                return exchange_error(response, 400, "query parameter 'state' must be running, finished or interrupted, not '%s'",
                                      stored->state);
        if (exchange_parameter_bool(target, response, "failed", &filter->has_failed) > 0 || labels_parse(target, response, filter) > 0 ||
            pagination_parse(target, response, page) > 0)
                return EXCHANGE_ANSWERED;

        stored->since_ms = page->since_ms;
        stored->until_ms = page->until_ms;
        stored->before = page->before;
        return 0;
}

static void answer_list(const Target *target, const Sources *sources, Response *response) {
        ListFilter filter;
        Pagination page;
        Json json;

        if (list_filter_parse(target, response, &filter, &page) > 0)
                return;

        pagination_begin(&json, response->body, "jobs");
        if (write_jobs(target, sources, response, &filter, &page, &json) == 0)
                pagination_end(&page, &json);
}

static void write_numbers(const Sources *sources, Json *json, const FoundJob *job) {
        if (!job->has_metrics) {
                job_json_write_no_numbers(json);
                return;
        }

        metric_json_write_all(json, &job->view->metrics, &job->view->usage, stamp_of(sources, job->view));
        job_json_write_limits(json, &job->view->usage);
        job_json_write_advice(json, job->view, exchange_node(sources));
}

/* Phases come last: reading them releases the row that the job refers to. */
static void answer_job(const Target *target, const Sources *sources, Response *response) {
        MetricStamp stamp;
        PhaseView phase;
        FoundJob job;
        bool has_phase;
        Json json = { .out = response->body };

        if (job_lookup(target, sources, response, &job) > 0)
                return;

        stamp = stamp_of(sources, job.view);
        json_object_begin(&json);
        job_json_write_identity(&json, job.view, &target->viewer);
        write_numbers(sources, &json, &job);
        job_json_write_node(&json, exchange_node(sources));
        has_phase = job.record && snapshot_jobs_record_phase(job.record, &sources->snapshot->node, &phase);
        phases_json_write(target, sources, response, &json, has_phase ? &phase : NULL, stamp.time_ms);
        json_object_end(&json);
}

static int scopes_parse(const Target *target, Response *response, MetricChoice *ret) {
        const char *text = exchange_parameter(target, "scope");
        int scope = text ? metric_scope_find(text) : -1;

        if (text && scope < 0)
                return exchange_error(response, 400, "query parameter 'scope' must be node or job, not '%s'", text);

        for (int i = 0; i < N_SCOPES; i++)
                ret->has_scope[i] = !text || scope == i;
        return 0;
}

static int choice_parse(const Target *target, Response *response, MetricChoice *ret) {
        const char *names = exchange_parameter(target, "names");
        int r;

        *ret = (MetricChoice){ .key = exchange_parameter(target, "key") };
        r = exchange_parameter_bool(target, response, "compat", &ret->is_compat);
        if (r > 0)
                return r;

        ret->has_raw_keys = names && strcmp(names, "raw") == 0;
        if (names && !ret->has_raw_keys && strcmp(names, "sanitised") != 0)
                return exchange_error(response, 400, "query parameter 'names' must be raw or sanitised, not '%s'", names);

        return scopes_parse(target, response, ret);
}

static void answer_job_metrics(const Target *target, const Sources *sources, Response *response) {
        MetricStamp stamp;
        MetricChoice choice;
        FoundJob job;
        bool has_phases;
        Json json = { .out = response->body };

        if (choice_parse(target, response, &choice) > 0 || exchange_parameter_bool(target, response, "phases", &has_phases) > 0 ||
            job_lookup(target, sources, response, &job) > 0)
                return;

        stamp = stamp_of(sources, job.view);
        json_object_begin(&json);
        json_put_array_begin(&json, "metrics");
        if (job.has_metrics)
                metric_json_write_list(&json, &job.view->metrics, &job.view->usage, &choice, stamp);
        if (has_phases && phases_json_write_times(target, sources, response, &json, choice.key, stamp) > 0)
                return;
        json_array_end(&json);
        json_object_end(&json);
}

/* Answers with the node's history since the start of a running job. */
static void answer_from_node(const Sources *sources, Response *response, uint64_t begin_ms) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = HISTORY_POINTS, .is_merging = true };
        NodeSampleRow row;
        int r, added = 0;

        r = store_node_list(sources->reader, begin_ms, 0);
        while (added >= 0 && r == 0 && (r = store_node_next(sources->reader, &row)) == 0)
                added = node_history_add(&history, &row);
        if (added < 0 || (r != 0 && r != READER_END)) {
                (void)exchange_store_error(response, added < 0 ? added : r);
                return;
        }

        if (history.timeline.interval_ns == 0)
                history.timeline.begin_realtime_ns = begin_ms * NS_PER_MS;
        timeline_json(&history.timeline, response->body);
}

static void answer_job_samples(const Target *target, const Sources *sources, Response *response) {
        scoped(timeline_deinit) Timeline timeline = {};
        ColumnReader bytes;
        FoundJob job;
        uint64_t begin_ms;

        if (job_lookup(target, sources, response, &job) > 0)
                return;

        assert(job.view == &job.live || job.view == &job.row.view);
        begin_ms = job.view->begin_realtime_ms;
        column_reader_init(&bytes, job.row.timeline.bytes, job.row.timeline.n);
        if (timeline_read(&bytes, &timeline) == 0) {
                timeline_json(&timeline, response->body);
                return;
        }

        if (job.view->state == JOB_RUNNING) {
                answer_from_node(sources, response, begin_ms);
                return;
        }

        timeline.begin_realtime_ns = begin_ms * NS_PER_MS;
        timeline_json(&timeline, response->body);
}

/* --- perf report ---------------------------------------------------------------------------------- */

/* Lists the samples of a job that runs or has ended. The list is empty if none was kept. 0 or -ENOMEM. */
static int list_samples(const Sources *sources, const FoundJob *job, ExportSamples *ret) {
        const Snapshot *snapshot = sources->snapshot;
        scoped(timeline_deinit) Timeline timeline = {};
        ColumnReader bytes;
        int r;

        if (job->record && job->record->begin)
                return sample_log_span_list(&job->record->samples, &snapshot->jobs.samples, &job->record->begin->totals,
                                        &snapshot->node.totals, ret);

        /* The timeline is in front of the samples. */
        column_reader_init(&bytes, job->row.timeline.bytes, job->row.timeline.n);
        r = timeline_read(&bytes, &timeline);
        if (r == 0)
                r = export_samples_read(&bytes, ret);
        return r < 0 ? r : 0;
}

static void write_samples(Json *json, const ExportSamples *list, bool is_compat) {
        json_put_object_begin(json, "samples");
        for (size_t field = 0; field < N_PERFPY_FIELDS; field++) {
                json_put_array_begin(json, compat_field_names[field]);
                for (size_t i = 0; i < list->n; i++) {
                        PerfpySample sample;

                        export_sample_to_perfpy(&list->samples[i], is_compat, &sample);
                        json_double(json, compat_field(&sample, field));
                }
                json_array_end(json);
        }
        json_object_end(json);
}

/*
 * Answers with {"job": …, "rank": …, "begin_ms": …, "samples_begin_ms": …, "n_merged": …, "samples": {"cpu_pct_per_cpu_avg": […], …}}:
 * a list for each of perf.py's twelve fields. samples_begin_ms is null if no sample was kept.
 */
static void answer_perf_report(const Target *target, const Sources *sources, Response *response) {
        scoped(export_samples_deinit) ExportSamples list = {};
        Json json = { .out = response->body };
        const JobView *view;
        bool is_compat;
        FoundJob job;
        int r;

        if (exchange_parameter_bool(target, response, "compat", &is_compat) > 0 || job_lookup(target, sources, response, &job) > 0)
                return;
        r = list_samples(sources, &job, &list);
        if (r < 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        view = job.view;
        json_object_begin(&json);
        json_put_string(&json, "job", view->info.id);
        json_put_int_or_null(&json, "rank", view->info.rank >= 0, view->info.rank);
        json_put_uint(&json, "begin_ms", view->begin_realtime_ms);
        json_put_int_or_null(&json, "samples_begin_ms", list.n > 0, (int64_t)list.begin_realtime_ms);
        json_put_uint(&json, "n_merged", list.n > 0 ? list.n_merged : 1);
        write_samples(&json, &list, is_compat);
        json_object_end(&json);
}

static const Route routes[] = {
        { "/api/v1/jobs",              "state name user label failed since_ms until_ms limit page", false, true,  answer_list },
        { "/api/v1/jobs/{id}",         "",                                             false, true,  answer_job },
        { "/api/v1/jobs/{id}/metrics", "key scope compat names phases",                false, true,  answer_job_metrics },
        { "/api/v1/jobs/{id}/samples", "",                                             false, true,  answer_job_samples },
        { "/api/v1/jobs/{id}/perf-report", "compat",                                   false, true,  answer_perf_report },
        {},
};

static const Collector collectors[] = {
        { "jobs", false, jobs_subject_metrics, NULL },
        { "self", false, jobs_subject_metrics_counts, NULL },
        {},
};

const Subject jobs_subject = { routes, collectors };
