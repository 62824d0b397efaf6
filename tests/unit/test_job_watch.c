/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/job_watch.c daemon/jobs/groups.c */
#include "room_fixture.h"

#include "jobs/job_watch.h"

static Job *followed(Fixture *f) {
        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        return jobs_find(&f->jobs.jobs, "a");
}

static void a_job_whose_cgroup_became_empty_is_closed_after_a_while(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);

        set_populated(f, false);
        assert_int_equal(job_watch_check_group(&f->jobs.lifecycle, job), 0);
        assert_true(job->group.is_empty);
        assert_non_null(job->final);
        assert_int_equal(job->stage, JOB_ACTIVE);

        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_int_equal(job->stage, JOB_ACTIVE);
        f->config.linger_ns = 0;
        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_int_equal(job->stage, JOB_ENDING);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(f->jobs.jobs.stats.n_interrupted, 1);
        assert_non_null(strstr(f->jobs.jobs.finished.first->info.note, "became empty"));
}

static void a_cgroup_that_is_filled_again_goes_on(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);

        set_populated(f, false);
        assert_int_equal(job_watch_check_group(&f->jobs.lifecycle, job), 0);
        set_populated(f, true);
        assert_int_equal(job_watch_check_group(&f->jobs.lifecycle, job), 0);
        assert_false(job->group.is_empty);
        assert_null(job->final);
}

static void an_empty_new_cgroup_does_not_end_the_job(void **state) {
        Fixture *f = *state;
        Job *job;

        tree_write(f->root, GROUP_42 "/pids.current", "0\n");
        tree_write(f->root, GROUP_42 "/cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n");
        job = followed(f);
        set_populated(f, false);
        assert_false(groups_has_run(job));
        assert_int_equal(job_watch_check_group(&f->jobs.lifecycle, job), 0);
        assert_null(job->final);
}

static void a_removed_cgroup_ends_the_job_and_is_noted(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);

        f->config.linger_ns = 0;
        /* simulates a file of a removed cgroup, which cannot be read */
        tree_write(f->root, GROUP_42 "/cpu.stat", "");
        job->group.cgroup = cgroup_free(job->group.cgroup);
        assert_int_equal(groups_read(job), GROUPS_GONE);
        assert_int_equal(groups_refresh(job), GROUPS_GONE);
        assert_int_equal(job_room_tick(&f->jobs), 0);
        assert_int_equal(job->stage, JOB_ENDING);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(f->jobs.jobs.finished.first->state, JOB_INTERRUPTED);
}

static void a_removal_with_counters_unread_is_explained(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);

        job_watch_note_removal(job);
        assert_non_null(strstr(job->info.note, "was removed before its last counters were read"));
        assert_true(job->group.is_empty);
}

static void a_process_that_ends_ends_its_job(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "a");
        int fd;
        pid_t pid = fork_waiting(&fd);
        Job *job;

        f->peer.uid = f->info.uid = getuid();
        f->info.pid = pid;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_true(job_watch_is_alive(&f->node, pid, job->info.pid_start_ticks));
        assert_false(job_watch_is_alive(&f->node, pid, job->info.pid_start_ticks + 1));
        assert_int_equal(job_watch_sweep(&f->jobs.lifecycle), 0);
        assert_false(job->process.is_gone);

        close(fd);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (job->stage == JOB_ACTIVE)
                assert_true(sd_event_run(f->event, DEADLINE_MS * 1000) > 0);
        assert_true(job->process.is_gone);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(f->jobs.jobs.finished.first->state, JOB_INTERRUPTED);
}

static void a_job_lives_on_in_its_cgroup(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);

        assert_int_equal(job_watch_end_process(&f->jobs.lifecycle, job), 0);
        assert_int_equal(job->stage, JOB_ACTIVE);
        assert_null(job->final);
        assert_non_null(strstr(job->info.note, "the job continues until its cgroup is empty"));
}

static void a_sweep_finds_unwatched_processes(void **state) {
        Fixture *f = *state;
        Request request = begin_request(f, "a");
        int fd, pidfd;
        pid_t pid = fork_waiting(&fd);
        uint64_t ticks;
        Job *job;

        f->peer.uid = f->info.uid = getuid();
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_int_equal(node_process_start(&f->node, pid, &ticks, &(uint32_t){ 0 }), 0);
        job->info.pid = pid;
        job->info.pid_start_ticks = ticks;
        assert_int_equal(job_watch_open_process(&f->node, pid, ticks, &pidfd), 0);
        close(pidfd);
        assert_int_equal(job_watch_open_process(&f->node, pid, ticks + 1, &pidfd), JOB_WATCH_GONE);

        close(fd);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(job_watch_open_process(&f->node, pid, ticks, &pidfd), JOB_WATCH_GONE);
        assert_int_equal(job_watch_start(&f->jobs.lifecycle, job), JOB_WATCH_GONE);
        assert_int_equal(job_room_checkpoint(&f->jobs, false), 0);
        assert_int_equal(job->stage, JOB_ENDING);
        assert_int_equal(complete_one(f), 0);
}

static void a_cgroup_is_one_jobs_and_must_be_there(void **state) {
        Fixture *f = *state;
        Job *job = followed(f), *other;
        CgroupPlace place;

        assert_int_equal(begin_job(f, "b"), STATUS_OK);
        other = jobs_find(&f->jobs.jobs, "b");
        assert_int_equal(cgroup_tree_place_from_name(JOB_42, &place), 0);
        assert_int_equal(groups_attach(&f->jobs.groups, other, &place, true), GROUPS_REFUSED);
        assert_int_equal(cgroup_tree_place_from_name("/not/there", &place), 0);
        assert_int_equal(groups_attach(&f->jobs.groups, other, &place, true), GROUPS_REFUSED);
        assert_null(other->group.usage);
        assert_int_equal(job->group.id != 0, true);
}

static void a_member_names_the_cgroup(void **state) {
        Fixture *f = *state;
        CgroupPlace place;
        char name[GROUP_NAME_MAX];

        assert_true(groups_find_place(&f->jobs.groups, PID_IN_42, &place));
        assert_int_equal(cgroup_tree_place_name(&place, name), 0);
        assert_string_equal(name, JOB_42);
        assert_false(groups_find_place(&f->jobs.groups, 0, &place));
        assert_false(groups_find_place(&f->jobs.groups, 102, &place)); /* in the root only */
}

static void usage_goes_on_in_another_cgroup_and_in_its_phase(void **state) {
        Fixture *f = *state;
        Job *job = followed(f);
        CgroupPlace place;
        UsageSet usage;

        assert_int_equal(mark_job(f, "a", "one"), STATUS_OK);
        assert_true(job->phase->has_usage);
        assert_int_equal(cgroup_tree_place_from_name("/user.slice/run", &place), 0);
        assert_int_equal(groups_attach(&f->jobs.groups, job, &place, false), 0);
        assert_string_equal(job->info.cgroup, "/user.slice/run");
        assert_int_equal(groups_resume(&f->jobs.groups, job, &place), 0);
        assert_int_equal(groups_read(job), 0);
        groups_metrics(job, &f->node, NULL, &usage);
        groups_phase_metrics(job, &f->node, &usage);
        job->group.is_usage_cut = true;
        groups_metrics(job, &f->node, NULL, &usage);
}

static void a_job_without_a_cgroup_has_its_process_trees_usage(void **state) {
        Fixture *f = *state;
        const JobEnd end = { .has_rusage = true, .rusage = { .ru_utime = 2, .ru_stime = 1 } };
        UsageSet usage, none;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        groups_metrics(jobs_find(&f->jobs.jobs, "a"), &f->node, NULL, &none);
        groups_metrics(jobs_find(&f->jobs.jobs, "a"), &f->node, &end, &usage);
        assert_true(memcmp(&usage, &none, sizeof(usage)) != 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_job_whose_cgroup_became_empty_is_closed_after_a_while),
                ROOM_TEST(a_cgroup_that_is_filled_again_goes_on),
                ROOM_TEST(an_empty_new_cgroup_does_not_end_the_job),
                ROOM_TEST(a_removed_cgroup_ends_the_job_and_is_noted),
                ROOM_TEST(a_removal_with_counters_unread_is_explained),
                ROOM_TEST(a_process_that_ends_ends_its_job),
                ROOM_TEST(a_job_lives_on_in_its_cgroup),
                ROOM_TEST(a_sweep_finds_unwatched_processes),
                ROOM_TEST(a_cgroup_is_one_jobs_and_must_be_there),
                ROOM_TEST(a_member_names_the_cgroup),
                ROOM_TEST(usage_goes_on_in_another_cgroup_and_in_its_phase),
                ROOM_TEST(a_job_without_a_cgroup_has_its_process_trees_usage),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
