/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/socket.h>

#include "http/connection_limits.h"

/* A connection: [0] is the client's end, [1] the server's. */
typedef struct Pair {
        int fds[2];
} Pair;

static Pair pair_open(void) {
        Pair pair;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.fds), 0);
        return pair;
}

static void pair_close(Pair pair) {
        close(pair.fds[0]);
        close(pair.fds[1]);
}

static bool is_ended(Pair pair) {
        char c;

        return recv(pair.fds[0], &c, 1, MSG_DONTWAIT) == 0;
}

static void who_completes_nothing_in_time_is_cut_off(void **state) {
        scoped(connection_limits_freep) ConnectionLimits *guests = NULL;
        Pair slow = pair_open(), diligent = pair_open();
        LimitedConnection *a, *b;

        (void)state;
        assert_int_equal(connection_limits_new(&guests, 4, 4), 0);
        a = connection_limits_add(guests, slow.fds[1], 100);
        b = connection_limits_add(guests, diligent.fds[1], 100);
        assert_non_null(a);
        assert_non_null(b);

        connection_limits_close_slow(guests, 100);
        assert_false(is_ended(slow));

        connection_limits_renew(guests, b, 200);
        connection_limits_close_slow(guests, 150);
        assert_true(is_ended(slow));
        assert_false(is_ended(diligent));

        connection_limits_remove(guests, a);
        connection_limits_remove(guests, b);
        assert_int_equal(connection_limits_count(guests), 0);
        pair_close(slow);
        pair_close(diligent);
}

static void who_has_left_is_not_touched(void **state) {
        scoped(connection_limits_freep) ConnectionLimits *guests = NULL;
        Pair pair = pair_open();

        (void)state;
        assert_int_equal(connection_limits_new(&guests, 4, 4), 0);
        connection_limits_remove(guests, connection_limits_add(guests, pair.fds[1], 100));
        connection_limits_close_slow(guests, UINT64_MAX);
        assert_false(is_ended(pair));
        pair_close(pair);
}

static void one_user_cannot_take_every_place(void **state) {
        scoped(connection_limits_freep) ConnectionLimits *guests = NULL;
        Pair pairs[3] = { pair_open(), pair_open(), pair_open() };
        LimitedConnection *first;

        (void)state;
        assert_int_equal(connection_limits_new(&guests, 8, 2), 0);
        first = connection_limits_add(guests, pairs[0].fds[1], 1);
        assert_non_null(first);
        assert_non_null(connection_limits_add(guests, pairs[1].fds[1], 1));
        assert_null(connection_limits_add(guests, pairs[2].fds[1], 1));
        assert_true(is_ended(pairs[2]));
        assert_false(is_ended(pairs[0]));
        assert_int_equal(connection_limits_count(guests), 2);

        connection_limits_renew(guests, NULL, 2);
        connection_limits_remove(guests, NULL);
        connection_limits_remove(guests, first);
        pair_close(pairs[2]);
        pairs[2] = pair_open();
        assert_non_null(connection_limits_add(guests, pairs[2].fds[1], 1));

        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                pair_close(pairs[i]);
}

static void connections_over_tcp_have_no_user(void **state) {
        scoped(connection_limits_freep) ConnectionLimits *guests = NULL;
        int fds[3];

        (void)state;
        assert_int_equal(connection_limits_new(&guests, 3, 1), 0);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                assert_true(fds[i] >= 0);
                assert_non_null(connection_limits_add(guests, fds[i], 1));
        }
        assert_int_equal(connection_limits_count(guests), 3);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++)
                close(fds[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_completes_nothing_in_time_is_cut_off),
                cmocka_unit_test(who_has_left_is_not_touched),
                cmocka_unit_test(one_user_cannot_take_every_place),
                cmocka_unit_test(connections_over_tcp_have_no_user),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
