/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "ingest/connection.h"
#include "util/scoped.h"
#include "wire.h"

#define FRAME_MAX_BYTES 300000U
#define IN_FLIGHT_MAX 8U

typedef struct Fixture {
        Connection connection;
        int peer; /* the other end, non-blocking */
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));
        int fds[2];

        *state = f;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
                return -1;

        connection_init(&f->connection, fds[0], &(Peer){ .uid = 1, .pidfd = -1 });
        f->peer = fds[1];
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        connection_deinit(&f->connection);
        closep(&f->peer);
        free(f);
        return 0;
}

/* Writes all frames at once: the kernel limits the number of writes more than the bytes. */
static void send_frames(Fixture *f, size_t n_frames, size_t n) {
        Buffer stream = {};

        for (size_t i = 0; i < n_frames; i++) {
                Buffer body = {};

                for (size_t k = 0; k < n; k++)
                        buffer_putc(&body, 'b');
                put_frame(&stream, &body);
        }
        assert_int_equal(send(f->peer, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
}

static void send_frame(Fixture *f, size_t n) {
        send_frames(f, 1, n);
}

static int peek(Fixture *f, Frame *ret) {
        return connection_peek(&f->connection, FRAME_MAX_BYTES, IN_FLIGHT_MAX, ret);
}

/* Reads until no more data is available, then takes all frames; returns their number. */
static size_t take_all(Fixture *f) {
        size_t n = 0;
        Frame frame;
        int r;

        do {
                size_t n_before = f->connection.in_end - f->connection.in_begin;

                r = connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true));
                if (f->connection.in_end - f->connection.in_begin == n_before)
                        break;
        } while (r == 0);

        while (peek(f, &frame) == 0) {
                connection_consume(&f->connection, &frame);
                n++;
        }
        return n;
}

static void reply(Fixture *f, uint64_t number, const char *text) {
        assert_int_equal(connection_reply(&f->connection, number, (const uint8_t *)text, strlen(text)), 0);
}

static void assert_received(Fixture *f, const char *text) {
        char bytes[64];
        ssize_t n = recv(f->peer, bytes, sizeof(bytes), 0);

        assert_int_equal(n, strlen(text));
        assert_memory_equal(bytes, text, strlen(text));
}

static void an_idle_connection_owns_no_buffer(void **state) {
        Fixture *f = *state;
        uint64_t number;

        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_null(f->connection.in);

        send_frame(f, 100);
        assert_int_equal(take_all(f), 1);
        assert_null(f->connection.in);

        assert_int_equal(connection_expect(&f->connection, 1, 100, &number), 0);
        reply(f, number, "r");
        assert_int_equal(connection_send(&f->connection), 0);
        assert_null(f->connection.out.text);
}

static void a_buffer_is_as_large_as_the_frame_announced_and_not_larger(void **state) {
        Fixture *f = *state;
        uint8_t header[FRAME_HEADER_MAX];
        size_t n = frame_write_header(header, 200000);
        Frame frame;

        assert_int_equal(send(f->peer, header, n, MSG_NOSIGNAL), n);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_int_equal(f->connection.in_size, 4096);
        assert_int_equal(peek(f, &frame), CONNECTION_NOTHING);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_int_equal(f->connection.in_size, n + 200000);
}

static void a_large_buffer_shrinks_while_small_frames_follow(void **state) {
        Fixture *f = *state;
        Frame frame;

        send_frame(f, 150000);
        while (peek(f, &frame) != 0)
                assert_int_equal(connection_receive(&f->connection,
                                                    connection_input_size(&f->connection, FRAME_MAX_BYTES, true)),
                                 0);
        assert_true(f->connection.in_size > 150000);

        send_frame(f, 10);
        assert_int_equal(send(f->peer, "\x05" "half", 3, MSG_NOSIGNAL), 3);
        connection_consume(&f->connection, &frame);
        for (unsigned i = 0; i < 4; i++)
                assert_in_range(connection_receive(&f->connection,
                                                   connection_input_size(&f->connection, FRAME_MAX_BYTES, true)),
                                0, CONNECTION_FULL);
        assert_int_equal(take_all(f), 1);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_in_range(f->connection.in_size, 1, CONNECTION_IN_BYTES);
}

static void reading_stops_when_frames_are_not_processed(void **state) {
        Fixture *f = *state;
        int r = 0;

        send_frames(f, 100, 1000);
        for (unsigned i = 0; i < 1000 && r == 0; i++)
                r = connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true));
        assert_int_equal(r, CONNECTION_FULL);
        assert_int_equal(f->connection.in_size, CONNECTION_IN_BYTES);
        assert_int_equal(take_all(f) + take_all(f), 100);
}

static void replies_wait_for_those_before_them(void **state) {
        Fixture *f = *state;
        uint64_t numbers[3];
        size_t n_bytes;

        for (size_t i = 0; i < 3; i++)
                assert_int_equal(connection_expect(&f->connection, i, 100, &numbers[i]), 0);
        reply(f, numbers[2], "c");
        reply(f, numbers[1], "b");
        assert_false(connection_has_output(&f->connection));
        assert_int_equal(connection_count_unanswered(&f->connection, &n_bytes), 1);
        assert_int_equal(n_bytes, 100);
        reply(f, numbers[0], "a");
        assert_int_equal(connection_send(&f->connection), 0);
        assert_received(f, "abc");
}

static void a_request_is_found_until_it_is_answered(void **state) {
        Fixture *f = *state;
        uint64_t first, second;

        assert_int_equal(connection_expect(&f->connection, 71, 100, &first), 0);
        assert_int_equal(connection_expect(&f->connection, 72, 100, &second), 0);
        assert_int_equal(connection_find(&f->connection, second)->sequence, 72);
        reply(f, second, "b");
        assert_null(connection_find(&f->connection, second));
        assert_int_equal(connection_find(&f->connection, first)->sequence, 71);
        reply(f, first, "a");
        assert_null(connection_find(&f->connection, first));
        assert_null(connection_find(&f->connection, 1000));
}

static void the_ring_grows_with_unanswered_requests(void **state) {
        Fixture *f = *state;
        uint64_t number;

        for (uint64_t i = 0; i < 10; i++) { /* moves the start of the ring buffer */
                assert_int_equal(connection_expect(&f->connection, i, 100, &number), 0);
                reply(f, number, "x");
        }
        for (uint64_t i = 10; i < 100; i++)
                assert_int_equal(connection_expect(&f->connection, i, 100, &number), 0);
        for (uint64_t i = 10; i < 100; i++)
                assert_int_equal(connection_find(&f->connection, i)->sequence, i);
}

static void the_number_of_waiting_requests_is_limited(void **state) {
        Fixture *f = *state;
        uint64_t number = 0;
        Frame frame;

        send_frame(f, 10);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        for (unsigned i = 0; i < IN_FLIGHT_MAX; i++)
                assert_int_equal(connection_expect(&f->connection, i, 100, &number), 0);
        assert_int_equal(peek(f, &frame), CONNECTION_BUSY);
        reply(f, 0, "a");
        assert_int_equal(peek(f, &frame), 0);
}

static void unread_replies_stop_requests_and_do_not_pile_up(void **state) {
        Fixture *f = *state;
        char text[1000];
        uint64_t number;
        Frame frame;

        send_frame(f, 10);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        memset(text, 'r', sizeof(text));
        while (peek(f, &frame) == 0) {
                assert_int_equal(connection_expect(&f->connection, 1, 100, &number), 0);
                assert_int_equal(connection_reply(&f->connection, number, (uint8_t *)text, sizeof(text)), 0);
                (void)connection_send(&f->connection);
        }
        assert_int_equal(peek(f, &frame), CONNECTION_BUSY);

        /* A peer that always sends incomplete frames must not make the buffer keep consumed data. */
        for (unsigned i = 0; i < 1000; i++) {
                char taken[16000];

                assert_true(recv(f->peer, taken, sizeof(taken), 0) > 0);
                assert_int_equal(connection_send(&f->connection), CONNECTION_PENDING);
                while (peek(f, &frame) == 0) {
                        assert_int_equal(connection_expect(&f->connection, 1, 100, &number), 0);
                        assert_int_equal(connection_reply(&f->connection, number, (uint8_t *)text, sizeof(text)), 0);
                }
                assert_true(f->connection.out.n_allocated <= 4 * CONNECTION_OUT_BYTES);
        }
}

static void a_connection_ends_after_its_last_reply(void **state) {
        Fixture *f = *state;
        uint64_t number;
        Frame frame;

        send_frame(f, 10);
        shutdown(f->peer, SHUT_WR);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_true(f->connection.is_at_end);
        assert_false(connection_is_over(&f->connection, FRAME_MAX_BYTES));

        assert_int_equal(peek(f, &frame), 0);
        connection_consume(&f->connection, &frame);
        assert_int_equal(connection_expect(&f->connection, 1, 100, &number), 0);
        assert_false(connection_is_over(&f->connection, FRAME_MAX_BYTES));
        reply(f, number, "last");
        assert_false(connection_is_over(&f->connection, FRAME_MAX_BYTES));
        assert_int_equal(connection_send(&f->connection), 0);
        assert_true(connection_is_over(&f->connection, FRAME_MAX_BYTES));
}

static void nothing_is_stored_for_a_disconnected_peer(void **state) {
        Fixture *f = *state;
        uint64_t first, second;

        assert_int_equal(connection_expect(&f->connection, 1, 100, &first), 0);
        assert_int_equal(connection_expect(&f->connection, 2, 100, &second), 0);
        closep(&f->peer);
        f->peer = -1;
        reply(f, first, "a");
        assert_int_equal(connection_send(&f->connection), 0);
        assert_true(f->connection.is_deaf);
        reply(f, second, "b");
        assert_false(connection_has_output(&f->connection));
        assert_int_equal(
                connection_receive(&f->connection, connection_input_size(&f->connection, FRAME_MAX_BYTES, true)), 0);
        assert_true(connection_is_over(&f->connection, FRAME_MAX_BYTES));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(an_idle_connection_owns_no_buffer),
                TEST(a_buffer_is_as_large_as_the_frame_announced_and_not_larger),
                TEST(a_large_buffer_shrinks_while_small_frames_follow),
                TEST(reading_stops_when_frames_are_not_processed),
                TEST(replies_wait_for_those_before_them),
                TEST(a_request_is_found_until_it_is_answered),
                TEST(the_ring_grows_with_unanswered_requests),
                TEST(the_number_of_waiting_requests_is_limited),
                TEST(unread_replies_stop_requests_and_do_not_pile_up),
                TEST(a_connection_ends_after_its_last_reply),
                TEST(nothing_is_stored_for_a_disconnected_peer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
