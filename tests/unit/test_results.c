/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/indicators/results.c daemon/desk/desk.c */
#include "fake_adjtimex.h"
#include "room_fixture.h"

static Status submit(Fixture *f, Item *items, size_t n) {
        Submission submissions[4];
        Request request = { .kind = REQUEST_SUBMIT, .submit = { .items = submissions, .n_items = n } };

        assert_true(n <= N_ELEMENTS(submissions));
        for (size_t i = 0; i < n; i++)
                submissions[i] = items[i].submission;
        return serve(f, &results_kinds[0], &request);
}

static Status submit_one(Fixture *f, uint64_t n, const char *job) {
        Item item;

        item_make(&item, "A", "c", n);
        item.submission.job = job;
        return submit(f, &item, 1);
}

static void results_are_stored_once_and_counted(void **state) {
        Fixture *f = *state;
        IndicatorsSnapshot snapshot = {};

        assert_int_equal(submit_one(f, 1, ""), STATUS_OK);
        assert_int_equal(submit_one(f, 1, ""), STATUS_DUPLICATE);
        assert_int_equal(f->indicators.tally.stats.n_stored, 1);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){}), 1);
        assert_int_equal(results_publish(&f->indicators, &snapshot), 0);
        assert_int_equal(snapshot.n, 1);
        assert_int_equal(snapshot.counts[0].n[INDICATOR_STORED], 1);
        snapshot_indicators_deinit(&snapshot);
}

static void results_too_old_to_keep_are_refused(void **state) {
        Fixture *f = *state;
        Item item;

        item_make(&item, "A", "c", 1);
        item.submission.time_ms = 1000;
        assert_int_equal(submit(f, &item, 1), STATUS_OK);
        f->store_config.keep_results_ns = NS_PER_S * 86400;
        assert_int_equal(submit(f, &item, 1), STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "submit.indicators[0].time_ms");
        assert_true(f->answer.has_item && f->answer.item == 0);
}

static void the_item_that_does_not_conform_is_named(void **state) {
        Fixture *f = *state;
        Item items[2];

        f->indicators_config.policy = MODEL_STRICT;
        item_make(&items[0], "A", "c", 1);
        item_make(&items[1], "B", "c", 2);
        items[0].submission.has_exit_status = items[1].submission.has_exit_status = false;
        assert_int_equal(submit(f, items, 2), STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "submit.indicators[0].name");
        assert_int_equal(f->indicators.tally.series[1].count.n[INDICATOR_REFUSED], 1);
}

static void results_belong_to_the_job_they_name(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(submit_one(f, 1, "a"), STATUS_OK);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){ .job = "a" }), 1);
        f->peer.uid = 1001;
        assert_int_equal(submit_one(f, 2, "a"), STATUS_DENIED);
        assert_string_equal(f->answer.complaint.path, "submit.indicators[0].job");
        f->peer.uid = 1000;
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_int_equal(submit_one(f, 3, "a"), STATUS_OK);
        f->peer.uid = 1001;
        assert_int_equal(submit_one(f, 4, "a"), STATUS_DENIED); /* refused by the store */
}

static void results_of_a_process_belong_to_the_job_of_its_cgroup(void **state) {
        Fixture *f = *state;
        Item item;

        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        assert_int_equal(lifecycle_update_identity(&f->jobs.lifecycle, jobs_find(&f->jobs.jobs, "own")), 0);
        f->peer.pid = PID_IN_42;
        f->connection = 2;
        assert_int_equal(submit_one(f, 1, ""), STATUS_OK);
        assert_string_equal(f->answer.complaint.text, "");
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){ .job = "own" }), 1);

        item_make(&item, "A", "c", 2);
        item.submission.job = "gone";
        item.submission.is_job_inherited = true;
        assert_int_equal(submit(f, &item, 1), STATUS_OK);
        assert_non_null(strstr(f->answer.complaint.text, "recorded for 'own'"));
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){ .job = "own" }), 2);
}

static void a_job_of_the_environment_that_has_ended_is_left_out(void **state) {
        Fixture *f = *state;
        Item item;

        assert_int_equal(begin_job(f, "over"), STATUS_OK);
        assert_int_equal(end_job(f, "over"), STATUS_OK);
        item_make(&item, "A", "c", 1);
        item.submission.job = "over";
        item.submission.is_job_inherited = true;
        assert_int_equal(submit(f, &item, 1), STATUS_OK);
        assert_non_null(strstr(f->answer.complaint.text, "has ended: recorded without a job"));
}

static void a_time_far_ahead_is_not_believed(void **state) {
        Fixture *f = *state;
        uint64_t now_ms = clock_realtime_ns() / NS_PER_MS;
        ResultRow row;
        Item item;

        fake_adjtimex(EPERM);
        item_make(&item, "A", "c", 1);
        item.submission.time_ms = now_ms + 2 * 3600 * 1000;
        assert_int_equal(submit(f, &item, 1), STATUS_OK);
        assert_int_equal(result_reader_list(f->place.reader, &(ResultFilter){}), 0);
        assert_int_equal(result_reader_next(f->place.reader, &row), 0);
        assert_in_range(row.time_ms, now_ms, now_ms + 3600 * 1000);
        assert_true(row.claimed_ms == now_ms + 2 * 3600 * 1000);

        fake_adjtimex(0);
        item_make(&item, "A", "c", 2);
        item.submission.time_ms = now_ms + 2 * 3600 * 1000;
        assert_int_equal(submit(f, &item, 1), STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "submit.indicators[0].time_ms");
        assert_non_null(strstr(f->answer.complaint.text, "more than an hour ahead of this node's synchronised clock"));
        item.submission.time_ms = now_ms + 1800 * 1000;
        assert_int_equal(submit(f, &item, 1), STATUS_OK);
}

static uint64_t count_of_job(Fixture *f, const char *job) {
        return count_results(f->place.reader, &(ResultFilter){ .job = job });
}

static void results_wait_for_a_job_of_their_user(void **state) {
        Fixture *f = *state;
        Item items[3];
        ResultRow row;

        for (unsigned i = 0; i < 3; i++) {
                item_make(&items[i], "A", "c", i);
                items[i].submission.job = "later";
                f->peer.uid = 1000 + i;
                assert_int_equal(submit(f, &items[i], 1), STATUS_OK);
        }
        assert_int_equal(count_of_job(f, "later"), 3); /* owned by no user yet */

        f->peer.uid = 1001;
        assert_int_equal(begin_job(f, "later"), STATUS_OK);
        assert_int_equal(count_of_job(f, "later"), 1);
        assert_int_equal(result_reader_list(f->place.reader, &(ResultFilter){ .job = "later" }), 0);
        assert_int_equal(result_reader_next(f->place.reader, &row), 0);
        assert_int_equal(row.uid, 1001);

        /* The other results remain, without the job. */
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){}), 3);
        assert_int_equal(result_reader_find(f->place.reader, 1, &row), 0);
        assert_int_equal(row.uid, 1000);
        assert_null(row.job);

        /* Results that an administrator submits for the running job belong to the job. */
        f->peer.uid = 0;
        f->peer.is_admin = true;
        item_make(&items[0], "A", "c", 10);
        items[0].submission.job = "later";
        assert_int_equal(submit(f, &items[0], 1), STATUS_OK);
        assert_int_equal(count_of_job(f, "later"), 2);
}

static void results_join_a_job_that_an_administrator_begins_for_their_user(void **state) {
        Fixture *f = *state;
        Item items[3];
        Request request;

        for (unsigned i = 0; i < 3; i++) {
                item_make(&items[i], "A", "c", i);
                items[i].submission.job = "later";
                f->peer.uid = (uint32_t[]){ 1000, 1001, 0 }[i];
                assert_int_equal(submit(f, &items[i], 1), STATUS_OK);
        }
        f->peer.is_admin = true;
        request = begin_request(f, "later");
        f->info.uid = 1000;
        assert_int_equal(serve(f, &lifecycle_kinds[LIFECYCLE_BEGIN], &request), STATUS_OK);
        /* results of the job's user, and of the administrator who began the job */
        assert_int_equal(count_of_job(f, "later"), 2);
}

static void a_request_that_waits_keeps_its_job(void **state) {
        Fixture *f = *state;
        Item item;
        Submission submission;
        Request request = { .kind = REQUEST_SUBMIT, .submit = { .items = &submission, .n_items = 1 } };
        sqlite3 *db;

        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        f->peer.pid = PID_IN_42;
        f->connection = 2;
        item_make(&item, "A", "c", 1);
        submission = item.submission;
        db = block_store(f);
        assert_int_equal(place_request(f, &results_kinds[0], &request), DESK_FULL);
        unblock_store(f, db);
        f->n_requests--; /* repeat the same request */
        assert_int_equal(serve(f, &results_kinds[0], &request), STATUS_OK);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){ .job = "own" }), 1);
}

static void a_failing_store_is_reported(void **state) {
        Fixture *f = *state;
        Item item;
        Submission submission;
        Request request = { .kind = REQUEST_SUBMIT, .submit = { .items = &submission, .n_items = 1 } };

        item_make(&item, "A", "c", 1);
        submission = item.submission;
        assert_int_equal(place_request(f, &results_kinds[0], &request), DESK_PENDING);
        assert_int_equal(complete_as(f, STORE_FAILED), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        assert_int_equal(f->indicators.tally.stats.n_stored, 0);
}

#define N_LONG (2 * RESULTS_PER_TURN + 1)

/* A submission that is too long for one turn of the loop. */
typedef struct Long {
        Item *items;
        Submission *submissions;
        Request request;
        Ticket ticket;
} Long;

static void long_make(Fixture *f, Long *ret) {
        Item *items = calloc(N_LONG, sizeof(*items));
        Submission *submissions = calloc(N_LONG, sizeof(*submissions));

        assert_true(items && submissions);
        for (size_t i = 0; i < N_LONG; i++) {
                item_make(&items[i], "A", "c", i + 1);
                submissions[i] = items[i].submission;
        }
        *ret = (Long){
                .items = items,
                .submissions = submissions,
                .request = { .kind = REQUEST_SUBMIT,
                             .peer = f->peer,
                             .submit = { .items = submissions, .n_items = N_LONG } },
                .ticket = { .connection = f->connection, .generation = 1, .number = ++f->n_requests },
        };
}

static void long_deinit(Long *l) {
        free(l->items);
        free(l->submissions);
}

static int long_place(Fixture *f, Long *l) {
        return results_kinds[0].place(&f->indicators, &l->request, l->ticket, &f->answer);
}

static void a_long_submission_takes_several_turns(void **state) {
        Fixture *f = *state;
        unsigned n_turns = 0;
        StoreDone done;
        Long l;

        long_make(f, &l);
        while (long_place(f, &l) == DESK_MORE) {
                assert_true(f->indicators.progress->i <= (n_turns + 1) * RESULTS_PER_TURN);
                n_turns++;
        }
        assert_true(n_turns >= N_LONG / RESULTS_PER_TURN);
        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        assert_int_equal(results_kinds[0].complete(&f->indicators, &done, &f->answer), DESK_MORE);
        assert_int_equal(f->indicators.tally.series[1].count.n[INDICATOR_STORED], RESULTS_PER_TURN);
        assert_true(complete_done(f, &done) >= 0);
        assert_int_equal(f->answer.status, STATUS_OK);
        assert_int_equal(f->indicators.tally.series[1].count.n[INDICATOR_STORED], N_LONG);
        assert_int_equal(f->indicators.tally.stats.n_stored, N_LONG);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){}), N_LONG);
        long_deinit(&l);
}

/* The desk keeps a long request, and places others in between. */
static void other_submissions_are_placed_between_the_turns_of_a_long_one(void **state) {
        Fixture *f = *state;
        unsigned n_others = 0;
        StoreDone done;
        Long l;
        int r;

        long_make(f, &l);
        while ((r = long_place(f, &l)) == DESK_MORE)
                assert_int_equal(submit_one(f, 90000 + n_others++, ""), STATUS_OK);
        assert_int_equal(r, DESK_PENDING);
        assert_true(n_others >= N_LONG / RESULTS_PER_TURN);
        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        assert_true(complete_done(f, &done) >= 0);
        assert_int_equal(f->answer.status, STATUS_OK);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){}), N_LONG + n_others);
        long_deinit(&l);
}

static void the_last_item_of_a_long_submission_can_refuse_it(void **state) {
        Fixture *f = *state;
        Long l;
        int r;

        long_make(f, &l);
        f->store_config.keep_results_ns = NS_PER_S * 86400;
        l.submissions[N_LONG - 1].time_ms = 1000;
        while ((r = long_place(f, &l)) == DESK_MORE)
                ;
        assert_int_equal(r, 0);
        assert_int_equal(f->answer.status, STATUS_INVALID);
        assert_int_equal(f->answer.item, N_LONG - 1);
        assert_int_equal(submit_one(f, 99999, ""), STATUS_OK);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){}), 1);
        long_deinit(&l);
}

static void a_long_submission_begins_again_after_a_change_of_the_models(void **state) {
        Fixture *f = *state;
        Long l;
        int r;

        long_make(f, &l);
        for (unsigned n = 0; n < 7; n++) /* to the middle of the last pass */
                assert_int_equal(long_place(f, &l), DESK_MORE);
        f->indicators_config.policy = MODEL_STRICT;
        assert_int_equal(registry_configure(&f->indicators.registry, NULL), 0);
        while ((r = long_place(f, &l)) == DESK_MORE)
                ;
        assert_int_equal(r, 0);
        assert_int_equal(f->answer.status, STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "submit.indicators[0].name");
        long_deinit(&l);
}

static void items_of_a_submission_get_one_job_in_all_turns(void **state) {
        Fixture *f = *state;
        Long l;
        int r;

        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        assert_int_equal(lifecycle_update_identity(&f->jobs.lifecycle, jobs_find(&f->jobs.jobs, "own")), 0);
        f->peer.pid = PID_IN_42;
        f->connection = 2;
        long_make(f, &l);
        assert_int_equal(long_place(f, &l), DESK_MORE);
        assert_string_equal(l.submissions[0].job, "own");
        assert_int_equal(jobs_rename(&f->jobs.jobs, jobs_find(&f->jobs.jobs, "own"), "other"), 0);
        while ((r = long_place(f, &l)) == DESK_MORE)
                ;
        assert_int_equal(r, DESK_PENDING);
        assert_string_equal(l.submissions[N_LONG - 1].job, "own");
        assert_true(complete_one(f) >= 0);
        assert_int_equal(count_results(f->place.reader, &(ResultFilter){ .job = "own" }), N_LONG);
        long_deinit(&l);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_long_submission_takes_several_turns),
                ROOM_TEST(other_submissions_are_placed_between_the_turns_of_a_long_one),
                ROOM_TEST(the_last_item_of_a_long_submission_can_refuse_it),
                ROOM_TEST(a_long_submission_begins_again_after_a_change_of_the_models),
                ROOM_TEST(items_of_a_submission_get_one_job_in_all_turns),
                ROOM_TEST(results_are_stored_once_and_counted),
                ROOM_TEST(results_too_old_to_keep_are_refused),
                ROOM_TEST(the_item_that_does_not_conform_is_named),
                ROOM_TEST(results_belong_to_the_job_they_name),
                ROOM_TEST(results_of_a_process_belong_to_the_job_of_its_cgroup),
                ROOM_TEST(a_job_of_the_environment_that_has_ended_is_left_out),
                ROOM_TEST(results_wait_for_a_job_of_their_user),
                ROOM_TEST(results_join_a_job_that_an_administrator_begins_for_their_user),
                ROOM_TEST(a_time_far_ahead_is_not_believed),
                ROOM_TEST(a_request_that_waits_keeps_its_job),
                ROOM_TEST(a_failing_store_is_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
