/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/wire/wire.h"
#include "util/clock.h"

/* The peer is a listening socket with prepared replies. One thread suffices, since the kernel buffers the replies. */
typedef struct Fixture {
        struct sockaddr_un address;
        int listen_fd, peer_fd;
        Wire wire;
        Buffer frame;
        uint64_t n_sequences;
} Fixture;

#define SOON_NS (50 * NS_PER_MS)
#define LATER_NS (10 * NS_PER_S)

static uint64_t in(uint64_t ns) {
        return clock_boottime_ns() + ns;
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->peer_fd = -1;
        f->address.sun_family = AF_UNIX;
        snprintf(f->address.sun_path, sizeof(f->address.sun_path), "/tmp/perfd-test-wire-%d.sock", (int)getpid());
        (void)unlink(f->address.sun_path);
        f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
        assert_int_equal(listen(f->listen_fd, 0), 0);
        wire_init(&f->wire);
        return protocol_encode_hello(1, "test", &f->frame);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        wire_deinit(&f->wire);
        buffer_deinit(&f->frame);
        closep(&f->listen_fd);
        closep(&f->peer_fd);
        (void)unlink(f->address.sun_path);
        free(f);
        return 0;
}

static void connect_both(Fixture *f) {
        assert_int_equal(wire_connect(&f->wire, f->address.sun_path, in(LATER_NS)), 0);
        f->peer_fd = accept(f->listen_fd, NULL, NULL);
        assert_true(f->peer_fd >= 0);
        assert_int_equal(wire_next_sequence(&f->wire), ++f->n_sequences); /* counted over all connections */
}

/* Sends a reply with this sequence number and status UNAVAILABLE. */
static void reply(Fixture *f, uint8_t sequence) {
        const uint8_t bytes[] = { 4, 1 << 3, sequence, 2 << 3, STATUS_UNAVAILABLE };

        assert_int_equal(send(f->peer_fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
}

static void a_reply_is_matched_to_its_request(void **state) {
        Fixture *f = *state;
        Reply got;

        connect_both(f);
        reply(f, 1);
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 1, in(LATER_NS), &got), 0);
        assert_int_equal(got.sequence, 1);
        assert_int_equal(got.status, STATUS_UNAVAILABLE);
}

static void late_replies_to_earlier_requests_are_skipped(void **state) {
        Fixture *f = *state;
        Reply got;

        connect_both(f);
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 1, in(SOON_NS), &got), -ETIMEDOUT);
        assert_true(wire_is_connected(&f->wire)); /* the whole request was sent: perfd will handle it */
        reply(f, 1);
        reply(f, 2);
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 2, in(LATER_NS), &got), 0);
        assert_int_equal(got.sequence, 2);
}

static void a_reply_about_the_connection_is_the_answer(void **state) {
        Fixture *f = *state;
        Reply got;

        connect_both(f);
        reply(f, 0);
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 1, in(LATER_NS), &got), 0);
        assert_int_equal(got.status, STATUS_UNAVAILABLE);
}

static void a_last_word_is_heard_after_hanging_up(void **state) {
        Fixture *f = *state;
        Reply got;

        connect_both(f);
        reply(f, 0);
        closep(&f->peer_fd);
        f->peer_fd = -1;
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 1, in(LATER_NS), &got), 0);
        assert_int_equal(got.status, STATUS_UNAVAILABLE);
}

static void hanging_up_without_a_word_is_an_error_and_no_signal(void **state) {
        Fixture *f = *state;
        Reply got;
        int r;

        connect_both(f);
        closep(&f->peer_fd);
        f->peer_fd = -1;
        r = wire_exchange(&f->wire, &f->frame, 1, in(LATER_NS), &got);
        assert_true(r == -EPIPE || r == -ECONNRESET);
        assert_false(wire_is_connected(&f->wire));
}

static void another_protocol_is_noticed(void **state) {
        Fixture *f = *state;
        static const char *const words[] = { "HTTP/1.1 400 Bad Request\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff",
                                             "\x02\xff\xff" };

        for (size_t i = 0; i < N_ELEMENTS(words); i++) {
                Reply got;

                connect_both(f);
                assert_true(send(f->peer_fd, words[i], strlen(words[i]), MSG_NOSIGNAL) > 0);
                closep(&f->peer_fd);
                f->peer_fd = -1;
                assert_true(wire_exchange(&f->wire, &f->frame, 1, in(LATER_NS), &got) < 0);
                assert_false(wire_is_connected(&f->wire));
        }
}

static void no_wait_exceeds_the_deadline(void **state) {
        Fixture *f = *state;
        uint64_t begin_ns = clock_boottime_ns();
        Buffer large = {};
        Reply got;
        char chunk[4096];

        /* A deadline applies to the answer … */
        connect_both(f);
        assert_int_equal(wire_exchange(&f->wire, &f->frame, 1, in(SOON_NS), &got), -ETIMEDOUT);

        /* … to space in the socket's buffer, after which the stream is broken … */
        memset(chunk, 0, sizeof(chunk));
        for (unsigned i = 0; i < 1024; i++)
                buffer_put(&large, chunk, sizeof(chunk));
        assert_int_equal(wire_exchange(&f->wire, &large, 2, in(SOON_NS), &got), -ETIMEDOUT);
        assert_false(wire_is_connected(&f->wire));
        buffer_deinit(&large);

        /* … and to space in the listener's backlog. */
        for (unsigned i = 0; i < 4; i++) {
                Wire another;
                int r;

                wire_init(&another);
                r = wire_connect(&another, f->address.sun_path, in(SOON_NS));
                assert_true(r == 0 || r == -ETIMEDOUT);
                /* stays open: occupies a place in the backlog */
        }
        assert_int_equal(wire_connect(&f->wire, f->address.sun_path, in(SOON_NS)), -ETIMEDOUT);
        assert_true(clock_boottime_ns() - begin_ns < LATER_NS);
}

static void a_missing_socket_is_an_immediate_error(void **state) {
        char file[] = "/tmp/perfd-wire-XXXXXX";
        Fixture *f = *state;
        char path[200];
        int fd = mkstemp(file);

        assert_true(fd >= 0);
        closep(&fd);
        memset(path, 'x', sizeof(path) - 1);
        path[0] = '/';
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(wire_connect(&f->wire, "/nonexistent/perfd.sock", in(LATER_NS)), -ENOENT);
        assert_int_equal(wire_connect(&f->wire, path, in(LATER_NS)), -ENAMETOOLONG);
        assert_int_equal(wire_connect(&f->wire, file, in(LATER_NS)), -ECONNREFUSED);
        assert_int_equal(unlink(file), 0);
}

static void the_path_is_given_or_from_the_environment_or_the_default(void **state) {
        (void)state;
        assert_int_equal(unsetenv("PERFD_SOCKET"), 0);
        assert_string_equal(wire_path(NULL), "/run/perfd/perfd.sock");
        assert_int_equal(setenv("PERFD_SOCKET", "/env.sock", 1), 0);
        assert_string_equal(wire_path(NULL), "/env.sock");
        assert_string_equal(wire_path("/given.sock"), "/given.sock");
        assert_int_equal(unsetenv("PERFD_SOCKET"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_reply_is_matched_to_its_request),
                TEST(late_replies_to_earlier_requests_are_skipped),
                TEST(a_reply_about_the_connection_is_the_answer),
                TEST(a_last_word_is_heard_after_hanging_up),
                TEST(hanging_up_without_a_word_is_an_error_and_no_signal),
                TEST(another_protocol_is_noticed),
                TEST(no_wait_exceeds_the_deadline),
                TEST(a_missing_socket_is_an_immediate_error),
                TEST(the_path_is_given_or_from_the_environment_or_the_default),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
