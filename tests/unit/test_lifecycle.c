/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/lifecycle.c daemon/jobs/job_end.c daemon/jobs/table/running_job.c daemon/jobs/job_room.c
 * daemon/jobs/sampling.c */
#include "room_fixture.h"

#include "jobs/job_end.h"
#include "jobs/sampling.h"

static void begin_found(Fixture *f, const char *id) {
        JobInfo info = {
                .uid = JOB_UID_UNKNOWN, .gid = JOB_UID_UNKNOWN, .rank = -1, .node = -1, .isolation = ISOLATION_FOUND
        };
        CgroupPlace place;

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(cgroup_tree_place_from_name(JOB_42, &place), 0);
        assert_int_equal(lifecycle_begin_found(&f->jobs.lifecycle, &info, &place), 0);
}

static void a_job_begins_and_ends_with_its_rows(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(jobs_find(&f->jobs.jobs, "a")->stage, JOB_ACTIVE);
        assert_int_equal(f->jobs.jobs.stats.n_begun, 1);
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_null(jobs_find(&f->jobs.jobs, "a"));
        assert_int_equal(f->jobs.jobs.stats.n_finished, 1);
        assert_int_equal(f->jobs.jobs.finished.first->result.end.exit_status, 3);
}

static void an_id_is_used_once(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(begin_job(f, "a"), STATUS_DUPLICATE);
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_int_equal(begin_job(f, "a"), STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "job_begin.job");
        assert_int_equal(f->jobs.jobs.n, 0);
}

static void a_job_with_a_pending_row_cannot_begin_or_end(void **state) {
        Fixture *f = *state;
        Request begin = begin_request(f, "a"), end = { .kind = REQUEST_JOB_END, .job_end.job = "a" };

        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &begin), DESK_PENDING);
        assert_int_equal(begin_job(f, "a"), STATUS_UNAVAILABLE);
        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_int_equal(complete_one(f), 0);

        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        assert_int_equal(begin_job(f, "a"), STATUS_UNAVAILABLE);
        /* The second end amends the first: the store handles them in order. */
        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(f->answer.status, STATUS_OK);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(f->answer.status, STATUS_DUPLICATE);
}

static void only_administrators_act_for_others(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "others");

        f->info.uid = 7;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_DENIED);
        assert_string_equal(f->answer.complaint.path, "job_begin.uid");
        f->peer.is_admin = true;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        f->peer.is_admin = false;
        assert_int_equal(begin_job(f, "others"), STATUS_DENIED);
        assert_int_equal(end_job(f, "others"), STATUS_DENIED);
        f->peer.is_admin = true;
        assert_int_equal(begin_job(f, "others"), STATUS_DENIED); /* the administrator's own job of this id */
        assert_int_equal(end_job(f, "others"), STATUS_OK);
}

static int begin_sampled(Fixture *f, const char *id, uint64_t interval_ms) {
        Request request = begin_request(f, id);

        request.job_begin.cpu_interval_ns = interval_ms * NS_PER_MS;
        return serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request);
}

static void the_cpus_are_read_as_often_as_any_running_job_asks(void **state) {
        NodeConfig config = { .interval_ns = NS_PER_S,
                              .filesystems_interval_ns = 60 * NS_PER_S,
                              .job_cpu_interval_ns = 100 * NS_PER_MS,
                              .is_shared_cpu_interval = true };
        Fixture *f = *state;

        assert_int_equal(begin_sampled(f, "a", 500), STATUS_DENIED);
        assert_string_equal(f->answer.complaint.path, "job_begin.sample_ms");
        assert_non_null(strstr(f->answer.complaint.text, "job_cpu_interval in [sampling] of perfd.conf is 0"));
        node_configure(&f->node, &config);
        assert_int_equal(begin_sampled(f, "a", 99), STATUS_DENIED);
        assert_non_null(strstr(f->answer.complaint.text,
                               "99 ms is below the shortest interval that a job may request, 100 ms"));
        assert_int_equal(f->jobs.jobs.n, 0);

        assert_int_equal(begin_sampled(f, "a", 500), STATUS_OK);
        assert_int_equal(node_cpu_interval_ns(&f->node), 500 * NS_PER_MS);
        assert_int_equal(begin_sampled(f, "b", 100), STATUS_OK);
        assert_int_equal(begin_sampled(f, "c", 0), STATUS_OK);
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);
        assert_int_equal(end_job(f, "b"), STATUS_OK);
        assert_int_equal(sampling_tick(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(node_cpu_interval_ns(&f->node), 500 * NS_PER_MS);
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_int_equal(sampling_tick(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(node_cpu_interval_ns(&f->node), 0);
}

static void needs(Fixture *f, const char *id, const char *what) {
        assert_int_equal(begin_sampled(f, id, 100), STATUS_DENIED);
        assert_string_equal(f->answer.complaint.path, "job_begin.sample_ms");
        assert_non_null(strstr(f->answer.complaint.text, what));
        assert_non_null(strstr(f->answer.complaint.text, "job_cpu_interval_shared in [sampling] of perfd.conf"));
}

/* Makes the test the process of another cgroup; it may run on all CPUs. */
static void enter_group_of(Fixture *f, int pid) {
        char from[128], to[128];

        (void)snprintf(from, sizeof(from), "%s/proc/%d", f->root, pid);
        (void)snprintf(to, sizeof(to), "%s/proc/%d", f->root, getpid());
        (void)unlink(to);
        assert_int_equal(symlink(from, to), 0);
        f->peer.pid = getpid();
        f->connection++; /* the cgroup of a connection is looked up once */
}

static bool skips_part_of_a_machine(void) {
        return !node_is_whole_for(getpid());
}

static const NodeConfig ON_WHOLE_NODES = { .interval_ns = NS_PER_S,
                                           .filesystems_interval_ns = 60 * NS_PER_S,
                                           .job_cpu_interval_ns = 50 * NS_PER_MS };

static void readings_need_all_cpus_or_an_administrator(void **state) {
        Fixture *f = *state;

        node_configure(&f->node, &ON_WHOLE_NODES);
        f->peer.pid = 0; /* a process of another PID namespace: its CPUs are unknown */
        needs(f, "a", "this process may run on some of them only");
        f->peer.is_admin = true;
        assert_int_equal(begin_sampled(f, "a", 100), STATUS_OK);
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);
        f->peer = (Peer){ .uid = 1001, .pidfd = f->pidfd };
        f->info.uid = 1001;
        assert_int_equal(begin_job(f, "other"), STATUS_OK); /* the administrator has decided */
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);
}

static void readings_end_when_another_user_comes(void **state) {
        Fixture *f = *state;

        if (skips_part_of_a_machine())
                skip();
        node_configure(&f->node, &ON_WHOLE_NODES);
        f->peer.pid = getpid();
        assert_int_equal(begin_sampled(f, "a", 100), STATUS_OK);
        assert_int_equal(begin_sampled(f, "b", 200), STATUS_OK); /* of the same user */
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);

        f->peer.uid = f->info.uid = 1001;
        needs(f, "other", "another user's job runs on them");
        assert_int_equal(begin_job(f, "other"), STATUS_OK);
        assert_int_equal(node_cpu_interval_ns(&f->node), 0);
        assert_int_equal(end_job(f, "other"), STATUS_OK);
        assert_int_equal(sampling_tick(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);

        begin_found(f, "42"); /* of an unknown user */
        assert_int_equal(sampling_tick(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(node_cpu_interval_ns(&f->node), 0);
}

static void a_job_within_a_detected_job_may_have_readings(void **state) {
        Fixture *f = *state;

        if (skips_part_of_a_machine())
                skip();
        node_configure(&f->node, &ON_WHOLE_NODES);
        begin_found(f, "42");
        assert_true(complete_one(f) >= 0);
        f->peer.pid = getpid();
        needs(f, "a", "another user's job runs on them");
        enter_group_of(f, PID_IN_42);
        assert_int_equal(begin_sampled(f, "a", 100), STATUS_OK);
        assert_int_equal(node_cpu_interval_ns(&f->node), 100 * NS_PER_MS);
}

/* Begins jobs until one is refused; returns the number of accepted jobs. */
static unsigned begin_many(Fixture *f, unsigned n_max) {
        char id[32];

        for (unsigned i = 0; i < n_max; i++) {
                (void)snprintf(id, sizeof(id), "%u-%u", f->peer.uid, i);
                if (begin_job(f, id) != STATUS_OK) {
                        assert_int_equal(f->answer.status, STATUS_QUOTA);
                        return i;
                }
        }
        return n_max;
}

static void jobs_are_charged_to_the_user_who_began_them(void **state) {
        Fixture *f = *state;
        ResourceStats stats[N_RESOURCES];

        /* Jobs without a process to watch count twice: half of 20 is five jobs. */
        assert_int_equal(begin_many(f, 100), 5);
        assert_non_null(strstr(f->answer.complaint.text, "uid 1000 holds 10 running jobs"));
        assert_non_null(strstr(f->answer.complaint.text, "[limits] jobs = 20"));
        f->peer.uid = 1001;
        assert_int_equal(begin_many(f, 100), 1);
        f->peer.uid = 1000;
        assert_int_equal(end_job(f, "1000-0"), STATUS_OK);
        /* the share is smaller now, but existing jobs are kept */
        assert_int_equal(begin_job(f, "more"), STATUS_QUOTA);
        shares_stats(f->shares, stats);
        assert_int_equal(stats[RESOURCE_JOBS].n_held, 10);
        assert_int_equal(stats[RESOURCE_JOBS].n_owners, 2);
}

static void administrators_can_begin_jobs_at_the_users_limit(void **state) {
        Fixture *f = *state;

        for (f->peer.uid = 1000; f->peer.uid < 1030; f->peer.uid++)
                (void)begin_many(f, 100);
        assert_true(f->jobs.jobs.n >= 8);
        f->peer.uid = 0;
        f->peer.is_admin = true;
        assert_true(begin_many(f, 100) >= 20);
        /* Even administrators cannot exceed the memory limit. */
        assert_true(f->jobs.jobs.n <= 40);
        assert_int_equal(f->answer.status, STATUS_QUOTA);
}

/* Begins a job for another user, as a scheduler's prolog does. */
static Status begin_for(Fixture *f, const char *id, uint32_t uid) {
        const Peer user = f->peer;
        Request request;

        f->peer = (Peer){ .uid = 0, .is_admin = true, .pid = PID_IN_RUN, .pidfd = f->pidfd };
        request = begin_request(f, id);
        f->info.uid = uid;
        strcpy(f->info.user, "mallory");
        (void)serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request);
        f->peer = user;
        return f->answer.status;
}

static void owners_have_the_name_that_the_node_gives_them(void **state) {
        Fixture *f = *state;
        JobRow row;

        assert_int_equal(begin_for(f, "known", 0), STATUS_OK);
        row = stored_job(f, "known");
        assert_string_equal(row.view.info.user, "root");

        f->jobs.names.n = 0; /* as for users whom only the directory service knows */
        assert_int_equal(begin_for(f, "later", 0), STATUS_OK);
        row = stored_job(f, "later");
        assert_string_equal(row.view.info.user, "0");
        for (int i = 0; i < DEADLINE_MS && strcmp(jobs_find(&f->jobs.jobs, "later")->info.user, "root") != 0; i++) {
                (void)poll(NULL, 0, 1);
                assert_int_equal(lifecycle_tick(&f->jobs.lifecycle), 0);
        }
        assert_string_equal(jobs_find(&f->jobs.jobs, "later")->info.user, "root");
        f->peer.uid = 0;
        assert_int_equal(end_job(f, "later"), STATUS_OK);
        row = stored_job(f, "later");
        assert_string_equal(row.view.info.user, "root");
}

static void users_cannot_block_ids_for_administrators(void **state) {
        Fixture *f = *state;
        Job *job;

        assert_int_equal(begin_job(f, "ended"), STATUS_OK);
        assert_int_equal(end_job(f, "ended"), STATUS_OK);
        assert_int_equal(begin_for(f, "ended", 1001), STATUS_OK);
        assert_int_equal(stored_job(f, "ended").view.info.uid, 1001);
        assert_null(f->jobs.jobs.finished.first);

        assert_int_equal(begin_job(f, "running"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "running");
        assert_int_equal(begin_for(f, "running", 1001), STATUS_OK);
        assert_int_equal(stored_job(f, "running").view.info.uid, 1001);
        assert_int_equal(strncmp(job->info.id, "running.", 8), 0);
        assert_int_equal(end_job(f, "running"), STATUS_DENIED);
        assert_int_equal(end_job(f, job->info.id), STATUS_OK);
        assert_int_equal(f->jobs.jobs.n, 2);

        /* A job begun by an administrator cannot be begun again, not even by administrators. */
        assert_int_equal(begin_for(f, "running", 1002), STATUS_DENIED);
        assert_int_equal(begin_job(f, "running"), STATUS_DENIED);
}

static void a_process_is_the_peers_own_and_lives(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "a");
        int fd;
        pid_t pid;

        f->info.pid = 1;
        if (getuid() == 0) {
                assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_DENIED);
                assert_string_equal(f->answer.complaint.path, "job_begin.pid");
        }
        pid = fork_waiting(&fd);
        close(fd);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        f->info.pid = pid;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_INVALID);

        f->peer.uid = f->info.uid = getuid();
        f->info.pid = getpid();
        request.job_begin.late_ms = 3600 * 1000;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        assert_true(f->info.pid_start_ticks > 0);
        assert_non_null(jobs_find(&f->jobs.jobs, "a")->process.source);
        /* No earlier than the start of the process. */
        assert_true(node_realtime_ms(&f->node) - jobs_find(&f->jobs.jobs, "a")->begin_realtime_ms < 600 * 1000);
}

static void a_store_that_fails_leaves_no_job_and_no_end(void **state) {
        Fixture *f = *state;
        Request begin = begin_request(f, "a"), end = { .kind = REQUEST_JOB_END, .job_end.job = "a" };

        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &begin), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_int_equal(f->jobs.jobs.n, 0);

        assert_int_equal(begin_job(f, "b"), STATUS_OK);
        end.job_end.job = "b";
        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_int_equal(jobs_find(&f->jobs.jobs, "b")->stage, JOB_ACTIVE);
        assert_null(jobs_find(&f->jobs.jobs, "b")->final);

        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_MISSING), 0);
        assert_int_equal(f->answer.status, STATUS_NOT_FOUND);
        assert_int_equal(f->jobs.jobs.n, 0);
}

static void a_full_queue_changes_nothing(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "a");

        sqlite3 *db = block_store(f);

        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), DESK_FULL);
        assert_int_equal(f->jobs.jobs.n, 0);
        begin_found(f, "42");
        assert_true(f->jobs.jobs.first->due.is_begin);
        unblock_store(f, db);
        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_false(f->jobs.jobs.first->due.is_begin);
        assert_int_equal(complete_one(f), 0);
}

static void an_end_of_an_ended_job_amends_it(void **state) {
        Fixture *f = *state;

        assert_int_equal(end_job(f, "never"), STATUS_NOT_FOUND);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_int_equal(end_job(f, "a"), STATUS_DUPLICATE);
        f->peer.uid = 1001;
        assert_int_equal(end_job(f, "a"), STATUS_DENIED);
}

static void completed_amendments_have_each_an_answer(void **state) {
        static const struct {
                StoreOutcome outcome;
                Status status;
        } cases[] = {
                { STORE_DONE, STATUS_OK }, { STORE_DUPLICATE, STATUS_DUPLICATE }, { STORE_MISSING, STATUS_NOT_FOUND },
                { STORE_DENIED, STATUS_DENIED }, { STORE_FAILED, STATUS_UNAVAILABLE },
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Request end = { .kind = REQUEST_JOB_END, .job_end.job = "never" };

                assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
                assert_int_equal(complete_as(f, cases[i].outcome), 0);
                assert_int_equal(f->answer.status, cases[i].status);
        }
}

static void a_detected_job_is_adopted_by_a_begin(void **state) {
        Fixture *f = *state;
        Request request;
        Job *job;

        begin_found(f, "42");
        assert_int_equal(complete_one(f), 0);
        job = jobs_find(&f->jobs.jobs, "42");
        assert_false(job->is_announced);
        assert_true(job->group.usage->is_fresh);

        f->peer.is_admin = true;
        request = begin_request(f, "42");
        strcpy(request.job_begin.info->name, "training/pod-0");
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_DUPLICATE);
        assert_true(job->is_announced);
        assert_int_equal(job->info.uid, 1000);
        assert_string_equal(job->info.name, "training/pod-0");
        assert_true(job->due.is_identity);
        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_false(job->due.is_identity);
}

static void the_begin_of_a_detected_job_is_put_until_it_is_stored(void **state) {
        Fixture *f = *state;
        Job *job;

        begin_found(f, "42");
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        job = jobs_find(&f->jobs.jobs, "42");
        assert_true(job->due.is_begin);
        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_int_equal(complete_as(f, STORE_DONE), 0);
        assert_int_equal(job->stage, JOB_ACTIVE);
        assert_false(job->due.is_begin);
}

static void a_detected_job_with_the_id_of_an_earlier_one_gets_another(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "42"), STATUS_OK);
        assert_int_equal(end_job(f, "42"), STATUS_OK);
        begin_found(f, "42");
        assert_int_equal(complete_one(f), 0); /* the id is already used */
        assert_int_equal(complete_one(f), 0);
        assert_null(jobs_find(&f->jobs.jobs, "42"));
        assert_int_equal(f->jobs.jobs.n, 1);
        assert_memory_equal(f->jobs.jobs.first->info.id, "42.", 3);
}

static void a_detected_job_needs_a_cgroup_and_room(void **state) {
        Fixture *f = *state;
        JobInfo info = { .id = "x", .uid = JOB_UID_UNKNOWN };
        CgroupPlace place;

        assert_int_equal(cgroup_tree_place_from_name("/not/there", &place), 0);
        assert_int_equal(lifecycle_begin_found(&f->jobs.lifecycle, &info, &place), LIFECYCLE_REFUSED);
        assert_int_equal(f->jobs.jobs.n, 0);
        f->shares_config.limits[RESOURCE_JOBS] = 0;
        shares_configure(f->shares, &f->shares_config);
        assert_int_equal(cgroup_tree_place_from_name(JOB_42, &place), 0);
        assert_int_equal(lifecycle_begin_found(&f->jobs.lifecycle, &info, &place), LIFECYCLE_FULL);
}

static void a_ticks_sample_is_every_jobs(void **state) {
        Fixture *f = *state;
        JobsSnapshot snapshot = {};
        Job *job;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "one"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        EVENTUALLY(job_room_tick(&f->jobs) == 0 && job->recording.n > 0);

        assert_int_equal(job_room_publish(&f->jobs, &snapshot), 0);
        assert_int_equal(snapshot.n_running, 1);
        assert_string_equal(snapshot.records[0].info.id, "a");
        snapshot_jobs_deinit(&snapshot);
}

static void requests_that_arrive_together_share_a_sample(void **state) {
        Fixture *f = *state;
        uint64_t n;

        assert_int_equal(sampling_now(&f->jobs.jobs, &f->node), 0);
        f->node.sample.boottime_ns = clock_boottime_ns() + NS_PER_S; /* the newest possible sample */
        n = f->node.cost.n_samples;
        f->node.sample.boottime_ns = clock_boottime_ns();
        assert_int_equal(sampling_now(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(f->node.cost.n_samples, n);
        assert_int_equal(sampling_tick(&f->jobs.jobs, &f->node), 0);
        assert_int_equal(f->node.cost.n_samples, n + 1);
}

static void a_checkpoint_stores_changed_totals(void **state) {
        Fixture *f = *state;
        sqlite3 *db;

        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM job_totals"), 0); /* no job has ended */

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_true(f->jobs.jobs.totals.is_changed);
        db = block_store(f);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        assert_true(f->jobs.jobs.totals.is_changed); /* the queue is full */
        unblock_store(f, db);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        assert_false(f->jobs.jobs.totals.is_changed);
        wait_written(f);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM job_totals WHERE text LIKE '%1000%'"), 1);

        assert_int_equal(job_room_forget_totals(&f->jobs, 1000), 0);
        wait_written(f);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM job_totals WHERE text LIKE '%1000%'"), 0);
}

static void final_numbers_stay_whoever_reports_the_end(void **state) {
        Fixture *f = *state;
        const JobEnd end = { .has_exit_status = true, .exit_status = 9 };
        uint64_t realtime_ms;
        Job *job;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "one"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_int_equal(job_end_make(&f->jobs.jobs, job, &f->node, JOB_INTERRUPTED, &(JobEnd){}), 0);
        assert_string_equal(job->final->phase->name, "one");
        realtime_ms = job->final->realtime_ms;
        f->node.sample.realtime_ns += NS_PER_S;
        assert_int_equal(job_end_make(&f->jobs.jobs, job, &f->node, JOB_FINISHED, &end), 0);
        assert_true(job->final->realtime_ms == realtime_ms);
        assert_int_equal(job->final->state, JOB_FINISHED);
        assert_int_equal(job->final->result.end.exit_status, 9);
        running_job_set_note(job, "a note");
        assert_string_equal(job->info.note, "a note");
        running_job_drop_final(job);
        assert_null(job->final);
        assert_null(running_job_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_job_begins_and_ends_with_its_rows),
                ROOM_TEST(an_id_is_used_once),
                ROOM_TEST(the_cpus_are_read_as_often_as_any_running_job_asks),
                ROOM_TEST(readings_need_all_cpus_or_an_administrator),
                ROOM_TEST(readings_end_when_another_user_comes),
                ROOM_TEST(a_job_within_a_detected_job_may_have_readings),
                ROOM_TEST(a_job_with_a_pending_row_cannot_begin_or_end),
                ROOM_TEST(only_administrators_act_for_others),
                ROOM_TEST(jobs_are_charged_to_the_user_who_began_them),
                ROOM_TEST(administrators_can_begin_jobs_at_the_users_limit),
                ROOM_TEST(owners_have_the_name_that_the_node_gives_them),
                ROOM_TEST(users_cannot_block_ids_for_administrators),
                ROOM_TEST(a_process_is_the_peers_own_and_lives),
                ROOM_TEST(a_store_that_fails_leaves_no_job_and_no_end),
                ROOM_TEST(a_full_queue_changes_nothing),
                ROOM_TEST(an_end_of_an_ended_job_amends_it),
                ROOM_TEST(completed_amendments_have_each_an_answer),
                ROOM_TEST(a_detected_job_is_adopted_by_a_begin),
                ROOM_TEST(the_begin_of_a_detected_job_is_put_until_it_is_stored),
                ROOM_TEST(a_detected_job_with_the_id_of_an_earlier_one_gets_another),
                ROOM_TEST(a_detected_job_needs_a_cgroup_and_room),
                ROOM_TEST(a_ticks_sample_is_every_jobs),
                ROOM_TEST(requests_that_arrive_together_share_a_sample),
                ROOM_TEST(a_checkpoint_stores_changed_totals),
                ROOM_TEST(final_numbers_stay_whoever_reports_the_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
