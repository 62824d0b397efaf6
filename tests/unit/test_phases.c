/* SPDX-License-Identifier: Apache-2.0 */
#include "room_fixture.h"

static void a_mark_begins_a_phase_and_tells_the_one_it_ended(void **state) {
        Fixture *f = *state;
        Job *job;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_null(job->phase);
        assert_int_equal(mark_job(f, "a", "load"), STATUS_OK);
        assert_string_equal(f->answer.phase, "");
        assert_string_equal(f->answer.job, "a");
        assert_int_equal(mark_job(f, "a", "train"), STATUS_OK);
        assert_string_equal(f->answer.phase, "load");
        assert_int_equal(job->phase->index, 2);
        assert_int_equal(job->n_phases, 3);
        assert_null(f->jobs.phases.pending);
}

static void a_mark_needs_a_running_job_and_the_right_to_it(void **state) {
        Fixture *f = *state;
        Request inherited = mark_request("gone", "x");

        assert_int_equal(mark_job(f, "never", "x"), STATUS_NOT_FOUND);
        assert_int_equal(mark_job(f, "", "x"), STATUS_NOT_FOUND);
        assert_non_null(strstr(f->answer.complaint.text, "--job"));
        inherited.mark.is_job_inherited = true;
        assert_int_equal(serve(f, &phases_kinds[0], &inherited), STATUS_NOT_FOUND);

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        f->peer.uid = 1001;
        assert_int_equal(mark_job(f, "a", "x"), STATUS_DENIED);
        inherited.mark.job = "a";
        assert_int_equal(serve(f, &phases_kinds[0], &inherited), STATUS_DENIED);
        assert_non_null(strstr(f->answer.complaint.text, "$PERFD_JOB"));
}

static void phases_have_a_limit(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(mark_job(f, "a", "x"), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "x"), STATUS_QUOTA);
}

static void a_job_that_is_over_takes_no_mark(void **state) {
        Fixture *f = *state;
        Request end = { .kind = REQUEST_JOB_END, .job_end.job = "a" };

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(place_request(f, &lifecycle_kinds[LIFECYCLE_END], &end), DESK_PENDING);
        assert_int_equal(mark_job(f, "a", "x"), STATUS_UNAVAILABLE);
        assert_int_equal(complete_one(f), 0);
}

static void a_first_mark_that_fails_leaves_the_job_unmarked(void **state) {
        Fixture *f = *state;
        Request mark = mark_request("a", "x");

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(place_request(f, &phases_kinds[0], &mark), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_null(jobs_find(&f->jobs.jobs, "a")->phase);
        assert_int_equal(jobs_find(&f->jobs.jobs, "a")->n_phases, 0);
}

static void marks_that_fail_together_are_all_undone(void **state) {
        Fixture *f = *state;
        Request second = mark_request("a", "second"), third = mark_request("a", "third");
        Job *job;

        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        assert_int_equal(mark_job(f, "a", "first"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_int_equal(place_request(f, &phases_kinds[0], &second), DESK_PENDING);
        assert_int_equal(place_request(f, &phases_kinds[0], &third), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_string_equal(job->phase->name, "third");
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_string_equal(job->phase->name, "first");
        assert_int_equal(job->n_phases, 2);
}

static void a_mark_of_a_job_that_ended_meanwhile_is_refused(void **state) {
        Fixture *f = *state;
        Request mark = mark_request("a", "x");

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(place_request(f, &phases_kinds[0], &mark), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_MISSING), 0);
        assert_int_equal(f->answer.status, STATUS_NOT_FOUND);
}

static void a_mark_goes_to_the_job_of_the_cgroup(void **state) {
        Fixture *f = *state;
        Request mark = mark_request("other", "x");

        assert_int_equal(begin_job(f, "other"), STATUS_OK);
        f->peer.is_admin = true;
        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        f->peer.is_admin = false;
        f->connection = 2;
        f->peer.pid = PID_IN_42;
        mark.mark.is_job_inherited = true;
        jobs_find(&f->jobs.jobs, "other")->info.pid = PID_IN_RUN; /* not in the cgroup */
        assert_int_equal(serve(f, &phases_kinds[0], &mark), STATUS_OK);
        assert_string_equal(f->answer.job, "own");
        assert_non_null(strstr(f->answer.complaint.text, "recorded for 'own'"));
}

static void a_full_queue_keeps_the_phase(void **state) {
        Fixture *f = *state;
        Request mark = mark_request("a", "x");
        sqlite3 *db;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        db = block_store(f);
        assert_int_equal(place_request(f, &phases_kinds[0], &mark), DESK_FULL);
        assert_null(f->jobs.phases.pending);
        unblock_store(f, db);
        /* The request is still pending at the end. */
        assert_int_equal(place_request(f, &phases_kinds[0], &mark), DESK_PENDING);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_mark_begins_a_phase_and_tells_the_one_it_ended),
                ROOM_TEST(a_mark_needs_a_running_job_and_the_right_to_it),
                ROOM_TEST(phases_have_a_limit),
                ROOM_TEST(a_job_that_is_over_takes_no_mark),
                ROOM_TEST(a_first_mark_that_fails_leaves_the_job_unmarked),
                ROOM_TEST(marks_that_fail_together_are_all_undone),
                ROOM_TEST(a_mark_of_a_job_that_ended_meanwhile_is_refused),
                ROOM_TEST(a_mark_goes_to_the_job_of_the_cgroup),
                ROOM_TEST(a_full_queue_keeps_the_phase),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
