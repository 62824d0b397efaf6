/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Returns true if the server has closed the connection, possibly after a text. */
static bool is_ended(Pair pair) {
        char text[1024];
        ssize_t n;

        while ((n = recv(pair.fds[0], text, sizeof(text), MSG_DONTWAIT)) > 0)
                ;
        return n == 0;
}

static Shares *shares_make(uint64_t n_max) {
        const SharesConfig config = { .limits = { [RESOURCE_HTTP_CONNECTIONS] = n_max, [RESOURCE_ANSWERS] = 100000 } };
        Shares *shares = NULL;

        assert_int_equal(shares_new(&shares, &config), 0);
        return shares;
}

static void slow_connections_are_shut_down(void **state) {
        scoped(shares_freep) Shares *shares = shares_make(8);
        scoped(connection_limits_freep) ConnectionLimits *limits = NULL;
        Pair slow = pair_open(), fast = pair_open();
        LimitedConnection *a, *b;
        RefusedConnection refused;

        (void)state;
        assert_int_equal(connection_limits_new(&limits, shares), 0);
        assert_int_equal(connection_limits_max(limits), 8);
        a = connection_limits_add(limits, slow.fds[1], CALLER_NO_ADMIN_GID, 100, &refused);
        b = connection_limits_add(limits, fast.fds[1], CALLER_NO_ADMIN_GID, 100, &refused);
        assert_non_null(a);
        assert_non_null(b);

        connection_limits_close_slow(limits, 100);
        assert_false(is_ended(slow));

        connection_limits_renew(limits, b, 200);
        connection_limits_close_slow(limits, 150);
        assert_true(is_ended(slow));
        assert_false(is_ended(fast));

        connection_limits_remove(limits, a);
        connection_limits_remove(limits, b);
        assert_int_equal(connection_limits_count(limits), 0);
        pair_close(slow);
        pair_close(fast);
}

static void removed_connections_are_not_touched(void **state) {
        scoped(shares_freep) Shares *shares = shares_make(8);
        scoped(connection_limits_freep) ConnectionLimits *limits = NULL;
        Pair pair = pair_open();
        RefusedConnection refused;

        (void)state;
        assert_int_equal(connection_limits_new(&limits, shares), 0);
        connection_limits_remove(limits,
                                 connection_limits_add(limits, pair.fds[1], CALLER_NO_ADMIN_GID, 100, &refused));
        connection_limits_close_slow(limits, UINT64_MAX);
        assert_false(is_ended(pair));
        connection_limits_renew(limits, NULL, 2);
        connection_limits_remove(limits, NULL);
        pair_close(pair);
}

static void connections_are_charged_to_their_user(void **state) {
        scoped(shares_freep) Shares *shares = shares_make(2);
        scoped(connection_limits_freep) ConnectionLimits *limits = NULL;
        Pair pairs[3] = { pair_open(), pair_open(), pair_open() };
        LimitedConnection *connections[3];
        RefusedConnection refused;
        ResourceStats stats[N_RESOURCES];
        char text[1024] = "";

        (void)state;
        assert_int_equal(connection_limits_new(&limits, shares), 0);
        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                connections[i] = connection_limits_add(limits, pairs[i].fds[1], CALLER_NO_ADMIN_GID, 1, &refused);
        assert_non_null(connections[0]);
        assert_non_null(connections[1]);
        assert_null(connections[2]);
        assert_false(is_ended(pairs[2]));
        /* not read: does not hide the answer */
        assert_true(send(pairs[2].fds[0], "GET / HTTP/1.1\r\n\r\n", 18, 0) == 18);
        connection_limits_refuse(limits, &refused);
        pairs[2].fds[1] = -1;
        assert_true(recv(pairs[2].fds[0], text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
        assert_ptr_equal(strstr(text, "HTTP/1.1 429 "), text);
        assert_non_null(strstr(text, "[limits] http_connections = 2"));
        assert_true(is_ended(pairs[2]));
        assert_false(is_ended(pairs[0]));

        assert_int_equal(connection_limits_caller(connections[0], CALLER_NO_ADMIN_GID).owner.uid, getuid());
        assert_ptr_equal(connection_limits_account(connections[0]), connection_limits_account(connections[1]));
        shares_stats(shares, stats);
        assert_int_equal(stats[RESOURCE_HTTP_CONNECTIONS].n_held, 2);

        connection_limits_remove(limits, connections[0]);
        connections[0] = connection_limits_add(limits, pairs[0].fds[1], CALLER_NO_ADMIN_GID, 1, &refused);
        assert_non_null(connections[0]);
        connection_limits_remove(limits, connections[0]);
        connection_limits_remove(limits, connections[1]);
        shares_stats(shares, stats);
        assert_int_equal(stats[RESOURCE_HTTP_CONNECTIONS].n_held, 0);
        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                pair_close(pairs[i]);
}

static uint64_t count_answers(Shares *shares) {
        ResourceStats stats[N_RESOURCES];

        shares_stats(shares, stats);
        return stats[RESOURCE_ANSWERS].n_held;
}

static void answers_are_charged_until_they_are_sent(void **state) {
        scoped(shares_freep) Shares *shares = shares_make(8);
        scoped(connection_limits_freep) ConnectionLimits *limits = NULL;
        Pair pairs[2] = { pair_open(), pair_open() };
        LimitedConnection *a, *b;
        RefusedConnection refused;

        (void)state;
        assert_int_equal(connection_limits_new(&limits, shares), 0);
        a = connection_limits_add(limits, pairs[0].fds[1], CALLER_NO_ADMIN_GID, 1, &refused);
        b = connection_limits_add(limits, pairs[1].fds[1], CALLER_NO_ADMIN_GID, 1, &refused);
        assert_int_equal(connection_limits_charge_answer(a, CONNECTION_LIMITS_ANSWER_FREE), 0);
        assert_int_equal(count_answers(shares), 0);
        assert_int_equal(connection_limits_charge_answer(a, 60000), 0);
        assert_int_equal(connection_limits_charge_answer(b, 60000), CONNECTION_LIMITS_REFUSED);
        assert_int_equal(connection_limits_charge_answer(b, 100), 0);
        assert_int_equal(count_answers(shares), 60000);
        connection_limits_release_answer(a);
        connection_limits_release_answer(NULL);
        assert_int_equal(count_answers(shares), 0);

        assert_int_equal(connection_limits_charge_answer(b, 60000), 0);
        assert_int_equal(connection_limits_charge_answer(b, 70000), 0); /* the next answer of the connection */
        assert_int_equal(count_answers(shares), 70000);
        connection_limits_remove(limits, a);
        connection_limits_remove(limits, b);
        assert_int_equal(count_answers(shares), 0);
        for (size_t i = 0; i < N_ELEMENTS(pairs); i++)
                pair_close(pairs[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(slow_connections_are_shut_down),
                cmocka_unit_test(removed_connections_are_not_touched),
                cmocka_unit_test(connections_are_charged_to_their_user),
                cmocka_unit_test(answers_are_charged_until_they_are_sent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
