/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/ingest.c */
#include <errno.h>
#include <string.h>

#include "ingest_fixture.h"

/* --- order --------------------------------------------------------------------------------------- */

static void replies_come_in_the_order_of_requests_whatever_the_order_of_answers(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        static const size_t order[] = { 3, 1, 4, 0, 2 };
        static const Status statuses[] = { STATUS_OK, STATUS_DUPLICATE, STATUS_UNAVAILABLE, STATUS_DENIED, STATUS_OK };
        Reply replies[5];

        submit(f, fd, 100, 5);
        assert_int_equal(f->n_tickets, 5);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 5);

        for (size_t i = 0; i < 3; i++)
                answer(f, order[i], statuses[order[i]]);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 5), 0); /* the first request has no answer yet */

        for (size_t i = 3; i < 5; i++)
                answer(f, order[i], statuses[order[i]]);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 5), 5);
        for (size_t i = 0; i < 5; i++) {
                assert_int_equal(replies[i].sequence, 100 + i);
                assert_int_equal(replies[i].status, statuses[i]);
        }
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
        assert_int_equal(ingest_stats(f->ingest)->n_answers[STATUS_OK], 2);
}

static void hello_and_invalid_requests_are_answered_by_ingest_but_in_their_turn(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {}, invalid = {}, job_end = {};
        Reply replies[4];

        put_submit(&stream, 1);
        put_hello(&stream, 2);
        put_number(&invalid, FIELD_SEQUENCE, 3);
        put_message(&invalid, FIELD_JOB_END, &job_end);
        put_frame(&stream, &invalid);
        put_submit(&stream, 4);
        send_stream(f, fd, &stream);
        assert_int_equal(receive(f, fd, replies, 4), 0);
        assert_int_equal(f->n_tickets, 2);

        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 4), 4);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(replies[i].sequence, i + 1);
        assert_true(says(&replies[1], "perfd test"));
        assert_int_equal(replies[2].status, STATUS_INVALID);
        assert_true(says(&replies[2], "job_end.job"));
}

static void an_answer_given_twice_counts_once(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[3];

        submit(f, fd, 1, 2);
        answer(f, 1, STATUS_OK);
        answer(f, 1, STATUS_INVALID);
        answer(f, 0, STATUS_OK);
        answer(f, 0, STATUS_INVALID);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 3), 2);
        assert_int_equal(replies[0].status, STATUS_OK);
        assert_int_equal(replies[1].status, STATUS_OK);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
}

static void requests_that_come_byte_by_byte_are_understood(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {};
        Reply replies[2];

        put_submit(&stream, 1);
        put_submit(&stream, 2);
        for (size_t i = 0; i < stream.n; i++) {
                assert_int_equal(send(fd, stream.text + i, 1, MSG_NOSIGNAL), 1);
                turn(f);
        }
        buffer_deinit(&stream);
        assert_int_equal(f->n_tickets, 2);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 2), 2);
}

static void a_frame_of_the_maximum_size_is_accepted_among_small_ones(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {}, document, request, result = {};
        char text[STRING_MAX_BYTES - 1024];
        Reply replies[3];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        put_member_string(&result, "log", text);
        document = make_document(&result);
        request = make_submit(2, &document);
        assert_in_range(request.n, 60000, f->config.frame_max_bytes);

        put_submit(&stream, 1);
        put_frame(&stream, &request);
        put_submit(&stream, 3);
        send_stream(f, fd, &stream);
        turn(f);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 3), 3);
        assert_int_equal(replies[1].status, STATUS_OK);
}

/* --- back-pressure ------------------------------------------------------------------------------- */

static void requests_of_a_connection_are_limited_to_in_flight_max(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[200];
        size_t n = 0;

        submit(f, fd, 0, 200);
        assert_int_equal(f->n_tickets, f->config.in_flight_max);

        for (unsigned turns = 0; turns < 10 && n < 200; turns++) {
                answer_all(f);
                n += receive(f, fd, replies + n, 200 - n);
                assert_true(f->n_tickets <= f->config.in_flight_max);
        }
        assert_int_equal(n, 200);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(replies[i].sequence, i);
}

static void the_loop_sleeps_while_requests_wait_for_answers(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f), gone = join(f);
        Buffer stream = {};

        for (unsigned i = 0; i < 2000; i++)
                put_submit(&stream, i);
        while (stream.n > 0) { /* until neither ingest's buffer nor the socket accepts more */
                ssize_t n = send(fd, stream.text, stream.n, MSG_NOSIGNAL);

                if (n < 0)
                        break;
                memmove(stream.text, stream.text + n, stream.n - (size_t)n);
                stream.n -= (size_t)n;
                turn(f);
        }
        assert_true(stream.n > 0);
        buffer_deinit(&stream);

        /* The other client has an unanswered request, and closed its connection. */
        submit(f, gone, 1, 1);
        close(TAKE_FD(gone));
        turn(f);
        assert_int_equal(sd_event_run(f->event, 0), 0);
        assert_int_equal(sd_event_run(f->event, 0), 0);
}

/* The next request, of this turn or of a later one: a turn can be short on a busy machine. */
static void next_request(Fixture *f, Request *ret, Ticket *ret_ticket) {
        while (ingest_next(f->ingest, ret, ret_ticket) != 0)
                assert_true(sd_event_run(f->event, 0) > 0);
}

static void a_connection_with_many_requests_does_not_delay_others(void **state) {
        Fixture *f = *state;
        scoped(closep) int busy = join(f), other = join(f);
        Buffer stream = {};
        Request request;
        Ticket first, ticket;
        unsigned n = 0;

        f->config.in_flight_max = 1024;
        ingest_configure(f->ingest, &f->config);
        turn(f);

        for (unsigned i = 0; i < 200; i++)
                put_submit(&stream, i);
        assert_int_equal(send(busy, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_clear(&stream);
        put_submit(&stream, 1);
        assert_int_equal(send(other, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        while (sd_event_run(f->event, 0) > 0)
                ;

        next_request(f, &request, &first);
        do {
                n++;
                next_request(f, &request, &ticket);
        } while (ticket.connection == first.connection);
        assert_in_range(n, 1, 100);
}

/* Timers with a higher priority run in between. */
static void an_iteration_is_limited_to_a_few_milliseconds_of_work(void **state) {
        Fixture *f = *state;
        Buffer stream = {};
        Request request;
        Ticket ticket;
        unsigned n = 0;
        int fds[8];

        f->config.in_flight_max = 1024;
        ingest_configure(f->ingest, &f->config);
        for (unsigned i = 0; i < 300; i++)
                put_submit(&stream, i);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                fds[i] = join(f);
                assert_int_equal(send(fds[i], stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        }
        buffer_deinit(&stream);
        while (sd_event_run(f->event, 0) > 0)
                ;

        while (n < 300 * N_ELEMENTS(fds)) {
                unsigned n_turn = 0;

                while (ingest_next(f->ingest, &request, &ticket) == 0)
                        n_turn++;
                assert_in_range(n_turn, 0, 2000); /* by their bytes; a turn can be shorter on a busy machine */
                n += n_turn;
                if (n < 300 * N_ELEMENTS(fds))
                        assert_true(sd_event_run(f->event, 0) > 0);
        }
        assert_int_equal(n, 300 * N_ELEMENTS(fds));
        for (size_t i = 0; i < N_ELEMENTS(fds); i++)
                close(fds[i]);
}

static void a_peer_that_never_reads_delays_only_itself(void **state) {
        Fixture *f = *state;
        scoped(closep) int deaf = join(f), other = join(f);
        Buffer stream = {};
        Reply replies[1];
        size_t n_answered = 0, n_sent = 0;

        /* Invalid requests, which have the longest replies. */
        for (unsigned i = 0; i < 50000; i++) {
                Buffer request = {}, job_end = {};

                put_number(&request, FIELD_SEQUENCE, i);
                put_message(&request, FIELD_JOB_END, &job_end);
                put_frame(&stream, &request);
        }
        for (;;) {
                ssize_t n = send(deaf, stream.text + n_sent, stream.n - n_sent, MSG_NOSIGNAL);

                if (n > 0)
                        n_sent += (size_t)n;
                turn(f);
                if (n <= 0 && ingest_stats(f->ingest)->n_answers[STATUS_INVALID] == n_answered)
                        break;
                n_answered = ingest_stats(f->ingest)->n_answers[STATUS_INVALID];
                assert_true(n_sent < stream.n);
        }
        buffer_deinit(&stream);
        assert_true(n_answered < 20000); /* 64 KiB in ingest plus the kernel's buffer */
        assert_int_equal(sd_event_run(f->event, 0), 0);
        assert_false(ingest_is_idle(f->ingest));

        submit(f, other, 1, 1);
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 1), 1);

        /* After the client reads, ingest continues. */
        assert_int_equal(receive(f, deaf, replies, 1), 1);
        while (receive(f, deaf, replies, 1) == 1)
                ;
        assert_true(ingest_stats(f->ingest)->n_answers[STATUS_INVALID] > n_answered);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(replies_come_in_the_order_of_requests_whatever_the_order_of_answers),
                TEST(hello_and_invalid_requests_are_answered_by_ingest_but_in_their_turn),
                TEST(an_answer_given_twice_counts_once),
                TEST(requests_that_come_byte_by_byte_are_understood),
                TEST(a_frame_of_the_maximum_size_is_accepted_among_small_ones),
                TEST(requests_of_a_connection_are_limited_to_in_flight_max),
                TEST(the_loop_sleeps_while_requests_wait_for_answers),
                TEST(a_connection_with_many_requests_does_not_delay_others),
                TEST(an_iteration_is_limited_to_a_few_milliseconds_of_work),
                TEST(a_peer_that_never_reads_delays_only_itself),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
