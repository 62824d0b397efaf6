/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A job room and an indicator room with a real store, on a copy of a tree of cgroups
 *
 * The test acts as the desk: it places requests and hands completions to their kinds.
 */

#include "store_fixture.h"
#include "tree.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include "indicators/results.h"
#include "jobs/job_room.h"
#include "store/jobs/job_reader.h"

#define JOB_42 "/system.slice/slurmstepd.scope/job_42" /* the group of process 100 */
#define GROUP_42 "sys/fs/cgroup" JOB_42
#define PID_IN_42 100
#define PID_IN_RUN 101

typedef struct Fixture {
        Place place;
        char root[64];
        int pidfd; /* of the test process: its peers are alive */
        sd_event *event;
        JobsConfig config;
        SharesConfig shares_config;
        Shares *shares;
        IndicatorsConfig indicators_config;
        StoreConfig store_config;
        Node node;
        JobRoom jobs;
        Results indicators;
        uint64_t n_requests;
        Answer answer; /* the last answer */
        Peer peer;
        JobInfo info;
        unsigned connection; /* number of the peer's connection */
} Fixture;

static inline void rooms_begin(Fixture *f) {
        const JobRoomParts parts = { &f->config, f->event, &f->node, f->place.store, f->shares };
        const NodeConfig node = { .interval_ns = NS_PER_S, .filesystems_interval_ns = 60 * NS_PER_S };

        assert_int_equal(node_init(&f->node, "/", &node), 0);
        assert_int_equal(job_room_init(&f->jobs, &parts, f->root), 0);
        results_init(&f->indicators, &f->indicators_config, &f->store_config, f->place.store, f->shares,
                     &f->jobs.identity);
}

static inline void rooms_end(Fixture *f) {
        results_deinit(&f->indicators);
        job_room_deinit(&f->jobs);
        node_deinit(&f->node);
}

static inline int rooms_set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        *state = f;
        place_make(&f->place);
        f->store_config = place_config(&f->place);
        f->store_config.is_volatile = true;
        for (Resource i = 0; i < N_RESOURCES; i++)
                f->shares_config.limits[i] = 1 << 30;
        f->shares_config.limits[RESOURCE_MODELS] = 1 << 20;
        f->shares_config.limits[RESOURCE_JOBS] = 20; /* a single user may have five jobs without a watched process */
        assert_int_equal(shares_new(&f->shares, &f->shares_config), 0);
        f->store_config.shares = f->shares;
        place_open_with(&f->place, &f->store_config);
        tree_copy("cgroup-v2", f->root);
        assert_int_equal(sd_event_new(&f->event) < 0, false);
        f->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        assert_true(f->pidfd >= 0);
        f->config = (JobsConfig){
                .phases_max = 4,
                .checkpoint_interval_ns = 10 * NS_PER_S,
                .timeline_points = 100,
                .linger_ns = NS_PER_S,
                .metrics_jobs_max = 100,
                .metrics_finished_ns = 60 * NS_PER_S,
        };
        f->peer = (Peer){ .uid = 1000, .gid = 1000, .pid = PID_IN_RUN, .pidfd = f->pidfd };
        f->connection = 1;
        rooms_begin(f);
        return 0;
}

static inline int rooms_tear_down(void **state) {
        Fixture *f = *state;

        rooms_end(f);
        sd_event_unref(f->event);
        close(f->pidfd);
        place_remove(&f->place);
        tree_remove(f->root);
        shares_free(f->shares);
        free(f);
        return 0;
}

#define ROOM_TEST(name) cmocka_unit_test_setup_teardown(name, rooms_set_up, rooms_tear_down)

/* --- desk ---------------------------------------------------------------------------------------- */

static inline bool is_of(const Kind *kinds, size_t n, const Kind *kind) {
        return kind >= kinds && kind < kinds + n;
}

static inline void *state_of(Fixture *f, const Kind *kind) {
        if (is_of(lifecycle_kinds, N_ELEMENTS(lifecycle_kinds), kind))
                return &f->jobs.lifecycle;
        if (is_of(phases_kinds, N_ELEMENTS(phases_kinds), kind))
                return &f->jobs.phases;
        if (is_of(registry_kinds, N_ELEMENTS(registry_kinds), kind))
                return &f->indicators.registry;
        assert_true(is_of(results_kinds, N_ELEMENTS(results_kinds), kind));
        return &f->indicators;
}

/* Handles a completion, in several turns if it is long. */
static inline int complete_done(Fixture *f, const StoreDone *done) {
        int r;

        do
                r = done->cookie.kind->complete(state_of(f, done->cookie.kind), done, &f->answer);
        while (r == DESK_MORE);
        return r;
}

/* Handles a completion with this outcome in place of the store's. */
static inline int complete_as(Fixture *f, StoreOutcome outcome) {
        StoreDone done;

        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        done.outcome = outcome;
        return complete_done(f, &done);
}

static inline int complete_one(Fixture *f) {
        StoreDone done;

        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        return complete_done(f, &done);
}

static inline int place_request(Fixture *f, const Kind *kind, Request *request) {
        Ticket ticket = { .connection = f->connection, .generation = 1, .number = ++f->n_requests };
        int r;

        assert_int_equal(kind->request, request->kind);
        request->peer = f->peer;
        do
                r = kind->place(state_of(f, kind), request, ticket, &f->answer);
        while (r == DESK_MORE);
        return r;
}

/* Places a request, completes its rows, and returns the status of the answer. */
static inline Status serve(Fixture *f, const Kind *kind, Request *request) {
        int r = place_request(f, kind, request);

        assert_true(r == 0 || r == DESK_PENDING);
        if (r == DESK_PENDING)
                assert_true(complete_one(f) >= 0);
        return f->answer.status;
}

/* Waits until the store has written all rows. */
static inline void wait_written(Fixture *f) {
        StoreStats stats;

        do
                store_stats(f->place.store, &stats);
        while (stats.queue_rows > 0);
}

/* Makes the store's queue full, until unblock_store(). */
static inline sqlite3 *block_store(Fixture *f) {
        sqlite3 *db = place_open_database(&f->place, SQLITE_OPEN_READWRITE);
        Item item;

        wait_written(f);
        assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        f->store_config.queue_rows_max = 0;
        store_configure(f->place.store, &f->store_config);
        item_make(&item, "Blocking", "store", 999);
        assert_int_equal(store_put(f->place.store, result_rows_pack(&item.submission, 1, ROOT, 1, (StoreCookie){})), 0);
        return db;
}

static inline void unblock_store(Fixture *f, sqlite3 *db) {
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        f->store_config.queue_rows_max = 100000;
        store_configure(f->place.store, &f->store_config);
        wait_written(f);
}

/* --- requests ------------------------------------------------------------------------------------ */

static inline Request begin_request(Fixture *f, const char *id) {
        f->info = (JobInfo){ .uid = f->peer.uid, .gid = f->peer.gid, .rank = -1, .node = -1 };
        (void)snprintf(f->info.id, sizeof(f->info.id), "%s", id);
        return (Request){ .kind = REQUEST_JOB_BEGIN, .job_begin.info = &f->info };
}

static inline Status begin_job(Fixture *f, const char *id) {
        Request request = begin_request(f, id);

        return serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request);
}

/* Begins a job in the cgroup of job_42. */
static inline Status begin_in_42(Fixture *f, const char *id) {
        Request request = begin_request(f, id);
        Job *job;

        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, id);
        assert_non_null(job);

        {
                CgroupPlace place;

                assert_int_equal(cgroup_tree_place_from_name(JOB_42, &place), 0);
                assert_int_equal(groups_attach(&f->jobs.groups, job, &place, true), 0);
        }
        return f->answer.status;
}

static inline Status end_job(Fixture *f, const char *id) {
        Request request = { .kind = REQUEST_JOB_END,
                            .job_end = { .job = id, .end = { .has_exit_status = true, .exit_status = 3 } } };

        return serve(f, &lifecycle_kinds[LIFECYCLE_END], &request);
}

static inline Request mark_request(const char *job, const char *name) {
        return (Request){ .kind = REQUEST_MARK, .mark = { .job = job, .name = name } };
}

static inline Status mark_job(Fixture *f, const char *job, const char *name) {
        Request request = mark_request(job, name);

        return serve(f, &phases_kinds[0], &request);
}

static inline void set_populated(Fixture *f, bool is_populated) {
        tree_write(f->root, GROUP_42 "/cgroup.events",
                   is_populated ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
}

/* Removes a directory including its files, which the kernel would remove as well. */
static inline void remove_group(Fixture *f) {
        char command[256];

        (void)snprintf(command, sizeof(command), "rm -r %s/" GROUP_42, f->root);
        assert_int_equal(system(command), 0);
}

/* Forks a child that exits when its pipe is closed. */
static inline pid_t fork_waiting(int *ret_fd) {
        int fds[2];
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                char c;

                close(fds[1]);
                _exit(read(fds[0], &c, 1) == 0 ? 0 : 1);
        }
        close(fds[0]);
        *ret_fd = fds[1];
        return pid;
}

/* Returns the stored job; its texts are valid until the next query. */
static inline JobRow stored_job(Fixture *f, const char *id) {
        JobRow row;

        assert_int_equal(job_reader_find(f->place.reader, id, &row), 0);
        return row;
}
