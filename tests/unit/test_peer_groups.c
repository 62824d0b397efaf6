/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/peer_groups.h"
#include "util/scoped.h"

#define GROUP_WANTED 4711U

/* Runs in a child, which can change its groups; the exit status is the result. */
static bool is_member_with(const gid_t *groups, size_t n) {
        pid_t child = fork();
        int fds[2], status;

        assert_true(child >= 0);
        if (child == 0) {
                if (setgroups(n, groups) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
                    setgroups(0, NULL) < 0)
                        _exit(2);
                _exit(peer_groups_have(fds[0], GROUP_WANTED));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        return WEXITSTATUS(status);
}

/* The groups at the time of connect() count, however many there are. */
static void membership_is_that_at_the_time_of_connect(void **state) {
        gid_t groups[3000];

        (void)state;
        if (geteuid() != 0)
                skip(); /* needs root, to act as several users */

        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                groups[i] = (gid_t)(10000 + i);
        assert_false(is_member_with(groups, 0));
        assert_false(is_member_with(groups, 10));
        assert_false(is_member_with(groups, N_ELEMENTS(groups)));
        groups[9] = GROUP_WANTED;
        assert_true(is_member_with(groups, 10));
        assert_true(is_member_with(groups, 64));
        assert_true(is_member_with(groups, 65)); /* more groups than the first buffer can hold */
        groups[9] = 9999;
        groups[N_ELEMENTS(groups) - 1] = GROUP_WANTED;
        assert_true(is_member_with(groups, N_ELEMENTS(groups)));
}

static void the_primary_group_counts_as_well(void **state) {
        scoped(closep) int one = -1, other = -1;
        int fds[2];

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        one = fds[0];
        other = fds[1];
        assert_true(peer_groups_have(one, getegid()));
        assert_false(peer_groups_have(one, UINT32_MAX));
}

static void a_descriptor_without_a_socket_has_no_peer(void **state) {
        (void)state;
        assert_false(peer_groups_have(-1, 0));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(membership_is_that_at_the_time_of_connect),
                cmocka_unit_test(the_primary_group_counts_as_well),
                cmocka_unit_test(a_descriptor_without_a_socket_has_no_peer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
