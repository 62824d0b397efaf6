/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/jobs/jobs_subject.h"
#include "http/measure/metric_scope.h"
#include "http/metrics.h"
#include "util/scoped.h"

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
        exposition_family(exposition, "perfd_job", FAMILY_INFO, "", "Running jobs and recently ended jobs of this node");
        for (size_t i = 0; i < exposed->n; i++) {
                const JobRecord *job = exposed->jobs[i].record;

                exposition_sample(exposition);
                exposition_label(exposition, "job", job->info.id);
                exposition_label(exposition, "name", job->info.name);
                exposition_label(exposition, "user", job->info.user);
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
        exposition_family(exposition, "perfd_job_begin_timestamp_seconds", FAMILY_GAUGE, "seconds", "Unix time of the start of the job");
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

/* Collects all rows of one family, whatever their table and order. n_bytes: length of the names, 0 for a row that is done; most
 * comparisons end with the length. */
static void put_family(Exposition *exposition, const ExposedJobs *exposed, size_t first, size_t n_bytes[static N_LINES]) {
        const MetricInfo *info = line_info(first);
        size_t n = n_bytes[first];

        begin_family(exposition, info);
        for (size_t line = first; line < N_LINES; line++) {
                if (n_bytes[line] != n || memcmp(line_info(line)->family, info->family, n) != 0)
                        continue;

                n_bytes[line] = 0;
                for (size_t i = 0; i < exposed->n; i++) {
                        exposition_created(exposition, exposed->shows_created ? exposed->jobs[i].record->begin_realtime_ms : 0);
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
        TOTAL_COUNTER(read_bytes, 0, "perfd_user_jobs_disk_read_bytes", "bytes", "Bytes that the user's ended jobs have read from disks"),
        TOTAL_COUNTER(written_bytes, 0, "perfd_user_jobs_disk_written_bytes", "bytes",
                      "Bytes that the ended jobs of the user have written to disks"),
};

static const Scalar label_scalars[N_TOTALS] = {
        TOTAL_COUNTER(n_jobs, 0, "perfd_label_jobs_ended", "", "Jobs with this value of the label that have ended"),
        TOTAL_COUNTER(cpu_us, 6, "perfd_label_jobs_cpu_seconds", "seconds", "CPU time of the ended jobs with this value of the label"),
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

static void put_total(Exposition *exposition, const TotalsView *view, const Scalar *scalar, const char *key, const UsageTotal *total) {
        exposition_created(exposition, view->shows_created ? total->begin_ms : 0);
        exposition_sample(exposition);
        if (view->label)
                exposition_label(exposition, "label", view->label);
        exposition_label(exposition, view->key_name, key);
        metrics_scalar_value(exposition, scalar, total);
}

static void put_totals(Exposition *exposition, const TotalsView *view) {
        const UsageTotals *totals = view->totals;

        for (size_t k = 0; k < N_TOTALS; k++) {
                metrics_scalar_family(exposition, &view->scalars[k]);
                for (size_t i = 0; i < totals->n; i++)
                        put_total(exposition, view, &view->scalars[k], totals->entries[i].key, &totals->entries[i]);
                put_total(exposition, view, &view->scalars[k], "other", &totals->others);
        }
}

/* --- all of it ------------------------------------------------------------------------------------ */

#define JOBS_BYTES_MAX (4U * 1024U * 1024U) /* of the text of all jobs, so that an answer has the rest of ANSWER_BYTES_MAX */
#define MEASURED_JOBS 64U

static void put_jobs(Exposition *exposition, const ExposedJobs *exposed) {
        put_info(exposition, exposed);
        put_begin(exposition, exposed);
        put_families(exposition, exposed);
}

/* Returns how many jobs are written: all of them, unless the size of the first indicates that the text would be too large. */
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

int jobs_subject_metrics(Exposition *exposition, const Snapshot *snapshot) {
        const size_t n = snapshot_jobs_n_exposed(&snapshot->jobs);
        scoped(freep) ExposedJob *jobs = reallocarray(NULL, n + 1, sizeof(*jobs));
        scoped(buffer_deinit) Buffer labels = {};
        ExposedJobs exposed = { .jobs = jobs, .n = n, .shows_created = snapshot->jobs.shows_created };

        if (!jobs)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                jobs[i].label = labels.n + strlen("{");
                expose(&jobs[i], &snapshot->jobs.records[i], &snapshot->node, &labels);
        }
        if (buffer_error(&labels) < 0)
                return -ENOMEM;

        exposed.labels = labels.text;
        exposed.n = count_fitting(&exposed, exposition->is_openmetrics);
        exposition_single(exposition, "perfd_jobs_running", FAMILY_GAUGE, "Running jobs", snapshot->jobs.n_running);
        exposition_single(exposition, "perfd_jobs_not_exposed", FAMILY_GAUGE,
                          "Jobs omitted because of the limits on their number and size; the JSON API has them",
                          snapshot->jobs.used.n_records - exposed.n + snapshot->jobs.n_left_out);

        put_jobs(exposition, &exposed);
        put_totals(exposition, &(TotalsView){ &snapshot->jobs.users, user_scalars, NULL, "uid", exposed.shows_created });
        if (snapshot->jobs.totals_label[0])
                put_totals(exposition, &(TotalsView){ &snapshot->jobs.labels, label_scalars, snapshot->jobs.totals_label, "value",
                                                     exposed.shows_created });
        exposition_created(exposition, 0);
        return 0;
}

/* --- statistics of perfd itself ------------------------------------------------------------------ */

static const Scalar job_scalars[] = {
        SCALAR_COUNTER(JobsStats, n_begun, "perfd_jobs_begun", "Jobs begun"),
        SCALAR_COUNTER(JobsStats, n_finished, "perfd_jobs_finished", "Jobs whose end was reported"),
        SCALAR_COUNTER(JobsStats, n_interrupted, "perfd_jobs_interrupted", "Jobs whose process went away before their end was reported"),
        SCALAR_GAUGE(JobsStats, n_with_cgroup, SCALAR_U64, "perfd_jobs_with_cgroup", "", "Running jobs with a cgroup of their own"),
};

static const Scalar finder_scalars[] = {
        SCALAR_COUNTER(FinderStats, n_found, "perfd_cgroups_found", "Cgroups that were detected as jobs by a pattern"),
        SCALAR_COUNTER(FinderStats, n_unrecognized, "perfd_cgroups_unrecognized",
                       "Cgroups where jobs are expected, with a name that matches no pattern"),
        SCALAR_COUNTER(FinderStats, n_not_watched, "perfd_cgroups_not_watched", "Cgroup directories that could not be watched"),
};

int jobs_subject_metrics_counts(Exposition *exposition, const Snapshot *snapshot) {
        const JobsSnapshot *jobs = &snapshot->jobs;

        metrics_scalars(exposition, &jobs->stats, job_scalars, N_ELEMENTS(job_scalars));
        metrics_scalars(exposition, &jobs->finder, finder_scalars, N_ELEMENTS(finder_scalars));
        return 0;
}
