/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/ingest.c daemon/ingest/listener.c */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "ingest_fixture.h"

static void a_half_closed_peer_gets_its_answers_then_the_end(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[50];

        submit(f, fd, 1, 50); /* more than in_flight_max: some requests are still in the buffer at the end of the
                               * stream */
        shutdown(fd, SHUT_WR);
        turn(f);
        answer_all(f);
        turn(f);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 50), 50);
        assert_closed(f, fd);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 0);
}

static void tickets_of_a_closed_connection_are_ignored(void **state) {
        Fixture *f = *state;
        int fd = join(f);
        scoped(closep) int other = -1;
        Reply replies[4];

        submit(f, fd, 1, 3);
        close(fd);
        turn(f);
        answer(f, 1, STATUS_OK);
        ingest_flush(f->ingest);
        turn(f);

        other = join(f); /* reuses the table entry of the first connection */
        submit(f, other, 7, 1);
        assert_int_equal(f->n_tickets, 4);
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 4), 1);
        assert_int_equal(replies[0].sequence, 7);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 1);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
}

static void requests_sent_before_a_disconnect_are_processed(void **state) {
        Fixture *f = *state;
        int fd = join(f);
        Buffer stream = {};

        for (unsigned i = 0; i < 10; i++)
                put_submit(&stream, i);
        assert_int_equal(send(fd, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        close(fd);
        turn(f);
        assert_int_equal(f->n_tickets, 10);
        answer_all(f);
        turn(f);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 0);
        assert_true(ingest_is_idle(f->ingest));
}

static void invalid_bytes_get_a_reply_and_close_the_connection(void **state) {
        static const char *const texts[] = {
                ("{\"@parameters\": {}, \"@result\": {}, \"name\": \"PiMatmul\", \"component\": \"tensorflow\", "
                 "\"more\": \"than the frame that an opening brace announces\"}"),
                "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser that found the wrong socket\r\n\r\n",
                "\xff\xff\xff\xff\xff\xff",
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(closep) int fd = join(f);
                Reply reply;

                assert_int_equal(send(fd, texts[i], strlen(texts[i]), MSG_NOSIGNAL), strlen(texts[i]));
                assert_int_equal(receive(f, fd, &reply, 1), 1);
                assert_int_equal(reply.sequence, 0);
                assert_int_equal(reply.status, STATUS_INVALID);
                assert_true(says(&reply, "not a perfd frame"));
                assert_closed(f, fd);
        }
        assert_int_equal(ingest_stats(f->ingest)->n_protocol_errors, N_ELEMENTS(texts));
}

static void garbage_after_requests_does_not_cost_them_their_answers(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {};
        Reply replies[3];

        put_submit(&stream, 1);
        put_submit(&stream, 2);
        buffer_puts(&stream, "\xff\xff\xff\xff\xff\xff");
        send_stream(f, fd, &stream);
        turn(f);
        assert_int_equal(f->n_tickets, 2);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 3), 3);
        assert_int_equal(replies[1].sequence, 2);
        assert_int_equal(replies[2].status, STATUS_INVALID);
        assert_closed(f, fd);
}

static void a_frame_over_the_limit_is_refused_by_its_name(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        uint8_t header[FRAME_HEADER_MAX];
        size_t n = frame_write_header(header, (uint32_t)f->config.frame_max_bytes + 1);
        Reply reply;

        assert_int_equal(send(fd, header, n, MSG_NOSIGNAL), n);
        assert_int_equal(receive(f, fd, &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_TOO_LARGE);
        assert_true(says(&reply, "65536"));
        assert_true(says(&reply, "frame_size"));
        assert_closed(f, fd);
}

/* --- limits -------------------------------------------------------------------------------------- */

static void a_connection_over_a_limit_gets_the_reason(void **state) {
        Fixture *f = *state;
        int fds[3];
        Reply reply;

        f->shares_config.limits[RESOURCE_CONNECTIONS] = 2;
        shares_configure(f->shares, &f->shares_config);
        for (size_t i = 0; i < 3; i++)
                fds[i] = join(f);
        assert_int_equal(receive(f, fds[2], &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_QUOTA);
        assert_int_equal(reply.sequence, 0);
        assert_true(says(&reply, "[limits] connections = 2"));
        assert_closed(f, fds[2]);
        assert_open(f, fds[0]);
        assert_int_equal(ingest_stats(f->ingest)->n_connections_refused, 1);

        /* The number of a closed connection is reused. */
        close(fds[0]);
        turn(f);
        close(fds[2]);
        fds[2] = join(f);
        assert_open(f, fds[2]);
        close(fds[1]);
        close(fds[2]);
}

static int join_as(Fixture *f, uint32_t uid) {
        int fd;

        assert_int_equal(chmod(f->directory, 0755), 0);
        assert_int_equal(chmod(f->address.sun_path, 0666), 0);
        assert_int_equal(seteuid(uid), 0);
        fd = join(f); /* the kernel records the credentials at connect() */
        assert_int_equal(seteuid(0), 0);
        return fd;
}

static void a_user_has_a_share_of_the_connections(void **state) {
        Fixture *f = *state;
        int fds[6];
        Reply reply;

        if (getuid() != 0)
                skip(); /* needs root, to act as several users */
        f->shares_config.limits[RESOURCE_CONNECTIONS] = 10;
        shares_configure(f->shares, &f->shares_config);
        for (size_t i = 0; i < 6; i++)
                fds[i] = join_as(f, 65534);
        assert_int_equal(receive(f, fds[5], &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_QUOTA);
        assert_true(says(&reply, "uid 65534 holds 5 connections"));
        assert_open(f, fds[0]);
        close(fds[5]);
        fds[5] = join_as(f, 65533); /* another user, and root */
        assert_open(f, fds[5]);
        close(fds[0]);
        fds[0] = join(f);
        assert_open(f, fds[0]);
        for (size_t i = 0; i < 6; i++)
                close(fds[i]);
}

static void without_descriptors_a_peer_is_refused_and_the_loop_sleeps(void **state) {
        Fixture *f = *state;
        scoped(closep) int before = join(f), fd = -1, waiting = -1;
        struct rlimit limit, tight;
        Reply replies[1];
        int highest;

        turn(f);
        fd = join(f);
        waiting = join(f);
        highest = dup(waiting);
        assert_true(highest >= 0);
        close(highest);

        /* No descriptors from `highest` on are available, and all below are in use. */
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        tight = (struct rlimit){ .rlim_cur = (rlim_t)highest, .rlim_max = limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
        turn(f);
        assert_int_equal(receive(f, fd, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_QUOTA);
        assert_true(says(&replies[0], "file descriptors"));
        assert_closed(f, fd);
        assert_int_equal(sd_event_run(f->event, 0), 0);

        submit(f, before, 1, 1); /* existing connections are served */
        answer_all(f);
        assert_int_equal(receive(f, before, replies, 1), 1);

        /* After descriptors are available again, waiting clients are accepted. */
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_true(sd_event_run(f->event, DEADLINE_NS / NS_PER_US) > 0);
        submit(f, waiting, 2, 1);
        answer_all(f);
        assert_int_equal(receive(f, waiting, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_OK);
}

static void new_limits_apply_to_open_connections(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[1];

        submit(f, fd, 1, 1);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 1), 1);

        f->config.frame_max_bytes = 64;
        ingest_configure(f->ingest, &f->config);
        submit(f, fd, 2, 1);
        assert_int_equal(receive(f, fd, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_TOO_LARGE);
}

static void draining_answers_accepted_requests_and_accepts_no_more(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[2];

        submit(f, fd, 1, 1);
        assert_false(ingest_is_idle(f->ingest));
        ingest_drain(f->ingest);
        submit(f, fd, 2, 1);
        assert_int_equal(f->n_tickets, 1);
        assert_false(ingest_is_idle(f->ingest));
        answer_all(f);
        assert_true(ingest_is_idle(f->ingest));
        assert_int_equal(receive(f, fd, replies, 2), 1);
        assert_int_equal(replies[0].sequence, 1);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_half_closed_peer_gets_its_answers_then_the_end),
                TEST(tickets_of_a_closed_connection_are_ignored),
                TEST(requests_sent_before_a_disconnect_are_processed),
                TEST(invalid_bytes_get_a_reply_and_close_the_connection),
                TEST(garbage_after_requests_does_not_cost_them_their_answers),
                TEST(a_frame_over_the_limit_is_refused_by_its_name),
                TEST(a_connection_over_a_limit_gets_the_reason),
                TEST(a_user_has_a_share_of_the_connections),
                TEST(without_descriptors_a_peer_is_refused_and_the_loop_sleeps),
                TEST(new_limits_apply_to_open_connections),
                TEST(draining_answers_accepted_requests_and_accepts_no_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
