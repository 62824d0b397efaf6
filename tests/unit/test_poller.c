/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ingest/poller.h"
#include "util/scoped.h"

#define N_PAIRS 3

typedef struct Fixture {
        Poller poller;
        int near[N_PAIRS], far[N_PAIRS];
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f)
                return -1;
        for (size_t i = 0; i < N_PAIRS; i++) {
                int fds[2];

                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
                        return -1;
                f->near[i] = fds[0];
                f->far[i] = fds[1];
        }
        *state = f;
        return poller_init(&f->poller);
}

static int teardown(void **state) {
        Fixture *f = *state;

        for (size_t i = 0; i < N_PAIRS; i++) {
                closep(&f->near[i]);
                closep(&f->far[i]);
        }
        poller_deinit(&f->poller);
        free(f);
        return 0;
}

static void watch_all(Fixture *f) {
        for (size_t i = 0; i < N_PAIRS; i++)
                assert_int_equal(poller_set(&f->poller, f->near[i], &f->near[i], 0, EPOLLIN), 0);
}

static bool is_readable(const Poller *poller) {
        struct pollfd pollfd = { .fd = poller->fd, .events = POLLIN };

        return poll(&pollfd, 1, 0) == 1;
}

static void all_that_have_something_are_told_at_once(void **state) {
        struct epoll_event events[N_PAIRS + 1];
        Fixture *f = *state;
        char c;

        watch_all(f);
        assert_false(is_readable(&f->poller));
        assert_int_equal(poller_take(&f->poller, events, N_ELEMENTS(events)), 0);

        assert_int_equal(write(f->far[0], "a", 1), 1);
        assert_int_equal(write(f->far[2], "b", 1), 1);
        assert_true(is_readable(&f->poller));
        assert_int_equal(poller_take(&f->poller, events, N_ELEMENTS(events)), 2);
        assert_ptr_equal(events[0].data.ptr, &f->near[0]);
        assert_ptr_equal(events[1].data.ptr, &f->near[2]);

        /* The event is reported until the data is read. */
        assert_int_equal(poller_take(&f->poller, events, 1), 1);
        assert_int_equal(read(f->near[0], &c, 1), 1);
        assert_int_equal(read(f->near[2], &c, 1), 1);
        assert_false(is_readable(&f->poller));
}

static void what_waits_for_nothing_is_not_told_of_a_hang_up(void **state) {
        struct epoll_event events[N_PAIRS];
        Fixture *f = *state;

        watch_all(f);
        assert_int_equal(poller_set(&f->poller, f->near[1], &f->near[1], EPOLLIN, 0), 0);
        closep(&f->far[1]);
        assert_false(is_readable(&f->poller));

        assert_int_equal(poller_set(&f->poller, f->near[1], &f->near[1], 0, EPOLLOUT), 0);
        assert_int_equal(poller_take(&f->poller, events, N_ELEMENTS(events)), 1);
        assert_ptr_equal(events[0].data.ptr, &f->near[1]);
        assert_true(events[0].events & EPOLLHUP);
}

static void what_is_waited_for_can_change(void **state) {
        struct epoll_event events[N_PAIRS];
        Fixture *f = *state;

        watch_all(f);
        assert_int_equal(poller_set(&f->poller, f->near[0], &f->near[0], EPOLLIN, EPOLLIN | EPOLLOUT), 0);
        assert_int_equal(poller_take(&f->poller, events, N_ELEMENTS(events)), 1);
        assert_int_equal(events[0].events, EPOLLOUT);
        assert_int_equal(poller_set(&f->poller, f->near[0], &f->near[0], EPOLLIN | EPOLLOUT, EPOLLIN), 0);
        assert_false(is_readable(&f->poller));
        assert_int_equal(poller_set(&f->poller, f->near[0], &f->near[0], EPOLLIN, EPOLLIN), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(all_that_have_something_are_told_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(what_waits_for_nothing_is_not_told_of_a_hang_up, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_waited_for_can_change, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
