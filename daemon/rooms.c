/* SPDX-License-Identifier: Apache-2.0 */
#include "rooms.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "http_port.h"
#include "util/clock.h"

/* --- publishing ------------------------------------------------------------------------------- */

static int fill_snapshot(Rooms *rooms, Snapshot *snapshot) {
        int r;

        r = node_publish(&rooms->node, &snapshot->node);
        if (r >= 0)
                r = job_room_publish(&rooms->jobs, &snapshot->jobs);
        if (r >= 0)
                r = results_publish(&rooms->indicators, &snapshot->indicators);
        if (r >= 0)
                r = pipeline_room_publish(&rooms->pipelines, &snapshot->pipelines);
        if (r < 0)
                return r;

        snapshot->ingest = *ingest_stats(rooms->ingest);
        store_stats(rooms->store, &snapshot->store);
        snapshot->http_port = rooms->http_port;
        snapshot->self = rooms->self.stats;
        return 0;
}

void rooms_publish(Rooms *rooms) {
        Snapshot *snapshot = publisher_begin(rooms->publisher);

        if (!snapshot)
                return; /* out of memory: the previous snapshot remains current */

        if (fill_snapshot(rooms, snapshot) < 0)
                publisher_abandon(rooms->publisher, snapshot);
        else
                publisher_publish(rooms->publisher, snapshot);
}

/* --- functions for the loop ------------------------------------------------------------------- */

int rooms_take_requests(Rooms *rooms) {
        return desk_take_requests(&rooms->desk, rooms->ingest);
}

int rooms_take_completions(Rooms *rooms) {
        int r;

        r = desk_take_completions(&rooms->desk, rooms->store, rooms->ingest);
        if (r == DESK_CHANGED)
                rooms_publish(rooms); /* publishes before the answers are sent */
        ingest_flush(rooms->ingest);
        return r < 0 ? r : job_room_continue(&rooms->jobs);
}

/* A failure that was over before the tick leaves no other trace than an answer to a client. */
static void log_failures(Rooms *rooms) {
        const StoreStats *stats = &rooms->stored;
        uint64_t n = stats->n_commit_failures + stats->n_sync_failures;

        if (n <= rooms->said.n_failures ||
            !log_limit_pass(&rooms->said.failure_limit, clock_boottime_ns(), LOG_LIMIT_INTERVAL_NS, 1))
                return;
        if (stats->is_writable && !stats->sync_error[0])
                log_warning("Writing to the store failed %lu times, and works again: %s; submissions were answered "
                            "with UNAVAILABLE.",
                            (unsigned long)(n - rooms->said.n_failures),
                            stats->failure[0] ? stats->failure : "the log could not be written back into the database");
        rooms->said.n_failures = n;
}

/* Users who fill a disk and empty it cause at most ten messages a minute, of which the last is true. */
static void log_writable(Rooms *rooms) {
        if (rooms->stored.is_writable != rooms->said.is_unwritable ||
            !log_limit_pass(&rooms->said.writable_limit, clock_boottime_ns(), LOG_LIMIT_INTERVAL_NS, 10))
                return;

        rooms->said.is_unwritable = !rooms->stored.is_writable;
        if (rooms->said.is_unwritable)
                log_err("Cannot write to the store, answering submissions with UNAVAILABLE until the store is "
                        "writable: %s",
                        rooms->stored.error);
        else
                log_notice("The store is writable again.");
}

static int check_store(Rooms *rooms) {
        StoreStats *stats = &rooms->stored;
        bool was_writable = stats->is_writable, had_sync_error = stats->sync_error[0];
        uint64_t n_damaged_before = stats->damage.n_files;
        char salvaged_before[sizeof(stats->damage.salvaged)];

        memcpy(salvaged_before, stats->damage.salvaged, sizeof(salvaged_before));
        store_stats(rooms->store, stats);
        if (stats->damage.n_files != n_damaged_before)
                log_err("%s", stats->damage.found);
        if (strcmp(stats->damage.salvaged, salvaged_before) != 0)
                log_notice("%s", stats->damage.salvaged);
        if (stats->sync_error[0] && !had_sync_error)
                log_err("Cannot write the log back into the database, trying again; rows are stored in the log up to "
                        "its size limit: %s",
                        stats->sync_error);
        if (!stats->sync_error[0] && had_sync_error)
                log_notice("The log was written back into the database.");
        log_writable(rooms);
        log_failures(rooms);
        return stats->is_writable && !was_writable ? registry_restore(&rooms->indicators.registry) : 0;
}

/* Logs at most once a minute, like log_expiry(). */
static void log_exhaustion(Rooms *rooms) {
        HttpStats http;
        uint64_t n;

        http_stats(rooms->http, &http);
        n = http.n_exhausted + ingest_stats(rooms->ingest)->n_exhausted;
        if (n != rooms->said.n_exhausted &&
            log_limit_pass(&rooms->said.exhaustion_limit, clock_boottime_ns(), LOG_LIMIT_INTERVAL_NS, 1))
                log_warning("No file descriptors left: connections wait or are refused. "
                            "Raise LimitNOFILE= of perfd.service, or lower [limits] connections.");
        rooms->said.n_exhausted = n;
}

static void log_expiry(Rooms *rooms) {
        const ExpiryStats *stats = &rooms->stored.expiry;
        ExpiryStats *logged = &rooms->expiry;

        if (stats->clock_ahead_s != 0 && logged->clock_ahead_s == 0)
                log_warning("The clock is not synchronised, and %.1f days ahead of the newest row of the store: "
                            "removing no rows because of their age until the clock is synchronised.",
                            (double)stats->clock_ahead_s / 86400);
        if (stats->clock_ahead_s == 0 && logged->clock_ahead_s != 0)
                log_notice("The clock is trusted again: removing rows because of their age.");
        logged->clock_ahead_s = stats->clock_ahead_s;

        if (stats->n_rows == logged->n_rows || clock_boottime_ns() < rooms->expiry_logging_ns)
                return;
        log_info("Removed %lu rows because of their age ([store] keep_samples, keep_minutes, keep_jobs, "
                 "keep_results); since start: %s.",
                 (unsigned long)(stats->n_rows - logged->n_rows), stats->rows);
        *logged = *stats;
        rooms->expiry_logging_ns = clock_boottime_ns() + 60 * NS_PER_S;
}

int rooms_tick(Rooms *rooms) {
        int r;

        r = job_room_tick(&rooms->jobs);
        if (r >= 0)
                r = registry_tick(&rooms->indicators.registry);
        if (r >= 0)
                r = check_store(rooms);
        if (r < 0)
                return r;
        store_tick(rooms->store, rooms->config.node.interval_ns);
        log_expiry(rooms);
        log_exhaustion(rooms);

        http_port_keep(&rooms->http_port, rooms->config.sockets.http_listen, rooms->http);
        self_read(&rooms->self);
        rooms_publish(rooms);
        publisher_trim(rooms->publisher);
        http_tick(rooms->http);
        return 0;
}

int rooms_checkpoint(Rooms *rooms, bool is_last) {
        node_put_interval(&rooms->node, rooms->store, rooms->config.jobs.checkpoint_interval_ns, is_last);
        return job_room_checkpoint(&rooms->jobs, is_last);
}

/* --- configuration ---------------------------------------------------------------------------- */

static int configure_detection(Rooms *rooms) {
        FinderPattern patterns[CONFIG_PATTERNS_MAX];
        size_t n = config_patterns(&rooms->config.patterns, patterns);

        return job_room_set_patterns(&rooms->jobs, patterns, n);
}

/* The administrators are the same on both sockets. */
static HttpConfig http_config(const Config *config) {
        HttpConfig http = config->http;

        http.admin_gid = config->ingest.admin_gid;
        return http;
}

/* The parts whose configuration can fail. */
static int configure_fallible(Rooms *rooms, const Config *before, Models *models,
                              char ret_error[static ROOMS_ERROR_MAX]) {
        int r, restored;

        r = configure_detection(rooms);
        if (r < 0) {
                (void)snprintf(ret_error, ROOMS_ERROR_MAX, "cannot apply the job patterns: %s%s", strerror(-r),
                               r == -EMFILE ? " (see fs.inotify.max_user_instances and LimitNOFILE=)" : "");
                rooms->config = *before;
                return r;
        }
        r = registry_configure(&rooms->indicators.registry, models);
        if (r >= 0)
                return 0;

        (void)snprintf(ret_error, ROOMS_ERROR_MAX, "cannot read the indicator models: %s", strerror(-r));
        rooms->config = *before;
        restored = configure_detection(rooms);
        if (restored < 0)
                log_err("Cannot restore the former job patterns, detecting jobs by the new ones: %s",
                        strerror(-restored));
        return r;
}

int rooms_configure(Rooms *rooms, const Config *next, Models *models, char ret_error[static ROOMS_ERROR_MAX]) {
        const HttpConfig http = http_config(next);
        const Config before = rooms->config;
        int r;

        rooms->config = *next;
        r = configure_fallible(rooms, &before, models, ret_error);
        if (r < 0)
                return r;

        http_configure(rooms->http, &http);
        rooms->jobs.identity.hides_others = http.privacy == PRIVACY_PRIVATE;
        http_port_keep(&rooms->http_port, rooms->config.sockets.http_listen, rooms->http);
        shares_configure(rooms->shares, &rooms->config.shares);
        ingest_configure(rooms->ingest, &rooms->config.ingest);
        store_configure(rooms->store, &rooms->config.store);
        node_configure(&rooms->node, &rooms->config.node);
        job_room_configure(&rooms->jobs);
        return 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* Lists the kinds of requests that perfd serves. */
static void init_desk(Rooms *rooms, const DeskRow *own) {
        const DeskRow rows[] = {
                DESK_ROW(lifecycle_kinds, &rooms->jobs.lifecycle),
                DESK_ROW(phases_kinds, &rooms->jobs.phases),
                DESK_ROW(registry_kinds, &rooms->indicators.registry),
                DESK_ROW(results_kinds, &rooms->indicators),
                DESK_ROW(pipeline_room_kinds, &rooms->pipelines),
                DESK_ROW(forget_kinds, &rooms->forget),
                *own,
        };

        desk_init(&rooms->desk, rows, N_ELEMENTS(rows));
}

/* Resumes the jobs of the previous perfd, and takes the first sample; called before any request. */
static int start(Rooms *rooms) {
        Node *node = &rooms->node;
        int r;

        assert(node->cost.n_samples == 0);

        store_stats(rooms->store, &rooms->stored);
        rooms->stored.is_writable = true;
        r = job_room_start(&rooms->jobs);
        if (r >= 0)
                r = node_sample(node, 0);
        if (r < 0)
                return r;

        node_begin_interval(node, rooms->config.jobs.checkpoint_interval_ns);
        r = registry_start(&rooms->indicators.registry);
        return r < 0 ? r : configure_detection(rooms);
}

static int open_sockets(Rooms *rooms, sd_event *event, Sockets *sockets) {
        const IngestServer server = {
                .name = "perfd " PERFD_VERSION,
                .node = rooms->node.identity.hostname,
                .durable = !rooms->config.store.is_volatile,
        };
        const HttpConfig http = http_config(&rooms->config);
        HttpSources sources;
        int r;

        assert(sockets->submit_fd >= 0);
        assert(!rooms->ingest && !rooms->publisher && !rooms->http);

        r = ingest_new(&rooms->ingest, event, TAKE_FD(sockets->submit_fd), &rooms->config.ingest, &server,
                       rooms->shares);
        if (r >= 0)
                r = publisher_new(&rooms->publisher);
        if (r < 0)
                return r;

        sources = (HttpSources){
                .publisher = rooms->publisher,
                .shares = rooms->shares,
                .store_path = store_path(rooms->store),
                .store_wal_barrier = store_wal_barrier(rooms->store),
                .hostname = rooms->node.identity.hostname,
        };
        r = http_new(&rooms->http, &http, TAKE_FD(sockets->http_unix_fd), &sources);
        if (r >= 0)
                http_port_keep(&rooms->http_port, rooms->config.sockets.http_listen, rooms->http);
        return r;
}

static void warn_account(const char *what, const char *path, int error) {
        if (error < 0)
                log_warning("Cannot keep the account of the %s in %s, a restart may begin a new one: %s", what, path,
                            error == -EBUSY ? "another perfd has the file" : strerror(-error));
}

/* perfd works without these files. */
static void open_accounts(Rooms *rooms, const char *runtime_directory) {
        char path[PATH_MAX];

        if (!runtime_directory[0])
                return;
        (void)snprintf(path, sizeof(path), "%s/account", runtime_directory);
        warn_account("node", path, node_open_account(&rooms->node, path));
        (void)snprintf(path, sizeof(path), "%s/account.users", runtime_directory);
        warn_account("users", path, job_room_open_totals(&rooms->jobs, path));
        (void)snprintf(path, sizeof(path), "%s/account.jobs", runtime_directory);
        warn_account("jobs", path, job_room_open_usage(&rooms->jobs, path));
}

int rooms_open(Rooms *rooms, sd_event *event, const char *root, const char *runtime_directory, Sockets *sockets,
               const DeskRow *own) {
        const Config *config = &rooms->config;
        const JobRoomParts jobs = { &config->jobs, event, &rooms->node, rooms->store, rooms->shares };
        int r;

        assert(rooms->store && rooms->shares);

        r = node_init(&rooms->node, root, &config->node);
        if (r < 0)
                return r;
        r = job_room_init(&rooms->jobs, &jobs, root);
        if (r < 0)
                return r;
        rooms->jobs.identity.hides_others = config->http.privacy == PRIVACY_PRIVATE;
        open_accounts(rooms, runtime_directory);
        results_init(&rooms->indicators, &config->indicators, &config->store, rooms->store, rooms->shares,
                     &rooms->jobs.identity);
        pipeline_room_init(&rooms->pipelines, rooms->store, &rooms->jobs.identity, &rooms->jobs.jobs);
        rooms->forget = (Forget){ rooms->store, rooms->shares, &rooms->jobs, &rooms->indicators };
        init_desk(rooms, own);
        r = start(rooms);
        if (r >= 0)
                r = open_sockets(rooms, event, sockets);
        if (r < 0)
                return r;

        self_read(&rooms->self);
        rooms_publish(rooms);
        return 0;
}

void rooms_close(Rooms *rooms) {
        http_free(rooms->http);
        publisher_free(rooms->publisher);
        ingest_free(rooms->ingest);
        pipeline_room_deinit(&rooms->pipelines);
        results_deinit(&rooms->indicators);
        job_room_deinit(&rooms->jobs);
        store_free(rooms->store);
        node_deinit(&rooms->node);
        self_deinit(&rooms->self);
        shares_free(rooms->shares); /* all charges have been released */
}
