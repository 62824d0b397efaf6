/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/run/announcement.h"
#include "ingest/codec/codec.h"
#include "util/clock.h"

/* The peer is a socket that listens, and answers when the test requests it. */
typedef struct Fixture {
        struct sockaddr_un address;
        int listen_fd, peer_fd;
        JobInfo info;
        Courier courier;
        Announcement announcement;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->listen_fd = f->peer_fd = -1;
        f->address.sun_family = AF_UNIX;
        snprintf(f->address.sun_path, sizeof(f->address.sun_path), "/tmp/perfd-test-announcement-%d.sock",
                 (int)getpid());
        (void)unlink(f->address.sun_path);
        strcpy(f->info.id, "job-1");
        deliver_courier_init(&f->courier, f->address.sun_path, 0);
        announcement_init(&f->announcement);
        f->announcement.info = &f->info;
        f->announcement.courier = &f->courier;
        f->announcement.is_id_given = true;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        announcement_deinit(&f->announcement);
        deliver_courier_deinit(&f->courier);
        closep(&f->listen_fd);
        closep(&f->peer_fd);
        (void)unlink(f->address.sun_path);
        free(f);
        return 0;
}

static void begin_without_perfd(Fixture *f) {
        assert_int_equal(announcement_begin(&f->announcement), 0);
        assert_false(f->announcement.is_begun);
}

static void perfd_is_back(Fixture *f) {
        f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
        assert_int_equal(listen(f->listen_fd, 8), 0);
}

/* Waits like the caller that runs the command. */
static void wait_once(Fixture *f) {
        struct pollfd pollfd = { .fd = announcement_fd(&f->announcement), .events = POLLIN };

        assert_true(poll(&pollfd, 1, announcement_timeout_ms(&f->announcement)) >= 0);
        announcement_go_on(&f->announcement);
}

static void wait_for_request(Fixture *f) {
        while (announcement_fd(&f->announcement) < 0)
                wait_once(f);
        closep(&f->peer_fd);
        f->peer_fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(f->peer_fd >= 0);
}

static void say_to_it(Fixture *f, uint64_t sequence, Status status) {
        uint8_t bytes[CODEC_REPLY_MAX];
        size_t n = codec_encode_answer(sequence, &(Answer){ .status = status }, bytes);

        assert_int_equal(send(f->peer_fd, bytes, n, MSG_NOSIGNAL), n);
}

static void answer(Fixture *f, Status status) {
        wait_for_request(f);
        say_to_it(f, f->announcement.sequence, status);
        wait_once(f);
}

static void assert_nothing_left(const Fixture *f) {
        assert_int_equal(announcement_fd(&f->announcement), -1);
        assert_int_equal(announcement_timeout_ms(&f->announcement), -1);
}

static void a_begin_is_not_repeated_once_acknowledged(void **state) {
        Fixture *f = *state;

        perfd_is_back(f);
        assert_int_equal(wire_connect(&f->courier.wire, f->address.sun_path, clock_boottime_ns() + NS_PER_S), 0);
        f->peer_fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        say_to_it(f, 1, STATUS_OK);
        assert_int_equal(announcement_begin(&f->announcement), 0);
        assert_true(f->announcement.is_begin_known);
        assert_nothing_left(f);
        assert_int_equal(announcement_end(&f->announcement), 0);
        assert_int_equal(announcement_fd(NULL), -1);
        assert_int_equal(announcement_timeout_ms(NULL), -1);
}

static void a_begin_is_sent_when_perfd_is_available_again(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        for (unsigned i = 0; i < 2; i++) {
                wait_once(f);
                assert_int_equal(announcement_fd(&f->announcement), -1);
                assert_true(announcement_timeout_ms(&f->announcement) >= 0);
        }

        perfd_is_back(f);
        wait_for_request(f);
        announcement_go_on(&f->announcement); /* does not block */
        assert_false(f->announcement.is_begin_known);
        say_to_it(f, f->announcement.sequence, STATUS_OK);
        wait_once(f);
        assert_true(f->announcement.is_begun && f->announcement.is_begin_known);
        assert_nothing_left(f);
}

static void a_begin_is_repeated_when_a_limit_was_reached(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        perfd_is_back(f);
        answer(f, STATUS_UNAVAILABLE);
        assert_false(f->announcement.is_begun);
        answer(f, STATUS_QUOTA);
        answer(f, STATUS_OK);
        assert_true(f->announcement.is_begin_known);
        assert_nothing_left(f);
}

static void a_refused_begin_is_not_repeated(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        perfd_is_back(f);
        answer(f, STATUS_DENIED);
        assert_false(f->announcement.is_begun);
        assert_nothing_left(f);
}

static void a_duplicate_id_belongs_to_another_job_unless_a_begin_was_sent(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        perfd_is_back(f);
        answer(f, STATUS_DUPLICATE);
        assert_false(f->announcement.is_begun || f->announcement.is_begin_known);
        assert_nothing_left(f);
}

static void a_begin_is_repeated_when_perfd_stops_before_the_reply(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        perfd_is_back(f);
        wait_for_request(f);
        closep(&f->peer_fd);
        f->peer_fd = -1;
        wait_once(f);
        assert_true(f->announcement.is_begun && !f->announcement.is_begin_known);
        answer(f, STATUS_DUPLICATE);
        assert_true(f->announcement.is_begin_known);
        assert_nothing_left(f);
}

static void the_end_waits_for_a_pending_begin(void **state) {
        Fixture *f = *state;

        begin_without_perfd(f);
        perfd_is_back(f);
        wait_for_request(f);
        say_to_it(f, f->announcement.sequence, STATUS_OK);
        say_to_it(f, f->announcement.sequence + 1, STATUS_DUPLICATE);
        assert_int_equal(announcement_end(&f->announcement), 0);
        assert_true(f->announcement.is_begun && f->announcement.is_begin_known);
        assert_nothing_left(f);
        /* on the same connection: a later request cannot overtake this one */
        assert_true(wire_is_connected(&f->courier.wire));
        assert_int_equal(poll(&(struct pollfd){ .fd = f->listen_fd, .events = POLLIN }, 1, 0), 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_begin_is_not_repeated_once_acknowledged, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_begin_is_sent_when_perfd_is_available_again, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_begin_is_repeated_when_a_limit_was_reached, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_refused_begin_is_not_repeated, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_duplicate_id_belongs_to_another_job_unless_a_begin_was_sent, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_begin_is_repeated_when_perfd_stops_before_the_reply, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(the_end_waits_for_a_pending_begin, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
