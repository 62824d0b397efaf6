/* SPDX-License-Identifier: Apache-2.0 */
/* The desk between a real ingest and a real store; the kinds belong to the test. */
#define tear_down ingest_tear_down
#define set_up ingest_set_up
#define put_number put_wire_number
#include "ingest_fixture.h"
#undef set_up
#undef put_number
#undef tear_down

#include "desk/desk.h"
#include "store_fixture.h"

/* Records the calls to the kinds. */
typedef struct Asked {
        unsigned n_placed, n_completed;
        int outcome;         /* result of place() */
        int complete_outcome;
        unsigned n_more; /* turns that the next request or completion takes before its outcome */
        Store *store;
} Asked;

typedef struct DeskFixture {
        Fixture *ingest;
        Place *place;
        Desk desk;
        Asked asked;
} DeskFixture;

static const Kind kinds[N_REQUEST_KINDS];

static int place(void *state, const Request *request, Ticket ticket, Answer *ret) {
        Asked *asked = state;

        assert_int_equal(request->kind, REQUEST_SUBMIT);
        asked->n_placed++;
        if (asked->n_more > 0) {
                asked->n_more--;
                return DESK_MORE;
        }
        if (asked->outcome == DESK_PENDING) {
                Item item;

                item_make(&item, "A", "c", asked->n_placed);
                return desk_pending(store_put(asked->store,
                                              result_rows_pack(&item.submission, 1, ROOT, 1,
                                                               (StoreCookie){ .kind = &kinds[0], .ticket = ticket })));
        }
        if (asked->outcome != 0)
                return asked->outcome;
        return desk_answer(ret, STATUS_DUPLICATE, "path", "text");
}

static int complete(void *state, const StoreDone *done, Answer *ret) {
        Asked *asked = state;

        asked->n_completed++;
        assert_int_equal(done->outcome, STORE_DONE);
        if (asked->n_more > 0) {
                asked->n_more--;
                return DESK_MORE;
        }
        desk_answer_store_failed(ret, asked->store);
        assert_int_equal(ret->status, STATUS_UNAVAILABLE);
        return asked->complete_outcome;
}

static const Kind kinds[N_REQUEST_KINDS] = {
        { REQUEST_SUBMIT, "submit", place, complete, NULL },
        { REQUEST_JOB_BEGIN, "job_begin", place, complete, NULL },
        { REQUEST_JOB_END, "job_end", place, complete, NULL },
        { REQUEST_MARK, "mark", place, complete, NULL },
        { REQUEST_REGISTER, "register", place, complete, NULL },
        { REQUEST_UNREGISTER, "unregister", place, complete, NULL },
        { REQUEST_RELOAD, "reload", place, complete, NULL },
        { REQUEST_PIPELINE_REPORT, "pipeline report", place, complete, NULL },
        { REQUEST_FORGET, "forget", place, complete, NULL },
        { REQUEST_HELLO, "completions alone", NULL, complete, NULL },
};

static int set_up(void **state) {
        DeskFixture *f = calloc(1, sizeof(*f));
        DeskRow row = { kinds, N_ELEMENTS(kinds), &f->asked };

        assert_non_null(f);
        *state = f;
        assert_int_equal(ingest_set_up((void **)&f->ingest), 0);
        assert_int_equal(place_setup_volatile((void **)&f->place), 0);
        f->asked.store = f->place->store;
        desk_init(&f->desk, &row, 1);
        return 0;
}

static int tear_down(void **state) {
        DeskFixture *f = *state;

        ingest_tear_down((void **)&f->ingest);
        place_teardown((void **)&f->place);
        free(f);
        return 0;
}

/* Sends submissions and runs the loop to read them. */
static int send_some(DeskFixture *f, unsigned n) {
        Buffer stream = {};
        int fd = join(f->ingest);

        for (unsigned i = 1; i <= n; i++)
                put_submit(&stream, i);
        while (sd_event_run(f->ingest->event, 0) > 0)
                ;
        assert_int_equal(send(fd, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        return fd;
}

static int turn_desk(DeskFixture *f) {
        while (sd_event_run(f->ingest->event, 20000) > 0)
                ;
        return desk_take_requests(&f->desk, f->ingest->ingest);
}

static void requests_are_answered_in_one_iteration(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 3);

        assert_int_equal(turn_desk(f), 0);
        assert_int_equal(f->asked.n_placed, 3);
        assert_int_equal(ingest_stats(f->ingest->ingest)->n_answers[STATUS_DUPLICATE], 3);
        assert_true(ingest_is_idle(f->ingest->ingest));
        close(fd);
}

static void a_request_without_room_is_placed_again(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 2);

        f->asked.outcome = DESK_FULL;
        assert_int_equal(turn_desk(f), 0);
        assert_int_equal(f->asked.n_placed, 1);
        assert_true(f->desk.held.is_set);
        assert_int_equal(turn_desk(f), 0);
        assert_int_equal(f->asked.n_placed, 2);
        f->asked.outcome = 0;
        assert_int_equal(turn_desk(f), 0);
        assert_int_equal(f->asked.n_placed, 4);
        assert_false(f->desk.held.is_set);
        close(fd);
}

static void an_answer_waits_for_the_store(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 2);

        f->asked.outcome = DESK_PENDING;
        f->asked.complete_outcome = DESK_CHANGED;
        assert_int_equal(turn_desk(f), 0);
        assert_false(ingest_is_idle(f->ingest->ingest));
        EVENTUALLY(desk_take_completions(&f->desk, f->place->store, f->ingest->ingest) == DESK_CHANGED ||
                   f->asked.n_completed == 2);
        EVENTUALLY(desk_take_completions(&f->desk, f->place->store, f->ingest->ingest) >= 0 &&
                   f->asked.n_completed == 2);
        ingest_flush(f->ingest->ingest);
        assert_int_equal(ingest_stats(f->ingest->ingest)->n_answers[STATUS_UNAVAILABLE], 2);
        assert_true(ingest_is_idle(f->ingest->ingest));
        close(fd);
}

static void a_long_request_goes_on_in_the_next_turn(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 2);

        f->asked.n_more = 2;
        assert_int_equal(turn_desk(f), 0);
        assert_int_equal(f->asked.n_placed, 1);
        /* The loop turns again although no descriptor is readable. */
        assert_true(sd_event_run(f->ingest->event, 20000) > 0);
        assert_int_equal(desk_take_requests(&f->desk, f->ingest->ingest), 0);
        assert_int_equal(f->asked.n_placed, 2);
        assert_int_equal(ingest_stats(f->ingest->ingest)->n_answers[STATUS_DUPLICATE], 0);
        ingest_drain(f->ingest->ingest);
        assert_true(sd_event_run(f->ingest->event, 20000) > 0);
        assert_int_equal(desk_take_requests(&f->desk, f->ingest->ingest), 0);
        assert_int_equal(ingest_stats(f->ingest->ingest)->n_answers[STATUS_DUPLICATE], 1);
        assert_false(f->desk.held.is_set);
        close(fd);
}

static void a_long_completion_goes_on_in_the_next_turn(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 1);

        f->asked.outcome = DESK_PENDING;
        f->asked.complete_outcome = DESK_CHANGED;
        assert_int_equal(turn_desk(f), 0);
        f->asked.n_more = 2;
        for (unsigned n = 1; n <= 2; n++) {
                EVENTUALLY(desk_take_completions(&f->desk, f->place->store, f->ingest->ingest) == 0 &&
                           f->asked.n_completed == n);
                assert_true(f->desk.has_held_done);
                assert_false(ingest_is_idle(f->ingest->ingest));
        }
        assert_int_equal(desk_take_completions(&f->desk, f->place->store, f->ingest->ingest), DESK_CHANGED);
        assert_false(f->desk.has_held_done);
        ingest_flush(f->ingest->ingest);
        assert_true(ingest_is_idle(f->ingest->ingest));
        close(fd);
}

static void a_completion_without_a_ticket_has_no_answer(void **state) {
        DeskFixture *f = *state;
        const StoreCookie cookie = { .kind = &kinds[N_REQUEST_KINDS - 1] };
        Item item;

        item_make(&item, "A", "c", 1);
        assert_int_equal(store_put(f->place->store, result_rows_pack(&item.submission, 1, ROOT, 1, cookie)), 0);
        EVENTUALLY(desk_take_completions(&f->desk, f->place->store, f->ingest->ingest) == 0 &&
                   f->asked.n_completed == 1);
        assert_int_equal(ingest_stats(f->ingest->ingest)->n_answers[STATUS_UNAVAILABLE], 0);
}

static void errors_go_up(void **state) {
        DeskFixture *f = *state;
        int fd = send_some(f, 1);

        f->asked.outcome = -EIO;
        assert_int_equal(turn_desk(f), -EIO);
        assert_int_equal(desk_pending(-ENOMEM), -ENOMEM);
        assert_int_equal(desk_pending(STORE_QUEUE_FULL), DESK_FULL);
        close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(requests_are_answered_in_one_iteration),
                TEST(a_request_without_room_is_placed_again),
                TEST(an_answer_waits_for_the_store),
                TEST(a_long_request_goes_on_in_the_next_turn),
                TEST(a_long_completion_goes_on_in_the_next_turn),
                TEST(a_completion_without_a_ticket_has_no_answer),
                TEST(errors_go_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
