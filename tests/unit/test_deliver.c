/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/deliver/deliver.h"
#include "ingest/codec/codec.h"
#include "util/clock.h"

/*
 * The peer is a listening socket. Its replies are written before the courier's requests, since the kernel buffers
 * them; the requests are checked afterwards.
 */
typedef struct Fixture {
        struct sockaddr_un address;
        int listen_fd, peer_fd;
        Courier courier;
        MarkResult result;
        Delivery delivery;
} Fixture;

#define SOON_NS (300 * NS_PER_MS)
#define LATER_NS (10 * NS_PER_S)
#define FRAME_MAX_BYTES 4096U

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->peer_fd = -1;
        f->address.sun_family = AF_UNIX;
        snprintf(f->address.sun_path, sizeof(f->address.sun_path), "/tmp/perfd-test-deliver-%d.sock", (int)getpid());
        (void)unlink(f->address.sun_path);
        f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
        assert_int_equal(listen(f->listen_fd, 8), 0);
        deliver_courier_init(&f->courier, f->address.sun_path, LATER_NS);
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        deliver_courier_deinit(&f->courier);
        closep(&f->listen_fd);
        closep(&f->peer_fd);
        (void)unlink(f->address.sun_path);
        free(f);
        return 0;
}

static void connect_both(Fixture *f) {
        assert_int_equal(wire_connect(&f->courier.wire, f->address.sun_path, clock_boottime_ns() + LATER_NS), 0);
        f->peer_fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(f->peer_fd >= 0);
}

static void hang_up(Fixture *f) {
        close(TAKE_FD(f->peer_fd));
}

static void say_to_it(Fixture *f, uint64_t sequence, const Answer *answer) {
        uint8_t bytes[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, answer, bytes);

        assert_int_equal(send(f->peer_fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Counts the marks received, each "train" of "job-1". */
static unsigned count_marks(Fixture *f) {
        scoped(arena_deinit) Arena arena = {};
        const Peer peer = { .uid = 1000, .pidfd = -1 };
        uint8_t bytes[FRAME_MAX_BYTES], *p = bytes;
        ssize_t n = recv(f->peer_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        unsigned n_marks = 0;
        Decoded decoded;
        Frame frame;

        assert_int_equal(arena_init(&arena, FRAME_MAX_BYTES * CODEC_ARENA_FACTOR), 0);
        for (; n > 0 && frame_read(p, (size_t)n, FRAME_MAX_BYTES, &frame, NULL) == 0; n_marks++) {
                assert_int_equal(codec_decode(&arena, &frame, &peer, DOCUMENT_LIMITS_DEFAULT, &decoded), 0);
                assert_int_equal(decoded.request.kind, REQUEST_MARK);
                assert_string_equal(decoded.request.mark.job, "job-1");
                assert_string_equal(decoded.request.mark.name, "train");
                p += frame.n_consumed;
                n -= (ssize_t)frame.n_consumed;
        }
        assert_true(n <= 0);
        return n_marks;
}

static int mark(Fixture *f) {
        return deliver_mark(&f->courier, &(JobRef){ .id = "job-1" }, "train", NAN, &f->result, &f->delivery);
}

/* --- marks ---------------------------------------------------------------------------------------- */

static void a_mark_brings_back_the_job_and_the_phase_that_ended(void **state) {
        Fixture *f = *state;

        connect_both(f);
        say_to_it(f, 1, &(Answer){ .job = "job-1", .phase = "load" });
        assert_int_equal(mark(f), 0);
        assert_string_equal(f->result.job, "job-1");
        assert_string_equal(f->result.previous, "load");
        assert_int_equal(count_marks(f), 1);
}

static void a_mark_is_repeated_while_perfd_is_busy(void **state) {
        Fixture *f = *state;

        connect_both(f);
        say_to_it(f, 1, &(Answer){ .status = STATUS_UNAVAILABLE });
        say_to_it(f, 1, &(Answer){ .status = STATUS_QUOTA });
        say_to_it(f, 1, &(Answer){ .job = "job-1" });
        assert_int_equal(mark(f), 0);
        assert_string_equal(f->result.previous, "");
        assert_int_equal(count_marks(f), 3);
}

static void a_refused_mark_is_not_repeated(void **state) {
        static const Status statuses[] = { STATUS_INVALID, STATUS_DENIED, STATUS_NOT_FOUND, STATUS_UNSUPPORTED };
        Fixture *f = *state;

        connect_both(f);
        strcpy(f->result.job, "untouched");
        for (size_t i = 0; i < N_ELEMENTS(statuses); i++) {
                char text[DELIVERY_TEXT_MAX];

                say_to_it(f, i + 1, &(Answer){ .status = statuses[i], .complaint = { "mark.job", "is not yours" } });
                assert_int_equal(mark(f), DELIVERY_REFUSED);
                assert_int_equal(f->delivery.reply.status, statuses[i]);
                delivery_explain(&f->delivery, &f->courier, text);
                assert_string_equal(text, "job: is not yours");
                assert_int_equal(count_marks(f), 1);
        }
        assert_string_equal(f->result.job, "untouched");
}

/* perfd was restarted after the last request: data sent to the closed connection was not read. */
static void a_mark_reconnects_if_the_connection_was_closed_before(void **state) {
        Fixture *f = *state;

        connect_both(f);
        hang_up(f);
        deliver_courier_set_timeout(&f->courier, SOON_NS);
        assert_int_equal(mark(f), DELIVERY_UNAVAILABLE);
        f->peer_fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(f->peer_fd >= 0);
        assert_int_equal(count_marks(f), 1);
}

/* perfd may have read and accepted the mark: a second one would end the phase that it started. */
static void a_mark_that_perfd_may_have_read_is_not_repeated(void **state) {
        Fixture *f = *state;
        struct pollfd pollfd;

        connect_both(f);
        assert_int_equal(shutdown(f->peer_fd, SHUT_WR), 0); /* the peer reads, but closes without a reply */
        assert_int_equal(mark(f), DELIVERY_UNAVAILABLE);
        assert_int_equal(f->delivery.error, -ECONNRESET);
        assert_int_equal(count_marks(f), 1);
        pollfd = (struct pollfd){ .fd = f->listen_fd, .events = POLLIN };
        assert_int_equal(poll(&pollfd, 1, 0), 0); /* no new connection was made */
}

static void a_mark_without_a_reply_in_time_is_not_sent_again(void **state) {
        Fixture *f = *state;

        connect_both(f);
        deliver_courier_set_timeout(&f->courier, SOON_NS);
        assert_int_equal(mark(f), DELIVERY_UNAVAILABLE);
        assert_int_equal(f->delivery.error, -ETIMEDOUT);
        assert_int_equal(count_marks(f), 1);
}

/* The exact bytes that perfd 0.1.0 sent before it supported marks. */
static void an_older_perfd_is_reported_not_to_support_marks(void **state) {
        static const char bytes[] = "\x34\x08\x01\x10\x08\x22\x2e" "perfd 0.1.0 does not know this kind of request";
        Fixture *f = *state;

        connect_both(f);
        assert_int_equal(send(f->peer_fd, bytes, sizeof(bytes) - 1, MSG_NOSIGNAL), sizeof(bytes) - 1);
        assert_int_equal(mark(f), DELIVERY_REFUSED);
        assert_int_equal(f->delivery.reply.status, STATUS_UNSUPPORTED);
        assert_string_equal(f->delivery.reply.complaint.text, "perfd 0.1.0 does not know this kind of request");
}

/* --- begins --------------------------------------------------------------------------------------- */

static void a_begin_is_sent_again_when_the_connection_breaks(void **state) {
        Fixture *f = *state;
        JobInfo info = { .id = "job-1", .rank = -1, .node = -1 };
        char byte;

        connect_both(f);
        hang_up(f);
        deliver_courier_set_timeout(&f->courier, SOON_NS);
        assert_int_equal(deliver_begin(&f->courier, &(JobBegin){ .info = &info }, &f->delivery), DELIVERY_UNAVAILABLE);
        f->peer_fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(f->peer_fd >= 0);
        assert_int_equal(recv(f->peer_fd, &byte, 1, MSG_DONTWAIT), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_mark_brings_back_the_job_and_the_phase_that_ended),
                TEST(a_mark_is_repeated_while_perfd_is_busy),
                TEST(a_refused_mark_is_not_repeated),
                TEST(a_mark_reconnects_if_the_connection_was_closed_before),
                TEST(a_mark_that_perfd_may_have_read_is_not_repeated),
                TEST(a_mark_without_a_reply_in_time_is_not_sent_again),
                TEST(an_older_perfd_is_reported_not_to_support_marks),
                TEST(a_begin_is_sent_again_when_the_connection_breaks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
