/* SPDX-License-Identifier: Apache-2.0 */
#include "http/self/self_subject.h"

#include <assert.h>
#include <stdlib.h>

#include "http/asset.h"
#include "http/metrics.h"
#include "json/json.h"
#include "request/request.h"
#include "util/scoped.h"

#define USERS_MAX 256U

EMBED(self_subject_openapi, "web/openapi.json");

/* perfd runs; the answer names the parts that do not work. */
static void answer_healthy(const Target *target, const Sources *sources, Response *response) {
        const Snapshot *snapshot = sources->snapshot;

        (void)target;
        response->type = CONTENT_TEXT;
        buffer_puts(response->body, "ok\n");
        if (snapshot && snapshot->http_port.error[0])
                buffer_printf(response->body, "http: %s\n", snapshot->http_port.error);
        if (snapshot && snapshot->self.config_error[0])
                buffer_printf(response->body, "configuration: not in force: %s\n", snapshot->self.config_error);
        else if (snapshot && snapshot->self.config_edited[0])
                buffer_printf(response->body, "configuration: not in force: %s was edited and not reloaded\n",
                              snapshot->self.config_edited);
        else if (snapshot && snapshot->self.config_unknown[0])
                buffer_printf(response->body, "configuration: unknown users or groups: %s\n",
                              snapshot->self.config_unknown);
        else if (snapshot && snapshot->self.config_restart[0])
                buffer_printf(response->body, "configuration: wait for a restart: %s\n", snapshot->self.config_restart);
        else if (snapshot && snapshot->self.config_ignored[0])
                buffer_printf(response->body,
                              "configuration: without effect, since perfd.socket opens the sockets: %s\n",
                              snapshot->self.config_ignored);
}

/* perfd is not ready while it refuses all submissions. The answer says why, and describes damage. */
static void answer_ready(const Target *target, const Sources *sources, Response *response) {
        const StoreStats *store = sources->snapshot ? &sources->snapshot->store : &(StoreStats){ .is_writable = true };
        bool is_ready = sources->is_ready && store->is_writable && !store->damage.is_condemned;

        (void)target;
        response->type = CONTENT_TEXT;
        response->status = is_ready ? 200 : 503;
        buffer_puts(response->body, is_ready ? "ready\n" : "not ready\n");
        if (!store->is_writable)
                buffer_printf(response->body, "store: %s\n", store->error);
        if (store->damage.found[0])
                buffer_printf(response->body, "damaged: %s\n", store->damage.found);
}

static void answer_openapi(const Target *target, const Sources *sources, Response *response) {
        (void)target;
        (void)sources;
        buffer_puts(response->body, self_subject_openapi);
}

/* --- shares of users ---------------------------------------------------------------------------------- */

static void put_totals(Json *json, Shares *shares) {
        ResourceStats stats[N_RESOURCES];

        shares_stats(shares, stats);
        json_put_array_begin(json, "resources");
        for (Resource i = 0; i < N_RESOURCES; i++) {
                json_object_begin(json);
                json_put_string(json, "name", shares_resource_name(i));
                json_put_string(json, "unit", shares_resource_unit(i));
                json_put_uint(json, "limit", stats[i].limit);
                json_put_uint(json, "held", stats[i].n_held);
                json_put_uint(json, "users", stats[i].n_owners);
                json_put_uint(json, "refused", stats[i].n_refused);
                json_object_end(json);
        }
        json_array_end(json);
}

static void put_user(Json *json, const AccountReport *report) {
        char owner[SHARES_OWNER_MAX];

        json_object_begin(json);
        json_put_string(json, "user", shares_format_owner(&report->owner, owner));
        json_put_int_or_null(json, "uid", report->owner.type == OWNER_USER, report->owner.uid);
        json_put_bool(json, "administrator", report->owner.is_admin);
        json_put_array_begin(json, "resources");
        for (Resource i = 0; i < N_RESOURCES; i++) {
                json_object_begin(json);
                json_put_string(json, "name", shares_resource_name(i));
                json_put_uint(json, "held", report->resources[i].n_held);
                json_put_uint(json, "share", report->resources[i].share);
                json_put_uint(json, "refused", report->resources[i].n_refused);
                json_put_int_or_null(json, "refused_first_ms", report->resources[i].refused_first_ms > 0,
                                     (int64_t)report->resources[i].refused_first_ms);
                json_put_int_or_null(json, "refused_last_ms", report->resources[i].refused_last_ms > 0,
                                     (int64_t)report->resources[i].refused_last_ms);
                json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
}

/* reports: of n accounts */
static void put_users(Json *json, const AccountReport *reports, size_t n, const Viewer *viewer) {
        json_put_array_begin(json, "users");
        for (size_t i = 0; i < n; i++)
                if (!viewer->hides_others ||
                    (reports[i].owner.type == OWNER_USER && privacy_may_list(viewer, reports[i].owner.uid)))
                        put_user(json, &reports[i]);
        json_array_end(json);
}

static void answer_quota(const Target *target, const Sources *sources, Response *response) {
        scoped(freep) AccountReport *reports = NULL; /* of all users, too large for a stack that stays resident */
        uint64_t uid;
        size_t n = 1;
        Json json = { .out = response->body };

        assert(sources->shares);
        if (exchange_parameter_u64(target, response, "uid", 0, UINT32_MAX - 1, UINT32_MAX, &uid) != 0)
                return;

        reports = calloc(uid < UINT32_MAX ? 1 : USERS_MAX, sizeof(*reports));
        if (!reports) {
                (void)exchange_error(response, 503, "out of memory");
                return;
        }
        if (uid < UINT32_MAX)
                shares_report_user(sources->shares, (uint32_t)uid, reports);
        else
                n = shares_report(sources->shares, reports, USERS_MAX);

        json_object_begin(&json);
        put_totals(&json, sources->shares);
        put_users(&json, reports, n, &target->viewer);
        json_object_end(&json);
}

/* --- metrics ------------------------------------------------------------------------------------------ */

static const Scalar self_scalars[] = {
        SCALAR_SECONDS(SelfStats, process_cpu_ns, FAMILY_COUNTER, "process_cpu_seconds", "CPU time used by perfd"),
        SCALAR_GAUGE(SelfStats, resident_bytes, SCALAR_U64, "process_resident_memory_bytes", "bytes",
                     "Resident memory of perfd"),
        SCALAR_GAUGE(SelfStats, virtual_bytes, SCALAR_U64, "process_virtual_memory_bytes", "bytes",
                     "Virtual address space of perfd"),
        SCALAR_GAUGE(SelfStats, n_open_fds, SCALAR_U64, "process_open_fds", "", "Open file descriptors of perfd"),
        SCALAR_GAUGE(SelfStats, n_fds_max, SCALAR_U64, "process_max_fds", "",
                     "Maximum number of open file descriptors of perfd"),
        SCALAR_COUNTER(SelfStats, n_log_messages_dropped, "perfd_log_messages_dropped",
                       "Log messages that journald did not accept"),
        SCALAR_SECONDS(SelfStats, started_realtime_ns, FAMILY_GAUGE, "process_start_time_seconds",
                       "Unix time of the start of perfd"),

        SCALAR_COUNTER(SelfStats, n_ticks, "perfd_samples", "Number of samples"),
        SCALAR_COUNTER(SelfStats, n_missed_ticks, "perfd_samples_missed",
                       "Samples that were skipped because their time had passed"),
        SCALAR_SECONDS(SelfStats, lateness_sum_ns, FAMILY_COUNTER, "perfd_sample_lateness_seconds",
                       "Sum of all sampling delays"),
        SCALAR_SECONDS(SelfStats, lateness_max_ns, FAMILY_GAUGE, "perfd_sample_lateness_max_seconds",
                       "Largest sampling delay since start"),

        SCALAR_GAUGE(SelfStats, config_reload_ok, SCALAR_BOOL, "perfd_config_last_reload_successful", "",
                     "Whether the configuration was valid when last read"),
        SCALAR_GAUGE(SelfStats, is_config_in_force, SCALAR_BOOL, "perfd_config_in_force", "",
                     "Whether the configuration files are in force: valid, not edited, and all settings have an "
                     "effect"),
        SCALAR_SECONDS(SelfStats, config_reload_realtime_ns, FAMILY_GAUGE, "perfd_config_last_reload_timestamp_seconds",
                       "Unix time at which the configuration was last read"),
};

static const Scalar ingest_scalars[] = {
        SCALAR_GAUGE(IngestStats, n_connections, SCALAR_U64, "perfd_connections_open", "",
                     "Open connections to the submission socket"),
        SCALAR_COUNTER(IngestStats, n_connections_total, "perfd_connections",
                       "Connections accepted on the submission socket"),
        SCALAR_COUNTER(IngestStats, n_connections_refused, "perfd_connections_refused",
                       "Connections refused because of a limit"),
        SCALAR_COUNTER(IngestStats, n_protocol_errors, "perfd_protocol_errors",
                       "Connections closed because of invalid frames"),
        SCALAR_GAUGE(IngestStats, n_in_flight, SCALAR_U64, "perfd_requests_in_flight", "",
                     "Requests that are not yet answered"),
};

static const Scalar store_scalars[] = {
        SCALAR_SECONDS(StoreStats, commit_ns_sum, FAMILY_COUNTER, "perfd_store_commit_seconds",
                       "Time spent on commits, including syncing to disk"),
        SCALAR_COUNTER(StoreStats, n_commits, "perfd_store_commits", "Commits"),
        SCALAR_COUNTER(StoreStats, n_commit_failures, "perfd_store_commit_failures",
                       "Failed commits, whose rows were not acknowledged"),
        SCALAR_COUNTER(StoreStats, n_rows_committed, "perfd_store_rows_committed", "Rows committed"),
        SCALAR_COUNTER(StoreStats, n_rows_removed, "perfd_store_rows_removed",
                       "Rows removed because of their age or the size limit"),
        SCALAR_GAUGE(StoreStats, queue_rows, SCALAR_U64, "perfd_store_queue_rows", "", "Rows waiting for a commit"),
        SCALAR_GAUGE(StoreStats, queue_bytes, SCALAR_U64, "perfd_store_queue_bytes", "bytes",
                     "Size of the rows waiting for a commit"),
        SCALAR_GAUGE(StoreStats, size_bytes, SCALAR_U64, "perfd_store_size_bytes", "bytes", "Size of the database"),
        SCALAR_GAUGE(StoreStats, size_max_bytes, SCALAR_U64, "perfd_store_size_limit_bytes", "bytes",
                     "Size limit of the database, at which the oldest rows are removed"),
        SCALAR_GAUGE(StoreStats, is_writable, SCALAR_BOOL, "perfd_store_writable", "",
                     "Whether rows can currently be stored"),
        SCALAR_COUNTER(StoreStats, n_sync_failures, "perfd_store_sync_failures",
                       "Failed attempts to write the log back into the database file"),
        SCALAR_COUNTER(StoreStats, damage.n_files, "perfd_store_damaged_files",
                       "Database files that were found damaged and moved aside"),
        SCALAR_COUNTER(StoreStats, damage.n_log_frames, "perfd_store_damaged_log_frames",
                       "Frames of the database's log with a wrong checksum, and complete ones behind them"),
        SCALAR_COUNTER(StoreStats, damage.n_texts, "perfd_store_damaged_texts",
                       "Answers with a text that was found damaged in the database, and left out"),
        SCALAR_COUNTER(StoreStats, damage.n_rows_salvaged, "perfd_store_rows_salvaged",
                       "Rows moved out of damaged database files"),
        SCALAR_GAUGE(StoreStats, damage.is_salvaging, SCALAR_BOOL, "perfd_store_salvaging", "",
                     "Whether rows of a damaged database file are being moved"),
};

static const Scalar http_scalars[] = {
        SCALAR_SECONDS(HttpStats, cpu_ns, FAMILY_COUNTER, "perfd_http_cpu_seconds",
                       "CPU time spent on answering HTTP requests"),
        { offsetof(HttpStats, n_bytes_sent), SCALAR_U64, 0, FAMILY_COUNTER, "perfd_http_sent_bytes", "bytes",
          "Bytes sent in HTTP responses" },
        SCALAR_GAUGE(HttpStats, n_connections, SCALAR_U64, "perfd_http_connections", "", "Open HTTP connections"),
};

static void put_build(Exposition *exposition) {
        exposition_family(exposition, "perfd_build", FAMILY_INFO, "", "Build information");
        exposition_sample_u64(exposition, "version", PERFD_VERSION, 1);
}

static void put_requests(Exposition *exposition, const IngestStats *ingest) {
        exposition_family(exposition, "perfd_requests", FAMILY_COUNTER, "",
                          "Requests on the submission socket, by the status of the reply");
        for (Status status = 0; status < N_STATUSES; status++)
                exposition_sample_u64(exposition, "status", request_status_name(status), ingest->n_answers[status]);
}

static void put_http_requests(Exposition *exposition, const HttpStats *http) {
        static const char *const classes[] = { NULL, NULL, "2xx", "3xx", "4xx", "5xx" };

        _Static_assert(N_ELEMENTS(classes) == N_ELEMENTS(http->n_requests_by_class), "a name for each class");
        exposition_family(exposition, "perfd_http_requests", FAMILY_COUNTER, "",
                          "Answered HTTP requests, by class of the status code");
        for (size_t i = 2; i < N_ELEMENTS(classes); i++)
                exposition_sample_u64(exposition, "class", classes[i], http->n_requests_by_class[i]);
}

static void put_metrics(Exposition *exposition, const Snapshot *snapshot) {
        put_build(exposition);
        metrics_scalars(exposition, &snapshot->self, self_scalars, N_ELEMENTS(self_scalars));
        metrics_scalars(exposition, &snapshot->ingest, ingest_scalars, N_ELEMENTS(ingest_scalars));
        put_requests(exposition, &snapshot->ingest);
        metrics_scalars(exposition, &snapshot->store, store_scalars, N_ELEMENTS(store_scalars));
}

/* Writes a family with a sample for each resource. */
static void put_shares(Exposition *exposition, const char *name, FamilyType type, const char *help,
                       const ResourceStats *stats, size_t offset) {
        exposition_family(exposition, name, type, "", help);
        for (Resource i = 0; i < N_RESOURCES; i++) {
                exposition_sample(exposition);
                exposition_label(exposition, "resource", shares_resource_name(i));
                exposition_u64(exposition, *(const uint64_t *)((const char *)&stats[i] + offset));
        }
}

static void put_metrics_now(Exposition *exposition, const Sources *sources) {
        ResourceStats stats[N_RESOURCES];

        metrics_scalars(exposition, &sources->http, http_scalars, N_ELEMENTS(http_scalars));
        put_http_requests(exposition, &sources->http);

        shares_stats(sources->shares, stats);
        put_shares(exposition, "perfd_quota_held", FAMILY_GAUGE, "Amount of a resource that users hold", stats,
                   offsetof(ResourceStats, n_held));
        put_shares(exposition, "perfd_quota_limit", FAMILY_GAUGE, "Limit of a resource for all users together", stats,
                   offsetof(ResourceStats, limit));
        put_shares(exposition, "perfd_quota_users", FAMILY_GAUGE, "Users who hold some of a resource", stats,
                   offsetof(ResourceStats, n_owners));
        put_shares(exposition, "perfd_quota_refused", FAMILY_COUNTER, "Requests beyond the share of their user", stats,
                   offsetof(ResourceStats, n_refused));
}

/* --- tables ------------------------------------------------------------------------------------------- */

const Subject self_subject = {
        .routes = ROUTES(
                { "/metrics",             "collect[]", true,  false, metrics_answer },
                { "/-/healthy",           "",          false, false, answer_healthy },
                { "/-/ready",             "",          false, false, answer_ready },
                { "/api/v1/openapi.json", "",          false, false, answer_openapi },
                { "/api/v1/quota",        "uid",       false, false, answer_quota }),
        .collectors = COLLECTORS(
                { "self", false, put_metrics, NULL },
                { "self", false, NULL, put_metrics_now }),
};
