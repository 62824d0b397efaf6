/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/jobs/job_room.c */
#include "room_fixture.h"

static const FinderPattern PATTERN = { "other", "/system.slice/slurmstepd.scope/job_{job}", NULL };

static void configure(Fixture *f) {
        assert_int_equal(job_room_set_patterns(&f->jobs, &PATTERN, 1), 0);
}

/* Processes changes that the finder reports. */
static void turn(Fixture *f) {
        while (sd_event_run(f->event, 50 * 1000) > 0)
                ;
}

static void a_cgroup_becomes_a_job(void **state) {
        Fixture *f = *state;
        JobsSnapshot snapshot = {};
        Job *job;

        configure(f);
        job = jobs_find(&f->jobs.jobs, "42");
        assert_non_null(job);
        assert_int_equal(job->stage, JOB_BEGINNING);
        assert_int_equal(job->info.isolation, ISOLATION_FOUND);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(job->stage, JOB_ACTIVE);
        assert_int_equal(job_room_publish(&f->jobs, &snapshot), 0);
        assert_int_equal(snapshot.finder.n_found, 1);
        snapshot_jobs_deinit(&snapshot);

        assert_int_equal(job_room_set_patterns(&f->jobs, NULL, 0), 0);
        assert_null(f->jobs.detection.finder);
}

static void a_cgroup_is_attached_to_the_job_that_was_announced(void **state) {
        Fixture *f = *state;
        Job *job;

        f->peer.uid = f->info.uid = getuid();
        assert_int_equal(begin_job(f, "42"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "42");
        configure(f);
        assert_int_equal(f->jobs.jobs.n, 1);
        assert_non_null(job->group.cgroup);
        assert_true(job->group.is_vouched);
        assert_int_equal(job->info.isolation, ISOLATION_FOUND);
        /* Found again after a reload: the job is already tracked. */
        configure(f);
        assert_int_equal(f->jobs.jobs.n, 1);
}

static void a_cgroup_of_another_owner_is_not_the_announced_jobs(void **state) {
        Fixture *f = *state;

        f->peer.uid = getuid() + 5;
        assert_int_equal(begin_job(f, "42"), STATUS_OK);
        configure(f);
        assert_null(f->jobs.jobs.first->group.cgroup);
        assert_non_null(f->jobs.jobs.last->group.cgroup);
        assert_int_equal(f->jobs.jobs.n, 2);
}

static void a_cgroup_beyond_the_limit_is_reported_and_ignored(void **state) {
        Fixture *f = *state;

        f->shares_config.limits[RESOURCE_JOBS] = 0;
        shares_configure(f->shares, &f->shares_config);
        configure(f);
        assert_int_equal(f->jobs.jobs.n, 0);
        assert_int_equal(f->jobs.detection.log_limits.of[0].n_passed, 1);
}

static void a_cgroup_recreated_while_its_job_is_stored_waits(void **state) {
        Fixture *f = *state;
        Request end = { .kind = REQUEST_JOB_END, .job_end.job = "42" };

        f->peer.uid = getuid();
        assert_int_equal(begin_job(f, "42"), STATUS_OK);
        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        configure(f);
        assert_int_equal(f->jobs.detection.n_postponed, 1);
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(job_room_continue(&f->jobs), 0);
        assert_int_equal(f->jobs.detection.n_postponed, 0);
        /* A new job whose id is already used. */
        assert_int_equal(complete_one(f), 0);
        assert_int_equal(complete_one(f), 0);
        assert_memory_equal(f->jobs.jobs.first->info.id, "42.", 3);
}

static void a_cgroup_that_appears_later_is_detected(void **state) {
        Fixture *f = *state;
        char command[600];

        configure(f);
        (void)snprintf(command, sizeof(command),
                       "cp -a %s/" GROUP_42 " %s/sys/fs/cgroup/system.slice/slurmstepd.scope/job_77", f->root, f->root);
        assert_int_equal(system(command), 0);
        for (unsigned i = 0; i < 100 && !jobs_find(&f->jobs.jobs, "77"); i++)
                turn(f);
        assert_non_null(jobs_find(&f->jobs.jobs, "77"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_cgroup_becomes_a_job),
                ROOM_TEST(a_cgroup_is_attached_to_the_job_that_was_announced),
                ROOM_TEST(a_cgroup_of_another_owner_is_not_the_announced_jobs),
                ROOM_TEST(a_cgroup_beyond_the_limit_is_reported_and_ignored),
                ROOM_TEST(a_cgroup_recreated_while_its_job_is_stored_waits),
                ROOM_TEST(a_cgroup_that_appears_later_is_detected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
