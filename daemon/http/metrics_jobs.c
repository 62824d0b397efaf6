#include "http/metrics.h"

#include <string.h>

static size_t n_exposed(const Snapshot *snapshot) {
        return snapshot->n_jobs < snapshot->metrics_jobs_max ? snapshot->n_jobs : snapshot->metrics_jobs_max;
}

static void put_info(Exposition *exposition, const Snapshot *snapshot) {
        exposition_family(exposition, "perfd_job", FAMILY_INFO, "", "Jobs that run on this node, and those that ended lately");
        for (size_t i = 0; i < n_exposed(snapshot); i++) {
                const JobView *job = &snapshot->jobs[i];

                exposition_sample(exposition);
                exposition_label(exposition, "job", job->info.id);
                exposition_label(exposition, "name", job->info.name);
                exposition_label(exposition, "user", job->info.user);
                exposition_label(exposition, "state", job_state_name(job->state));
                if (job->info.rank >= 0)
                        exposition_label_i64(exposition, "rank", job->info.rank);
                exposition_u64(exposition, 1);
        }
}

static void put_begin(Exposition *exposition, const Snapshot *snapshot) {
        exposition_family(exposition, "perfd_job_begin_timestamp_seconds", FAMILY_GAUGE, "seconds", "When the job began, Unix time");
        for (size_t i = 0; i < n_exposed(snapshot); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "job", snapshot->jobs[i].info.id);
                exposition_decimal(exposition, snapshot->jobs[i].begin_realtime_ms, 3);
        }
}

static bool is_same_family(Metric a, Metric b) {
        return strcmp(metric_info[a].family, metric_info[b].family) == 0;
}

/* The metric whose line in the table names the family and has its help. */
static bool is_first_of_family(Metric metric) {
        for (Metric earlier = 0; earlier < metric; earlier++)
                if (is_same_family(earlier, metric))
                        return false;
        return true;
}

static void put_job_metric(Exposition *exposition, const JobView *job, Metric metric) {
        if (!quality_is_present(job->metrics.quality[metric]))
                return;

        exposition_sample(exposition);
        exposition_label(exposition, "job", job->info.id);
        exposition_labels(exposition, metric_info[metric].label);
        exposition_double(exposition, job->metrics.value[metric]);
}

/* All lines of the table that make one family stand together here, whatever their order there. */
static void put_family(Exposition *exposition, const Snapshot *snapshot, Metric first) {
        const MetricInfo *info = &metric_info[first];
        char name[FAMILY_NAME_MAX];

        (void)snprintf(name, sizeof(name), "perfd_job_%s", info->family);
        exposition_family(exposition, name, info->type == METRIC_TYPE_COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE,
                          info->unit, info->help);

        for (Metric metric = first; metric < N_METRICS; metric++) {
                if (!is_same_family(first, metric))
                        continue;
                for (size_t i = 0; i < n_exposed(snapshot); i++)
                        put_job_metric(exposition, &snapshot->jobs[i], metric);
        }
}

void metrics_jobs(Exposition *exposition, const Snapshot *snapshot) {
        exposition_single(exposition, "perfd_jobs_running", FAMILY_GAUGE, "Jobs that run now", snapshot->n_jobs_running);
        exposition_single(exposition, "perfd_jobs_not_exposed", FAMILY_GAUGE,
                          "Jobs left out here for the limit on their number; the JSON API has them",
                          snapshot->n_jobs_not_exposed);

        put_info(exposition, snapshot);
        put_begin(exposition, snapshot);
        for (Metric metric = 0; metric < N_METRICS; metric++)
                if (is_first_of_family(metric))
                        put_family(exposition, snapshot, metric);
}
