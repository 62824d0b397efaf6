/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs/groups.h"
#include "jobs/job_end.h"
#include "util/clock.h"
#include "util/parse.h"

/* Out of memory: it is just not shown. */
static void fill_phase(const Service *service, const Job *job, JobView *view) {
        view->n_phases = job->n_phases;
        if (job->mark && !view->phase)
                view->phase = malloc(sizeof(*view->phase));
        if (!job->mark)
                free(TAKE(view->phase));
        if (!view->phase)
                return;

        job_end_phase_view(service, job, view->phase);
        view->phase->end_realtime_ms = 0;
}

static void fill_running(const Service *service, const Job *job, JobView *view) {
        job_description_share(&job->info, &view->info);
        view->state = JOB_RUNNING;
        view->begin_realtime_ms = job->begin_realtime_ms;
        view->end_realtime_ms = 0;
        free(TAKE(view->end));
        if (job->ending) { /* its numbers stand still: only the word of its end is missing */
                view->metrics = job->ending->metrics;
                view->usage = job->ending->usage;
        } else {
                window_metrics(&job->window, meter_totals(service->node.meter), node_n_cpus(&service->node), &view->metrics);
                groups_metrics(service, job, NULL, &view->usage);
        }
        fill_phase(service, job, view);
}

static bool fill_finished(const FinishedJob *finished, JobView *view) {
        if (job_view_set_end(view, finished->view.end) < 0)
                return false;

        job_description_share(&finished->view.info, &view->info);
        view->state = finished->view.state;
        view->n_phases = finished->view.n_phases;
        view->begin_realtime_ms = finished->view.begin_realtime_ms;
        view->end_realtime_ms = finished->view.end_realtime_ms;
        free(TAKE(view->phase));
        view->metrics = finished->view.metrics;
        view->usage = finished->view.usage;
        return true;
}

static void fill_jobs(const Service *service, Snapshot *snapshot) {
        const Jobs *jobs = &service->jobs;

        snapshot->n_jobs = snapshot->n_jobs_running = 0;
        snapshot->metrics_jobs_max = service->config.jobs.metrics_jobs_max;
        if (snapshot_reserve_jobs(snapshot, jobs->n + jobs->n_finished) < 0)
                return;

        for (const Job *job = jobs->first; job; job = job->next)
                if (job->phase != JOB_PHASE_BEGINNING)
                        fill_running(service, job, &snapshot->jobs[snapshot->n_jobs++]);
        snapshot->n_jobs_running = snapshot->n_jobs;

        for (const FinishedJob *finished = jobs->first_finished; finished; finished = finished->next)
                if (fill_finished(finished, &snapshot->jobs[snapshot->n_jobs]))
                        snapshot->n_jobs++;
        snapshot->n_jobs_not_exposed =
                snapshot->n_jobs > snapshot->metrics_jobs_max ? snapshot->n_jobs - snapshot->metrics_jobs_max : 0;
}

/* The models hardly change: copied once for each slot they come to lie in. */
static void fill_indicators(const Service *service, Snapshot *snapshot) {
        tally_publish(&service->tally, snapshot);
        if (snapshot->models_version == service->models_version)
                return;

        free(snapshot->models);
        snapshot->models = strdup(service->models_json);
        snapshot->models_version = snapshot->models ? service->models_version : 0;
}

static void fill_node(const Service *service, Snapshot *snapshot) {
        const Node *node = &service->node;

        memcpy(snapshot->hostname, service->hostname, sizeof(snapshot->hostname));
        memcpy(snapshot->machine, service->machine, sizeof(snapshot->machine));
        memcpy(snapshot->kernel, service->kernel, sizeof(snapshot->kernel));
        memcpy(snapshot->boot_id, node->boot_id, sizeof(snapshot->boot_id));
        snapshot->interval_ns = service->config.node.interval_ns;
        snapshot->boottime_ns = node->sample.boottime_ns;
        snapshot->realtime_ns = node->sample.realtime_ns;
        snapshot->totals = *meter_totals(node->meter);
        snapshot->events = *meter_events(node->meter);
        snapshot->observation = node->observation;
        snapshot->node_begin_realtime_ns = node->window_begin_realtime_ns;
        window_metrics(&node->window, &snapshot->totals, node_n_cpus(node), &snapshot->node);
}

static void fill_sampling(const Service *service, SelfStats *self) {
        const SamplerStats *stats = sampler_stats(service->node.sampler);

        self->sample_cpu_ns = service->node.sample_cpu_ns;
        self->last_sample_cpu_ns = service->node.last_sample_cpu_ns;
        self->sources_absent = ((1U << N_SOURCES) - 1) & ~service->node.sample.have;
        memcpy(self->n_source_failures, stats->n_failures, sizeof(self->n_source_failures));
        memcpy(self->source_error, stats->error, sizeof(self->source_error));
}

static void fill_ingest(const Service *service, SelfStats *self) {
        const IngestStats *stats = ingest_stats(service->ingest);

        _Static_assert(N_STATUSES <= STATUS_LABELS_MAX, "a status without a place");
        memcpy(self->n_requests, stats->n_answers, sizeof(stats->n_answers));
        self->n_connections = stats->n_connections;
        self->n_connections_total = stats->n_connections_total;
        self->n_connections_refused = stats->n_connections_refused;
        self->n_protocol_errors = stats->n_protocol_errors;
        self->n_in_flight = stats->n_in_flight;
        self->n_jobs_running = service->jobs.n;
        self->n_jobs_begun = service->jobs.n_begun;
        self->n_jobs_finished = service->jobs.n_ended;
        self->n_jobs_interrupted = service->jobs.n_interrupted;
}

static void fill_groups(const Service *service, SelfStats *self) {
        FinderStats stats = {};

        if (service->finder)
                finder_stats(service->finder, &stats);
        self->n_groups_found = stats.n_found;
        self->n_groups_unrecognized = stats.n_unrecognized;
        self->n_groups_not_watched = stats.n_not_watched;
        self->n_jobs_with_cgroup = service->jobs.n_groups;
}

static void fill_store(const Service *service, SelfStats *self) {
        StoreStats stats;

        store_stats(service->store, &stats);
        self->queue_rows = stats.queue_rows;
        self->queue_bytes = stats.queue_bytes;
        self->queue_rows_max = stats.queue_rows_max;
        self->n_commits = stats.n_commits;
        self->n_commit_failures = stats.n_commit_failures;
        self->commit_ns_sum = stats.commit_ns_sum;
        self->commit_ns_last = stats.commit_ns_last;
        self->n_rows_committed = stats.n_rows_committed;
        self->n_rows_removed = stats.n_rows_removed;
        self->store_bytes = stats.size_bytes;
        self->store_bytes_max = stats.size_max_bytes;
        self->store_writable = stats.is_writable;
        self->store_volatile = service->config.store.is_volatile;
        memcpy(self->store_error, stats.error, sizeof(self->store_error));
}

/* This process, from /proc/self/statm: pages in all, pages resident. */
static void fill_process(const Service *service, SelfStats *self) {
        uint64_t virtual_pages, resident_pages;
        const char *p;
        char text[128];
        ssize_t n;

        self->process_cpu_ns = clock_process_cpu_ns();
        n = pread(service->statm_fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return;

        text[n] = '\0';
        p = scan_u64(text, &virtual_pages);
        if (p && scan_u64(p, &resident_pages)) {
                uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

                self->virtual_bytes = virtual_pages * page_bytes;
                self->resident_bytes = resident_pages * page_bytes;
        }
}

void publish(Service *service) {
        Snapshot *snapshot = http_snapshot_begin(service->http);

        if (!snapshot)
                return; /* every slot is being read: the next tick is not far */
        if (sample_copy(&service->node.sample, &snapshot->sample) < 0) {
                http_snapshot_abandon(service->http);
                return;
        }

        fill_node(service, snapshot);
        fill_jobs(service, snapshot);
        fill_indicators(service, snapshot);
        fill_sampling(service, &service->self);
        fill_ingest(service, &service->self);
        fill_groups(service, &service->self);
        fill_store(service, &service->self);
        fill_process(service, &service->self);
        snapshot->self = service->self;
        http_snapshot_publish(service->http, snapshot);
}
