/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include "request/request.h"

#define GAUGE(member, scalar, name, unit, help) { offsetof(Snapshot, member), scalar, 0, FAMILY_GAUGE, name, unit, help }
#define SECONDS(member, type, name, help) { offsetof(Snapshot, member), SCALAR_U64, 9, type, name, "seconds", help }
#define COUNTER(member, name, unit, help) { offsetof(Snapshot, member), SCALAR_U64, 0, FAMILY_COUNTER, name, unit, help }

static const Scalar scalars[] = {
        SECONDS(self.process_cpu_ns, FAMILY_COUNTER, "process_cpu_seconds", "CPU time perfd has used"),
        GAUGE(self.resident_bytes, SCALAR_U64, "process_resident_memory_bytes", "bytes", "Memory perfd has resident"),
        GAUGE(self.virtual_bytes, SCALAR_U64, "process_virtual_memory_bytes", "bytes",
                "Address space perfd has mapped"),
        GAUGE(self.n_open_fds, SCALAR_U64, "process_open_fds", "", "Descriptors perfd has open"),
        GAUGE(self.n_fds_max, SCALAR_U64, "process_max_fds", "", "Descriptors perfd may open"),
        SECONDS(self.started_realtime_ns, FAMILY_GAUGE, "process_start_time_seconds",
                "When perfd started, Unix time"),

        SECONDS(node.interval_ns, FAMILY_GAUGE, "perfd_sample_interval_seconds", "Distance of two samples, as configured"),
        COUNTER(self.n_ticks, "perfd_samples", "", "Samples taken"),
        COUNTER(self.n_missed_ticks, "perfd_samples_missed", "",
                "Samples whose time had passed when perfd came to run"),
        SECONDS(node.sample_cpu_ns, FAMILY_COUNTER, "perfd_sample_cpu_seconds", "CPU time spent on taking samples"),
        SECONDS(self.lateness_sum_ns, FAMILY_COUNTER, "perfd_sample_lateness_seconds",
                "How late samples were, added up"),
        SECONDS(self.lateness_max_ns, FAMILY_GAUGE, "perfd_sample_lateness_max_seconds",
                "How late the latest sample of all was"),
        COUNTER(node.events.n_counter_resets, "perfd_meter_resets", "",
                "Counters of the kernel that went back and were taken up anew"),
        COUNTER(node.events.n_cpu_changes, "perfd_meter_cpu_changes", "", "CPUs that came or went"),
        COUNTER(node.events.n_gaps, "perfd_meter_gaps", "", "Times without samples: perfd was down, the machine asleep"),
        COUNTER(node.events.n_clock_steps, "perfd_meter_clock_steps", "",
                "Times the wall clock was set by more than a second"),

        GAUGE(ingest.n_connections, SCALAR_U64, "perfd_connections_open", "", "Connections to the submission socket"),
        COUNTER(ingest.n_connections_total, "perfd_connections", "", "Connections accepted on the submission socket"),
        COUNTER(ingest.n_connections_refused, "perfd_connections_refused", "", "Connections refused for a limit"),
        COUNTER(ingest.n_protocol_errors, "perfd_protocol_errors", "",
                "Connections closed for bytes that are no frame"),
        GAUGE(ingest.n_in_flight, SCALAR_U64, "perfd_requests_in_flight", "", "Requests not answered yet"),
        COUNTER(jobs.stats.n_begun, "perfd_jobs_begun", "", "Jobs begun"),
        COUNTER(jobs.stats.n_finished, "perfd_jobs_finished", "", "Jobs ended by those who began them"),
        COUNTER(jobs.stats.n_interrupted, "perfd_jobs_interrupted", "", "Jobs whose process went away without an end"),
        COUNTER(indicators.stats.n_stored, "perfd_indicators_stored", "", "Results stored"),
        COUNTER(indicators.stats.n_odd_keys, "perfd_indicator_odd_keys", "",
                "Keys of results that their indicator's model does not know, or knows otherwise"),
        GAUGE(jobs.stats.n_with_cgroup, SCALAR_U64, "perfd_jobs_with_cgroup", "",
                "Jobs that run now and have a cgroup of their own"),
        COUNTER(jobs.finder.n_found, "perfd_cgroups_found", "", "Cgroups that a pattern found to be a job's"),
        COUNTER(jobs.finder.n_unrecognized, "perfd_cgroups_unrecognized", "",
                "Cgroups in the place of a job's whose name no pattern knows"),
        COUNTER(jobs.finder.n_not_watched, "perfd_cgroups_not_watched", "",
                "Directories of cgroups that could not be watched"),

        SECONDS(store.commit_ns_sum, FAMILY_COUNTER, "perfd_store_commit_seconds",
                "Time spent on commits, syncing included"),
        COUNTER(store.n_commits, "perfd_store_commits", "", "Commits"),
        COUNTER(store.n_commit_failures, "perfd_store_commit_failures", "",
                "Commits that failed; nothing of them was acknowledged"),
        COUNTER(store.n_rows_committed, "perfd_store_rows_committed", "", "Rows committed"),
        COUNTER(store.n_rows_removed, "perfd_store_rows_removed", "", "Rows removed for their age or the size limit"),
        GAUGE(store.queue_rows, SCALAR_U64, "perfd_store_queue_rows", "", "Rows that wait for a commit"),
        GAUGE(store.queue_bytes, SCALAR_U64, "perfd_store_queue_bytes", "bytes",
                "Size of the rows that wait for a commit"),
        GAUGE(store.size_bytes, SCALAR_U64, "perfd_store_size_bytes", "bytes", "Size of the database"),
        GAUGE(store.size_max_bytes, SCALAR_U64, "perfd_store_size_limit_bytes", "bytes",
                "Size at which the oldest rows go"),
        GAUGE(store.is_writable, SCALAR_BOOL, "perfd_store_writable", "",
                "Whether rows can be stored at the moment"),

        GAUGE(self.config_reload_ok, SCALAR_BOOL, "perfd_config_last_reload_successful", "",
                "Whether the configuration was good when last read"),
        SECONDS(self.config_reload_realtime_ns, FAMILY_GAUGE, "perfd_config_last_reload_timestamp_seconds",
                "When the configuration was last read, Unix time"),
};

static void put_build(Exposition *exposition) {
        exposition_family(exposition, "perfd_build", FAMILY_INFO, "", "Which perfd this is");
        exposition_sample(exposition);
        exposition_label(exposition, "version", PERFD_VERSION);
        exposition_u64(exposition, 1);
}

static void put_sources(Exposition *exposition, const NodeSnapshot *node) {
        exposition_family(exposition, "perfd_source_up", FAMILY_GAUGE, "", "Whether the kernel's file was read in the last sample");
        for (Source source = 0; source < N_SOURCES; source++) {
                exposition_sample(exposition);
                exposition_label(exposition, "source", source_name(source));
                exposition_u64(exposition, sample_has(&node->sample, source));
        }

        exposition_family(exposition, "perfd_source_failures", FAMILY_COUNTER, "", "Times the kernel's file could not be read");
        for (Source source = 0; source < N_SOURCES; source++) {
                exposition_sample(exposition);
                exposition_label(exposition, "source", source_name(source));
                exposition_u64(exposition, node->sampler.n_failures[source]);
        }
}

static void put_requests(Exposition *exposition, const IngestStats *ingest) {
        exposition_family(exposition, "perfd_requests", FAMILY_COUNTER, "",
                          "Requests on the submission socket, by the status of their answer");
        for (Status status = 0; status < N_STATUSES; status++) {
                exposition_sample(exposition);
                exposition_label(exposition, "status", status_name(status));
                exposition_u64(exposition, ingest->n_answers[status]);
        }
}

static void put_indicators(Exposition *exposition, const IndicatorsSnapshot *indicators) {
        static const char *const outcomes[] = {
                [INDICATOR_STORED] = "stored",
                [INDICATOR_FAILED] = "failed",
                [INDICATOR_REFUSED] = "refused",
        };

        exposition_family(exposition, "perfd_indicators", FAMILY_COUNTER, "",
                          "Results by indicator and component: stored, stored of runs that failed, refused by their model");
        for (size_t i = 0; i < indicators->n; i++)
                for (IndicatorOutcome outcome = 0; outcome < N_INDICATOR_OUTCOMES; outcome++) {
                        const IndicatorCount *count = &indicators->counts[i];

                        exposition_sample(exposition);
                        exposition_label(exposition, "indicator", count->name);
                        exposition_label(exposition, "component", count->component);
                        exposition_label(exposition, "outcome", outcomes[outcome]);
                        exposition_u64(exposition, count->n[outcome]);
                }
}

static void put_http(Exposition *exposition, const HttpStats *http) {
        static const char *const classes[] = { NULL, NULL, "2xx", "3xx", "4xx", "5xx" };

        exposition_family(exposition, "perfd_http_requests", FAMILY_COUNTER, "", "Questions answered over HTTP, by class of status");
        for (size_t i = 2; i < N_ELEMENTS(classes); i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "class", classes[i]);
                exposition_u64(exposition, http->n_requests_by_class[i]);
        }

        exposition_family(exposition, "perfd_http_cpu_seconds", FAMILY_COUNTER, "seconds", "CPU time spent on answers over HTTP");
        exposition_sample(exposition);
        exposition_decimal(exposition, http->cpu_ns, 9);

        exposition_family(exposition, "perfd_http_sent_bytes", FAMILY_COUNTER, "bytes", "Size of the answers over HTTP, as sent");
        exposition_sample(exposition);
        exposition_u64(exposition, http->n_bytes_sent);

        exposition_single(exposition, "perfd_http_connections", FAMILY_GAUGE, "HTTP connections", http->n_connections);
}

void metrics_self(Exposition *exposition, const Snapshot *snapshot, const HttpStats *http) {
        put_build(exposition);
        metrics_scalars(exposition, snapshot, scalars, N_ELEMENTS(scalars));
        put_sources(exposition, &snapshot->node);
        put_requests(exposition, &snapshot->ingest);
        put_indicators(exposition, &snapshot->indicators);
        put_http(exposition, http);
}
