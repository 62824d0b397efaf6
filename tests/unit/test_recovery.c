/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/recovery.c daemon/jobs/job_end.c
 daemon/store/jobs/job_rows.c */
#include "room_fixture.h"

#include "jobs/recovery.h"

/* Stops perfd without a shutdown, and starts it again on the same machine. */
static void restart(Fixture *f) {
        rooms_end(f);
        place_close(&f->place);
        place_open_with(&f->place, &f->store_config);
        rooms_begin(f);
        assert_int_equal(recovery_run(&f->jobs.lifecycle), 0);
}

static void a_job_without_a_process_is_resumed(void **state) {
        Fixture *f = *state;
        Job *job;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "one"), STATUS_OK);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        restart(f);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_non_null(job);
        assert_int_equal(job->stage, JOB_ACTIVE);
        assert_string_equal(job->phase->name, "one");
        assert_non_null(strstr(job->info.note, "perfd restarted"));
        assert_int_equal(end_job(f, "a"), STATUS_OK);
}

static void a_job_whose_process_ended_is_interrupted(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "a");
        int fd;
        pid_t pid = fork_waiting(&fd);

        f->peer.uid = f->info.uid = getuid();
        f->info.pid = pid;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "one"), STATUS_OK);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        close(fd);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        restart(f);
        assert_null(jobs_find(&f->jobs.jobs, "a"));
        assert_int_equal(f->jobs.jobs.stats.n_interrupted, 1);
        /* a crash before the end is stored repeats the recovery, and must not count twice */
        assert_true(f->jobs.jobs.totals.is_ahead);
        wait_written(f);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        assert_false(f->jobs.jobs.totals.is_ahead);
        assert_int_equal(stored_job(f, "a").view.state, JOB_INTERRUPTED);
}

static void a_job_in_a_cgroup_continues_with_its_usage(void **state) {
        Fixture *f = *state;
        Job *job;

        f->peer.is_admin = true;
        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        assert_int_equal(lifecycle_update_identity(&f->jobs.lifecycle, jobs_find(&f->jobs.jobs, "a")), 0);
        assert_int_equal(job_room_checkpoint(&f->jobs, true), 0);
        wait_written(f);
        tree_write(f->root, GROUP_42 "/cpu.stat", "usage_usec 133456789\nuser_usec 110000000\nsystem_usec 23456789\n");
        restart(f);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_non_null(job);
        assert_non_null(job->group.cgroup);
        assert_int_equal(job->group.usage->last.usage_us, 133456789);
}

static void a_job_whose_cgroup_was_removed_is_interrupted(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        assert_int_equal(lifecycle_update_identity(&f->jobs.lifecycle, jobs_find(&f->jobs.jobs, "a")), 0);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        remove_group(f);
        restart(f);
        assert_null(jobs_find(&f->jobs.jobs, "a"));
        wait_written(f);
        assert_non_null(strstr(stored_job(f, "a").view.info.note, "the job ended while perfd was down"));
}

static void a_recreated_cgroup_is_the_next_one_of_a_detected_job(void **state) {
        Fixture *f = *state;
        Job *job;

        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        job->info.isolation = ISOLATION_FOUND;
        assert_int_equal(lifecycle_update_identity(&f->jobs.lifecycle, job), 0);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        {
                char command[600];

                (void)snprintf(command, sizeof(command),
                               "cp -a %s/" GROUP_42 " %s/new && rm -r %s/" GROUP_42 " && mv %s/new %s/" GROUP_42,
                               f->root, f->root, f->root, f->root, f->root);
                assert_int_equal(system(command), 0);
        }
        restart(f);

        job = jobs_find(&f->jobs.jobs, "a");
        assert_non_null(job);
        assert_true(job->group.is_usage_cut);
        assert_non_null(strstr(job->info.note, "recreated"));
}

static void after_a_reboot_all_jobs_are_interrupted(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        wait_written(f);
        rooms_end(f);
        place_close(&f->place);
        place_open_with(&f->place, &f->store_config);
        rooms_begin(f);
        (void)snprintf(f->node.boot_id, sizeof(f->node.boot_id), "another-boot");
        assert_int_equal(recovery_run(&f->jobs.lifecycle), 0);
        assert_int_equal(f->jobs.jobs.n, 0);
        wait_written(f);
        assert_non_null(strstr(stored_job(f, "a").view.info.note, "rebooted"));
}

static void a_round_of_many_jobs_is_put_in_parts(void **state) {
        Fixture *f = *state;
        char id[16];
        size_t n_done = 0;

        f->shares_config.limits[RESOURCE_JOBS] = 400;
        shares_configure(f->shares, &f->shares_config);
        for (unsigned i = 0; i < 100; i++) {
                (void)snprintf(id, sizeof(id), "job-%u", i);
                assert_int_equal(begin_job(f, id), STATUS_OK);
        }
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        assert_true(f->jobs.checkpoints.is_under_way);
        assert_int_equal(job_room_continue(&f->jobs), 0);
        assert_false(f->jobs.checkpoints.is_under_way);
        for (const Job *job = f->jobs.jobs.first; job; job = job->links.next)
                n_done += job->checkpoint_round == 1;
        assert_int_equal(n_done, 100);

        assert_int_equal(job_room_checkpoint(&f->jobs, true), 0);
        assert_false(f->jobs.checkpoints.is_under_way);
        assert_int_equal(f->jobs.jobs.last->checkpoint_round, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_job_without_a_process_is_resumed),
                ROOM_TEST(a_job_whose_process_ended_is_interrupted),
                ROOM_TEST(a_job_in_a_cgroup_continues_with_its_usage),
                ROOM_TEST(a_job_whose_cgroup_was_removed_is_interrupted),
                ROOM_TEST(a_recreated_cgroup_is_the_next_one_of_a_detected_job),
                ROOM_TEST(after_a_reboot_all_jobs_are_interrupted),
                ROOM_TEST(a_round_of_many_jobs_is_put_in_parts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
