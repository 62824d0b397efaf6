/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/jobs_subject.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/jobs/job_json.h"
#include "http/jobs/job_lookup.h"
#include "http/jobs/phases_json.h"
#include "http/measure/metric_scope.h"
#include "http/measure/node_history.h"
#include "http/metrics.h"
#include "http/pagination.h"
#include "measure/export_samples.h"
#include "measure/timeline.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_text.h"
#include "util/clock.h"
#include "util/scoped.h"

#define HISTORY_POINTS 1000U

static MetricStamp stamp_of(const Sources *sources, const JobView *job) {
        return (MetricStamp){
                .time_ms = job_lookup_time_ms(sources, job),
                .step = job->info.rank > 0 ? job->info.rank : 0,
        };
}

/* A row of a list; numbers of a running job are those of the snapshot. */
static void write_listed_job(const Target *target, const Sources *sources, const JobRow *row, const JobRecord *live,
                             Json *json) {
        JobView view = row->view;

        if (live)
                snapshot_jobs_record_view(live, &sources->snapshot->node, &view);
        json_object_begin(json);
        job_json_write_identity(json, &view, &target->viewer);
        json_put_bool(json, "pipeline", row->has_pipeline);
        json_key(json, "metrics");
        if (live || row->has_metrics)
                metric_json_write_values(json, &view.metrics, &view.usage);
        else
                json_null(json);
        json_object_end(json);
}

/* Conditions of a list that no index of the store can meet. */
#define LABEL_FILTERS_MAX 16U /* a query has at most 32 parameters */

typedef enum JobOrder {
        ORDER_BEGIN,
        ORDER_DURATION,
        ORDER_CPUS,
        ORDER_MEMORY,
        N_JOB_ORDERS,
} JobOrder;

typedef struct ListFilter {
        JobFilter stored;
        bool has_failed; /* jobs that exited with a status other than 0, or were terminated by a signal */
        bool has_pipeline;
        JobOrder order;
        bool is_ascending, is_newest_first; /* is_newest_first: the order of the store */
        const char *search; /* part of a text of the job, in any case; NULL: any */
        const char *labels[LABEL_FILTERS_MAX]; /* "key=value"; a job has all of them */
        size_t n_labels;
} ListFilter;

static int labels_parse(const Target *target, Response *response, ListFilter *filter) {
        for (size_t i = 0; i < target->n_parameters; i++) {
                const char *label = target->parameters[i].value;

                if (strcmp(target->parameters[i].name, "label") != 0)
                        continue;
                if (filter->n_labels == LABEL_FILTERS_MAX)
                        return exchange_error(response, 400, "query parameter 'label' is given more than %u times",
                                              LABEL_FILTERS_MAX);
                if (!strchr(label, '='))
                        return exchange_error(response, 400, "query parameter 'label' must be KEY=VALUE, not '%s'",
                                              label);
                filter->labels[filter->n_labels++] = label;
        }
        return 0;
}

static bool has_label(const JobInfo *info, const char *label) {
        size_t n_key = strcspn(label, "=");

        for (size_t i = 0; i < info->n_labels; i++)
                if (strncmp(info->labels[i].key, label, n_key) == 0 && !info->labels[i].key[n_key] &&
                    strcmp(info->labels[i].value, label + n_key + 1) == 0)
                        return true;
        return false;
}

static bool has_part(const char *text, const char *part) {
        return text && strcasestr(text, part);
}

static bool has_part_in_label(const JobInfo *info, const char *part) {
        for (size_t i = 0; i < info->n_labels; i++)
                if (has_part(info->labels[i].key, part) || has_part(info->labels[i].value, part))
                        return true;
        return false;
}

/* A command line is found only by those who may see it. */
static bool has_text(const ListedJob *job, const char *part, const Viewer *viewer) {
        return has_part(job->id, part) || has_part(job->name, part) || has_part(job->user, part) ||
               (privacy_may_see(viewer, job->uid) && has_part(job->command, part));
}

/* False: no label has the part. A part of letters and digits is in the JSON of the labels as it is. */
static bool may_be_in_labels(const char *labels, const char *part) {
        for (const char *p = part; *p; p++)
                if (!isalnum((unsigned char)*p) && !strchr(" _-.:=", *p))
                        return true;
        return has_part(labels, part);
}

/* Labels are parsed only if they decide. */
static bool meets_texts(const ListedJob *job, const ListFilter *filter, const Viewer *viewer) {
        scoped(job_info_deinit) JobInfo info = {};
        bool is_found = !filter->search || has_text(job, filter->search, viewer);

        if (is_found && filter->n_labels == 0)
                return true;
        if (!is_found && !may_be_in_labels(job->labels, filter->search))
                return false;
        if (!job->labels || job_text_parse_labels(job->labels, &info) != 0)
                return false;
        for (size_t i = 0; i < filter->n_labels; i++)
                if (!has_label(&info, filter->labels[i]))
                        return false;
        return is_found || has_part_in_label(&info, filter->search);
}

static const JobRecord *find_live(const Sources *sources, const char *state, const char *id) {
        return state && id && strcmp(state, job_state_name(JOB_RUNNING)) == 0 ? job_lookup_live(sources->snapshot, id)
                                                                              : NULL;
}

static bool is_listed(const ListedJob *job, const JobRecord *live, const ListFilter *filter, const Viewer *viewer) {
        if ((filter->has_pipeline && !job->has_pipeline) || (filter->has_failed && !job->has_failed))
                return false;
        if (live && filter->stored.state && strcmp(job_state_name(live->state), filter->stored.state) != 0)
                return false;
        return meets_texts(job, filter, viewer);
}

/* --- the order of the list ------------------------------------------------------------------------- */

static const char *const order_names[N_JOB_ORDERS] = { "begin", "duration", "cpus", "memory" };

/* NAN: the job has no such value. */
static double order_value(const Sources *sources, const ListedJob *job, const JobRecord *live, JobOrder order) {
        const UsageMetric usage = order == ORDER_CPUS ? USAGE_CPU_MEAN : USAGE_MEMORY_PEAK;
        JobView view = {};

        if (order == ORDER_BEGIN)
                return (double)job->begin_ms;
        if (!live && order == ORDER_DURATION)
                return job->end_ms > 0 ? (double)(job->end_ms - job->begin_ms) : NAN;
        if (!live)
                return job_reader_usage(sources->reader, job, usage);

        snapshot_jobs_record_view(live, &sources->snapshot->node, &view);
        if (order == ORDER_DURATION)
                return (double)(job_lookup_time_ms(sources, &view) - job->begin_ms);
        return usage_value(&view.usage, usage);
}

/* The place of a job in the list: the highest comes first, as the newest does in a list by time. Jobs without the
 * value come last. */
static PageKey order_key(double value, int64_t row, bool is_ascending) {
        const uint64_t middle = UINT64_C(1) << 62;
        uint64_t scaled = value >= 0 ? 1 + (uint64_t)fmin(1000 * value, (double)(middle - 1024)) : 0;

        return (PageKey){ value >= 0 && is_ascending ? middle - scaled : scaled, row };
}

static bool is_after(PageKey key, PageKey before) {
        return (before.time_ms == 0 && before.row == 0) || key.time_ms < before.time_ms ||
               (key.time_ms == before.time_ms && key.row < before.row);
}

/* Finds the first rows of a page: those that the store lists first, or those that are first among all. 0 or an outcome
 * of the reader. */
static int find_first(const Target *target, const Sources *sources, const ListFilter *filter, PageKey before,
                      LatestRows *ret) {
        ListedJob job;
        int r;

        r = job_reader_list(sources->reader, &filter->stored);
        while (r == 0 && (!filter->is_newest_first || ret->n < ret->n_max) &&
               (r = job_reader_next(sources->reader, &job)) == 0) {
                const JobRecord *live = find_live(sources, job.state, job.id);
                PageKey key = { job.begin_ms, job.row };

                if (!is_listed(&job, live, filter, &target->viewer))
                        continue;
                if (!filter->is_newest_first)
                        key = order_key(order_value(sources, &job, live, filter->order), job.row, filter->is_ascending);
                if (is_after(key, before))
                        (void)pagination_add_latest(ret, key);
        }
        return r == READER_END ? 0 : r;
}

/* 0 or EXCHANGE_ANSWERED. */
static int write_list(const Target *target, const Sources *sources, Response *response, const ListFilter *filter,
                      Pagination *page, Json *json) {
        scoped(freep) LatestRows *rows = malloc(sizeof(*rows));
        JobRow row;
        int r;

        if (!rows)
                return exchange_store_error(response, -ENOMEM);
        pagination_init_latest(rows, page->limit + 1);
        r = find_first(target, sources, filter, page->before, rows);
        for (size_t i = 0; r == 0 && i < rows->n; i++) {
                r = job_reader_find_row(sources->reader, rows->keys[i].row, &row);
                if (r == 0 && !pagination_admit(page, response->body, rows->keys[i]))
                        break;
                if (r == 0)
                        write_listed_job(target, sources, &row,
                                         find_live(sources, job_state_name(row.view.state), row.view.info.id), json);
                else if (r == READER_END) /* removed meanwhile */
                        r = 0;
        }
        return r == 0 ? 0 : exchange_store_error(response, r);
}

static int order_parse(const Target *target, Response *response, ListFilter *filter) {
        const char *text = exchange_parameter(target, "sort") ?: "-begin";

        filter->is_ascending = *text != '-';
        text += !filter->is_ascending;
        while (filter->order < N_JOB_ORDERS && strcmp(order_names[filter->order], text) != 0)
                filter->order++;
        if (filter->order == N_JOB_ORDERS)
                return exchange_error(response, 400,
                                      "query parameter 'sort' must be begin, duration, cpus or memory, with - in "
                                      "front for the highest first, not '%s'", text);
        filter->is_newest_first = filter->order == ORDER_BEGIN && !filter->is_ascending;
        return 0;
}

static int list_filter_parse(const Target *target, Response *response, ListFilter *filter, Pagination *page) {
        JobFilter *stored = &filter->stored;

        *filter = (ListFilter){};
        stored->name = exchange_parameter(target, "name");
        stored->user = exchange_parameter(target, "user");
        filter->search = exchange_parameter(target, "search");
        stored->state = exchange_parameter(target, "state");
        if (stored->state && job_state_find(stored->state) < 0)
                return exchange_error(response, 400,
                                      "query parameter 'state' must be running, finished or interrupted, not '%s'",
                                      stored->state);
        if (exchange_parameter_bool(target, response, "failed", &filter->has_failed) > 0 ||
            exchange_parameter_bool(target, response, "pipeline", &filter->has_pipeline) > 0 ||
            order_parse(target, response, filter) > 0 || labels_parse(target, response, filter) > 0 ||
            pagination_parse(target, response, page) > 0)
                return EXCHANGE_ANSWERED;

        stored->since_ms = page->since_ms;
        stored->until_ms = page->until_ms;
        stored->before = filter->is_newest_first ? page->before : (PageKey){};
        stored->has_usage = filter->order == ORDER_CPUS || filter->order == ORDER_MEMORY;
        return 0;
}

static size_t count_others(const JobsSnapshot *jobs, const Viewer *viewer) {
        size_t n = 0;

        for (size_t i = 0; i < jobs->used.n_records; i++)
                n += jobs->records[i].state == JOB_RUNNING && !privacy_may_list(viewer, jobs->records[i].info.uid);
        return n;
}

static void answer_list(const Target *target, const Sources *sources, Response *response) {
        ListFilter filter;
        Pagination page;
        Json json = { .out = response->body };

        if (list_filter_parse(target, response, &filter, &page) > 0)
                return;

        json_object_begin(&json);
        if (target->viewer.hides_others && sources->snapshot) {
                json_put_object_begin(&json, "others");
                json_put_uint(&json, "running", count_others(&sources->snapshot->jobs, &target->viewer));
                json_object_end(&json);
        }
        json_put_array_begin(&json, "jobs");
        if (write_list(target, sources, response, &filter, &page, &json) == 0)
                pagination_end(&page, &json);
}

static const JobGpus *gpus_of(const FoundJob *job) {
        return job->record ? &job->record->gpus : &job->row.gpus;
}

static void write_numbers(const Sources *sources, Json *json, const FoundJob *job) {
        if (!job->has_metrics) {
                job_json_write_no_numbers(json);
                return;
        }

        metric_json_write_all(json, &job->view->metrics, &job->view->usage, gpus_of(job),
                              stamp_of(sources, job->view));
        job_json_write_limits(json, &job->view->usage);
        job_json_write_advice(json, job->view, gpus_of(job), exchange_node(sources));
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
        job_steps_write_json(job.record ? &job.record->steps : &job.row.steps, &job.view->usage,
                             job.view->end_realtime_ms, &json);
        job_gpus_write_json(gpus_of(&job), &json);
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
        static const char *const names[] = { "sanitised", "raw", NULL };
        int has_raw_keys;

        *ret = (MetricChoice){ .key = exchange_parameter(target, "key") };
        if (exchange_parameter_bool(target, response, "compat", &ret->is_compat) > 0 ||
            exchange_parameter_word(target, response, "names", names, &has_raw_keys) > 0)
                return EXCHANGE_ANSWERED;
        ret->has_raw_keys = has_raw_keys;
        return scopes_parse(target, response, ret);
}

static void answer_job_metrics(const Target *target, const Sources *sources, Response *response) {
        MetricStamp stamp;
        MetricChoice choice;
        FoundJob job;
        bool has_phases;
        Json json = { .out = response->body };

        if (choice_parse(target, response, &choice) > 0 ||
            exchange_parameter_bool(target, response, "phases", &has_phases) > 0 ||
            job_lookup(target, sources, response, &job) > 0)
                return;

        stamp = stamp_of(sources, job.view);
        json_object_begin(&json);
        json_put_array_begin(&json, "metrics");
        if (job.has_metrics)
                metric_json_write_list(&json, &job.view->metrics, &job.view->usage, gpus_of(&job), &choice, stamp);
        if (has_phases && phases_json_write_times(target, sources, response, &json, choice.key, stamp) > 0)
                return;
        json_array_end(&json);
        json_object_end(&json);
}

/* Sets the sums over GPUs to those of the job: the node's have those of others. */
static void put_gpu_series(const Timeline *of_job, Timeline *timeline) {
        timeline->kind = TIMELINE_OF_GPU_JOB;
        for (size_t i = 0; i < timeline->n; i++) {
                uint64_t ns = timeline->begin_realtime_ns + i * timeline->interval_ns + timeline->interval_ns / 2;
                uint64_t at = ns < of_job->begin_realtime_ns ? of_job->n
                                                             : (ns - of_job->begin_realtime_ns) / of_job->interval_ns;
                const TimelinePoint *point = at < of_job->n ? &of_job->points[at] : &timeline_hole;

                for (Series series = N_JOB_SERIES; series < N_SERIES; series++)
                        timeline->points[i].series[series] = point->series[series];
        }
}

/* A timeline of a job that began before perfd started, or was reported late, lacks that time. */
#define TIMELINE_LATE_MAX_NS (2 * NS_PER_S)

/* Answers with the node's history since the start of a running job; of one with GPUs, with its own if it is whole. */
static void answer_running(const Sources *sources, Response *response, uint64_t begin_ms, const Buffer *of_job) {
        scoped(node_history_deinit) NodeHistory history = { .n_points_max = HISTORY_POINTS, .is_merging = true };
        scoped(timeline_deinit) Timeline timeline = {};
        ColumnReader reader;
        bool has_own;
        int r;

        column_reader_init(&reader, of_job->text, of_job->n);
        has_own = of_job->n > 0 && timeline_read(&reader, &timeline) == 0;
        if (has_own && timeline.begin_realtime_ns <= begin_ms * NS_PER_MS + TIMELINE_LATE_MAX_NS) {
                timeline_json(&timeline, response->body);
                return;
        }
        history.since_ms = begin_ms;
        r = node_history_read(&history, sources->reader);
        if (r != 0) {
                (void)exchange_store_error(response, r);
                return;
        }

        if (history.timeline.interval_ns == 0)
                history.timeline.begin_realtime_ns = begin_ms * NS_PER_MS;
        if (has_own)
                put_gpu_series(&timeline, &history.timeline);
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
                answer_running(sources, response, begin_ms, job.record ? &job.record->timeline : &(Buffer){});
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
 * Answers with {"job": …, "rank": …, "begin_ms": …, "samples_begin_ms": …, "n_merged": …, "samples":
 * {"cpu_pct_per_cpu_avg": […], …}}: a list for each of perf.py's twelve fields. samples_begin_ms is null if no
 * sample was kept.
 */
static void answer_perf_report(const Target *target, const Sources *sources, Response *response) {
        scoped(export_samples_deinit) ExportSamples list = {};
        Json json = { .out = response->body };
        const JobView *view;
        bool is_compat;
        FoundJob job;
        int r;

        if (exchange_parameter_bool(target, response, "compat", &is_compat) > 0 ||
            job_lookup(target, sources, response, &job) > 0)
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

/* --- metrics ------------------------------------------------------------------------------------------ */

/* An exposed job with its metrics as of the snapshot. */
typedef struct ExposedJob {
        const JobRecord *record;
        size_t label; /* its position in the labels */
        MetricSet metrics;
        UsageSet usage;
} ExposedJob;

typedef struct ExposedJobs {
        ExposedJob *jobs;
        size_t n;
        const char *labels; /* job="ID" of each job, escaped once for all its samples */
        bool shows_created;
} ExposedJobs;

/* Only this family has names and users: queries join the other families with it by job. */
static void put_info(Exposition *exposition, const ExposedJobs *exposed) {
        exposition_family(exposition, "perfd_job", FAMILY_INFO, "",
                          "Running jobs and recently ended jobs of this node");
        for (size_t i = 0; i < exposed->n; i++) {
                const JobRecord *job = exposed->jobs[i].record;

                exposition_sample(exposition);
                exposition_label(exposition, "job", job->info.id);
                if (exposition->has_names) {
                        exposition_label(exposition, "name", job->info.name);
                        exposition_label(exposition, "user", job->info.user);
                }
                exposition_label(exposition, "state", job_state_name(job->state));
                exposition_label(exposition, "isolation", job_isolation_name(job->info.isolation));
                if (job->info.rank >= 0)
                        exposition_label_i64(exposition, "rank", job->info.rank);
                if (job->info.node >= 0)
                        exposition_label_i64(exposition, "node", job->info.node);
                exposition_u64(exposition, 1);
        }
}

static void put_begin(Exposition *exposition, const ExposedJobs *exposed) {
        exposition_family(exposition, "perfd_job_begin_timestamp_seconds", FAMILY_GAUGE, "seconds",
                          "Unix time of the start of the job");
        for (size_t i = 0; i < exposed->n; i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "job", exposed->jobs[i].record->info.id);
                exposition_decimal(exposition, exposed->jobs[i].record->begin_realtime_ms, 3);
        }
}

/* --- families over both tables ------------------------------------------------------------------- */

/* A row of either table. Rows of the node come first: a family in both tables has the help text of the node. */
#define N_LINES ((size_t)N_METRICS + N_USAGES)

static const MetricInfo *line_info(size_t line) {
        return line < N_METRICS ? &metric_info[line] : &usage_info[line - N_METRICS];
}

static ScopeMetrics metric_scope_of_line(const ExposedJob *job, size_t line) {
        return line < N_METRICS ? metric_scope_of_node(&job->metrics) : metric_scope_of_job(&job->usage);
}

static void put_job_line(Exposition *exposition, const ExposedJob *job, const char *label, size_t line) {
        const ScopeMetrics scope_metrics = metric_scope_of_line(job, line);
        size_t i = line < N_METRICS ? line : line - N_METRICS;

        assert(i < scope_metrics.n);
        if (!metric_scope_has(&scope_metrics, i))
                return;

        exposition_sample(exposition);
        exposition_labels(exposition, label);
        exposition_labels(exposition, scope_metrics.scope == SCOPE_NODE ? "scope=\"node\"" : "scope=\"job\"");
        exposition_labels(exposition, scope_metrics.info[i].label);
        exposition_double(exposition, scope_metrics.value[i]);
}

static void begin_family(Exposition *exposition, const MetricInfo *info) {
        char name[FAMILY_NAME_MAX] = "perfd_job_";

        (void)stpncpy(strchr(name, '\0'), info->family, sizeof(name) - sizeof("perfd_job_"));
        exposition_family(exposition, name, info->type == METRIC_TYPE_COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE,
                          info->unit, info->help);
}

/* Collects all rows of one family, whatever their table and order. n_bytes: length of the names, 0 for a row that is
 * done; most comparisons end with the length. */
static void put_family(Exposition *exposition, const ExposedJobs *exposed, size_t first,
                       size_t n_bytes[static N_LINES]) {
        const MetricInfo *info = line_info(first);
        size_t n = n_bytes[first];

        begin_family(exposition, info);
        for (size_t line = first; line < N_LINES; line++) {
                if (n_bytes[line] != n || memcmp(line_info(line)->family, info->family, n) != 0)
                        continue;

                n_bytes[line] = 0;
                for (size_t i = 0; i < exposed->n; i++) {
                        exposition_created(exposition,
                                           exposed->shows_created ? exposed->jobs[i].record->begin_realtime_ms : 0);
                        put_job_line(exposition, &exposed->jobs[i], exposed->labels + exposed->jobs[i].label, line);
                }
        }
}

static void put_families(Exposition *exposition, const ExposedJobs *exposed) {
        size_t n_bytes[N_LINES];

        for (size_t line = 0; line < N_LINES; line++)
                n_bytes[line] = strlen(line_info(line)->family);
        for (size_t line = 0; line < N_LINES; line++)
                if (n_bytes[line] > 0)
                        put_family(exposition, exposed, line, n_bytes);
}

/* Counters of each GPU of the jobs that run. */
static void put_gpu_counter(Exposition *exposition, const ExposedJobs *exposed, size_t value) {
        const EquipmentValue *info = &equipment_kinds[EQUIPMENT_GPU].values[value];
        char name[FAMILY_NAME_MAX];
        bool has_family = false;

        for (size_t i = 0; i < exposed->n; i++) {
                const JobRecord *record = exposed->jobs[i].record;

                for (size_t k = 0; k < record->gpus.n; k++) {
                        const JobGpu *gpu = &record->gpus.items[k];

                        if (!(gpu->have & (UINT32_C(1) << value)) || !gpu->name[0])
                                continue;
                        if (!has_family) {
                                (void)snprintf(name, sizeof(name), "perfd_job_%s", info->family);
                                exposition_family(exposition, name, FAMILY_COUNTER, info->unit, info->help);
                        }
                        has_family = true;
                        exposition_created(exposition, exposed->shows_created ? record->begin_realtime_ms : 0);
                        exposition_sample(exposition);
                        exposition_labels(exposition, exposed->labels + exposed->jobs[i].label);
                        exposition_label(exposition, "gpu", gpu->name);
                        exposition_decimal(exposition, gpu->values[value], info->n_decimals);
                }
        }
}

static void put_gpus(Exposition *exposition, const ExposedJobs *exposed) {
        for (size_t value = 0; value < N_GPU_VALUES; value++)
                if (equipment_kinds[EQUIPMENT_GPU].values[value].type == EQUIPMENT_COUNTER)
                        put_gpu_counter(exposition, exposed, value);
}

static void raise_to(UsageSet *usage, UsageMetric metric, double shown) {
        if (usage->value[metric] < shown)
                usage->value[metric] = shown;
}

/* Sets a job, and appends its label and a NUL. */
static void expose(ExposedJob *job, const JobRecord *record, const NodeSnapshot *node, Buffer *labels) {
        Exposition label;

        exposition_init(&label, labels, true);
        exposition_label(&label, "job", record->info.id);
        buffer_putc(labels, '\0');
        job->record = record;
        snapshot_jobs_record_metrics(record, node, &job->metrics, &job->usage);
        if (!record->result)
                return;
        raise_to(&job->usage, USAGE_CPU_SECONDS, record->result->shown.total_s);
        raise_to(&job->usage, USAGE_CPU_USER, record->result->shown.user_s);
        raise_to(&job->usage, USAGE_CPU_SYSTEM, record->result->shown.system_s);
}

/* --- totals of ended jobs -------------------------------------------------------------------------- */

#define TOTAL_COUNTER(member, n_decimals, name, unit, help) \
        { offsetof(UsageTotal, member), SCALAR_U64, n_decimals, FAMILY_COUNTER, name, unit, help }

#define N_TOTALS 4U

static const Scalar user_scalars[N_TOTALS] = {
        TOTAL_COUNTER(n_jobs, 0, "perfd_user_jobs_ended", "", "Jobs of the user that have ended"),
        TOTAL_COUNTER(cpu_us, 6, "perfd_user_jobs_cpu_seconds", "seconds", "CPU time of the user's ended jobs"),
        TOTAL_COUNTER(read_bytes, 0, "perfd_user_jobs_disk_read_bytes", "bytes",
                      "Bytes that the user's ended jobs have read from disks"),
        TOTAL_COUNTER(written_bytes, 0, "perfd_user_jobs_disk_written_bytes", "bytes",
                      "Bytes that the ended jobs of the user have written to disks"),
};

static const Scalar label_scalars[N_TOTALS] = {
        TOTAL_COUNTER(n_jobs, 0, "perfd_label_jobs_ended", "", "Jobs with this value of the label that have ended"),
        TOTAL_COUNTER(cpu_us, 6, "perfd_label_jobs_cpu_seconds", "seconds",
                      "CPU time of the ended jobs with this value of the label"),
        TOTAL_COUNTER(read_bytes, 0, "perfd_label_jobs_disk_read_bytes", "bytes",
                      "Bytes that the ended jobs with this value of the label have read from disks"),
        TOTAL_COUNTER(written_bytes, 0, "perfd_label_jobs_disk_written_bytes", "bytes",
                      "Bytes that the ended jobs with this value of the label have written to disks"),
};

/* Totals with the same labels except for the value of the last. */
typedef struct TotalsView {
        const UsageTotals *totals;
        const Scalar *scalars; /* N_TOTALS */
        const char *label;     /* value of the label `label`; NULL: none */
        const char *key_name;
        bool shows_created;
} TotalsView;

static void put_total(Exposition *exposition, const TotalsView *view, const Scalar *scalar, const char *key,
                      const UsageTotal *total) {
        exposition_created(exposition, view->shows_created ? total->begin_ms : 0);
        exposition_sample(exposition);
        if (view->label)
                exposition_label(exposition, "label", view->label);
        exposition_label(exposition, view->key_name, key);
        metrics_scalar_value(exposition, scalar, total);
}

/* Adds up all totals, which begin with the earliest of them. */
static UsageTotal sum_totals(const UsageTotals *totals) {
        UsageTotal sum = totals->others;

        for (size_t i = 0; i < totals->n; i++) {
                const UsageTotal *entry = &totals->entries[i];

                if (entry->begin_ms > 0 && (sum.begin_ms == 0 || entry->begin_ms < sum.begin_ms))
                        sum.begin_ms = entry->begin_ms;
                sum.n_jobs += entry->n_jobs;
                sum.cpu_us += entry->cpu_us;
                sum.read_bytes += entry->read_bytes;
                sum.written_bytes += entry->written_bytes;
        }
        return sum;
}

static void put_totals(Exposition *exposition, const TotalsView *view) {
        const UsageTotals *totals = view->totals;
        const UsageTotal rest = exposition->has_names ? totals->others : sum_totals(totals);
        size_t n = exposition->has_names ? totals->n : 0;

        for (size_t k = 0; k < N_TOTALS; k++) {
                metrics_scalar_family(exposition, &view->scalars[k]);
                for (size_t i = 0; i < n; i++)
                        put_total(exposition, view, &view->scalars[k], totals->entries[i].key, &totals->entries[i]);
                put_total(exposition, view, &view->scalars[k], "other", &rest);
        }
}

/* --- all of it ------------------------------------------------------------------------------------ */

#define JOBS_BYTES_MAX                                                                                                 \
        (4U * 1024U * 1024U) /* of the text of all jobs, so that an answer has the rest of ANSWER_BYTES_MAX */
#define MEASURED_JOBS 64U

static void put_jobs(Exposition *exposition, const ExposedJobs *exposed) {
        put_info(exposition, exposed);
        put_begin(exposition, exposed);
        put_families(exposition, exposed);
        put_gpus(exposition, exposed);
}

/* Returns how many jobs are written: all of them, unless the size of the first indicates that the text would be too
 * large. */
static size_t count_fitting(const ExposedJobs *exposed, bool is_openmetrics) {
        scoped(buffer_deinit) Buffer text = {};
        ExposedJobs measured = *exposed;
        Exposition exposition;
        size_t n;

        if (exposed->n <= MEASURED_JOBS)
                return exposed->n;
        measured.n = MEASURED_JOBS;
        exposition_init(&exposition, &text, is_openmetrics);
        put_jobs(&exposition, &measured);
        n = text.n > 0 ? MEASURED_JOBS * (size_t)JOBS_BYTES_MAX / text.n : MEASURED_JOBS;
        return n < exposed->n ? n : exposed->n;
}

void jobs_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const size_t n = snapshot_jobs_n_exposed(&snapshot->jobs);
        scoped(freep) ExposedJob *jobs = reallocarray(NULL, n + 1, sizeof(*jobs));
        scoped(buffer_deinit) Buffer labels = {};
        ExposedJobs exposed = { .jobs = jobs, .n = n, .shows_created = snapshot->jobs.shows_created };

        for (size_t i = 0; jobs && i < n; i++) {
                jobs[i].label = labels.n + strlen("{");
                expose(&jobs[i], &snapshot->jobs.records[i], &snapshot->node, &labels);
        }
        if (!jobs || buffer_error(&labels) < 0) {
                exposition->out->failed = true;
                return;
        }

        exposed.labels = labels.text;
        exposed.n = count_fitting(&exposed, exposition->is_openmetrics);
        exposition_single(exposition, "perfd_jobs_running", FAMILY_GAUGE, "Running jobs", snapshot->jobs.n_running);
        exposition_single(exposition, "perfd_jobs_not_exposed", FAMILY_GAUGE,
                          "Jobs omitted because of the limits on their number and size; the JSON API has them",
                          snapshot->jobs.used.n_records - exposed.n + snapshot->jobs.n_not_exposed);

        put_jobs(exposition, &exposed);
        put_totals(exposition,
                   &(TotalsView){ &snapshot->jobs.users, user_scalars, NULL, "uid", exposed.shows_created });
        if (snapshot->jobs.totals_label[0])
                put_totals(exposition, &(TotalsView){ &snapshot->jobs.labels, label_scalars,
                                                      snapshot->jobs.totals_label, "value", exposed.shows_created });
        exposition_created(exposition, 0);
}

/* --- statistics of perfd itself ------------------------------------------------------------------ */

static const Scalar job_scalars[] = {
        SCALAR_COUNTER(JobsStats, n_begun, "perfd_jobs_begun", "Jobs begun"),
        SCALAR_COUNTER(JobsStats, n_finished, "perfd_jobs_finished", "Jobs whose end was reported"),
        SCALAR_COUNTER(JobsStats, n_interrupted, "perfd_jobs_interrupted",
                       "Jobs whose process went away before their end was reported"),
        SCALAR_GAUGE(JobsStats, n_with_cgroup, SCALAR_U64, "perfd_jobs_with_cgroup", "",
                     "Running jobs with a cgroup of their own"),
        SCALAR_COUNTER(JobsStats, n_io_lines_skipped, "perfd_cgroup_io_lines_skipped",
                       "Lines about I/O of cgroups that were skipped: without a device, or cut short"),
};

static const Scalar finder_scalars[] = {
        SCALAR_COUNTER(FinderStats, n_found, "perfd_cgroups_found", "Cgroups that were detected as jobs by a pattern"),
        SCALAR_COUNTER(FinderStats, n_unrecognized, "perfd_cgroups_unrecognized",
                       "Cgroups where jobs are expected, with a name that matches no pattern"),
        SCALAR_COUNTER(FinderStats, n_not_watched, "perfd_cgroups_not_watched",
                       "Cgroup directories that could not be watched"),
};

static void put_counts(Exposition *exposition, const Snapshot *snapshot) {
        const JobsSnapshot *jobs = &snapshot->jobs;

        metrics_scalars(exposition, &jobs->stats, job_scalars, N_ELEMENTS(job_scalars));
        metrics_scalars(exposition, &jobs->finder, finder_scalars, N_ELEMENTS(finder_scalars));
}

/* --- tables ------------------------------------------------------------------------------------------- */

const Subject jobs_subject = {
        .routes = ROUTES(
                { "/api/v1/jobs",              "state name user label search failed pipeline sort since_ms until_ms limit page", false, true,  answer_list },
                { "/api/v1/jobs/{id}",         "",                                             false, true,  answer_job },
                { "/api/v1/jobs/{id}/metrics", "key scope compat names phases",                false, true,  answer_job_metrics },
                { "/api/v1/jobs/{id}/samples", "",                                             false, true,  answer_job_samples },
                { "/api/v1/jobs/{id}/perf-report", "compat",                                   false, true,  answer_perf_report }),
        .collectors = COLLECTORS(
                { "jobs", false, jobs_subject_metrics, NULL },
                { "self", false, put_counts, NULL }),
};
