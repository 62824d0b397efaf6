/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/forget/forget.c */
#include "room_fixture.h"

#include "forget/forget.h"

static Forget forget_of(Fixture *f) {
        return (Forget){ f->place.store, f->shares, &f->jobs, &f->indicators };
}

static int place_forget(Fixture *f, const Request *request) {
        Forget forget = forget_of(f);

        return forget_kinds[0].place(&forget, request, (Ticket){ .connection = 1, .generation = 1, .number = 1 },
                                     &f->answer);
}

static Status serve_forget(Fixture *f, uint32_t uid, uint64_t before_ms) {
        const Request request = { .kind = REQUEST_FORGET, .peer = f->peer,
                                  .forget = { .uid = uid, .before_ms = before_ms } };
        Forget forget = forget_of(f);
        StoreDone done;
        int r = place_forget(f, &request);

        if (r == 0)
                return f->answer.status;
        assert_int_equal(r, DESK_PENDING);
        do
                assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        while (done.cookie.kind != &forget_kinds[0]);
        assert_int_equal(forget_kinds[0].complete(&forget, &done, &f->answer), DESK_CHANGED);
        return f->answer.status;
}

static void only_administrators_may_forget(void **state) {
        Fixture *f = *state;

        assert_int_equal(serve_forget(f, 1000, 0), STATUS_DENIED);
        f->peer.is_admin = true;
        assert_int_equal(serve_forget(f, 1000, 0), STATUS_OK);
        assert_string_equal(f->answer.complaint.text, "nothing was stored");
}

static void jobs_that_ended_are_forgotten(void **state) {
        Fixture *f = *state;

        assert_int_equal(begin_job(f, "one"), STATUS_OK);
        f->peer.is_admin = true;
        assert_int_equal(serve_forget(f, 1000, 0), STATUS_INVALID);
        assert_non_null(strstr(f->answer.complaint.text, "1 running jobs, such as one"));
        assert_int_equal(serve_forget(f, 1000, 1), STATUS_OK);
        assert_int_equal(end_job(f, "one"), STATUS_OK);
        assert_int_equal(f->jobs.jobs.finished.n, 1);
        assert_int_equal(f->jobs.jobs.totals.users.n, 1);
        assert_int_equal(serve_forget(f, 1000, 1), STATUS_OK);
        assert_int_equal(f->jobs.jobs.finished.n, 1);
        assert_int_equal(serve_forget(f, 1001, 0), STATUS_OK);
        assert_int_equal(f->jobs.jobs.finished.n, 1);
        assert_int_equal(serve_forget(f, 1000, 0), STATUS_OK);
        assert_string_equal(f->answer.complaint.text, "1 of job");
        assert_int_equal(f->jobs.jobs.finished.n, 0);
        assert_int_equal(f->jobs.jobs.totals.users.n, 0);
}

static void a_full_queue_and_a_failure_of_the_store(void **state) {
        Fixture *f = *state;
        Request request = { .kind = REQUEST_FORGET, .forget.uid = 1000 };
        Forget forget = forget_of(f);
        StoreDone done;
        sqlite3 *db = block_store(f);

        f->peer.is_admin = request.peer.is_admin = true;
        assert_int_equal(place_forget(f, &request), DESK_FULL);
        unblock_store(f, db);
        assert_int_equal(place_forget(f, &request), DESK_PENDING);
        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        done.outcome = STORE_FAILED;
        assert_int_equal(forget_kinds[0].complete(&forget, &done, &f->answer), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
}

static void what_was_not_done_is_said(void **state) {
        Fixture *f = *state;
        char path[PATH_MAX];

        f->peer.is_admin = true;
        place_path(&f->place, "perfd.db.older-2026-11-22T14:00:00Z", path);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        assert_int_equal(serve_forget(f, 1000, 0), STATUS_INVALID);
        assert_non_null(strstr(f->answer.complaint.text, "but 1 files that were put aside"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(only_administrators_may_forget),
                ROOM_TEST(jobs_that_ended_are_forgotten),
                ROOM_TEST(a_full_queue_and_a_failure_of_the_store),
                ROOM_TEST(what_was_not_done_is_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
