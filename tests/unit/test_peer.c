/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "ingest/peer.h"
#include "util/file.h"

/* Returns the pid of a pidfd, from its "Pid:" line; -1 after the process was reaped. */
static int pid_of(int pidfd) {
        scoped(freep) char *text = NULL;
        char path[64];
        int pid = 0;

        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
        assert_int_equal(file_read_at(AT_FDCWD, path, 65536, &text, NULL), 0);
        assert_non_null(strstr(text, "\nPid:"));
        assert_int_equal(sscanf(strstr(text, "\nPid:"), "\nPid: %d", &pid), 1);
        return pid;
}

static void the_peer_is_who_made_the_connection(void **state) {
        scoped(closep) int one = -1, other = -1, pidfd = -1;
        int fds[2];
        Peer peer;

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        one = fds[0];
        other = fds[1];
        assert_int_equal(peer_read(one, &peer), 0);
        assert_int_equal(peer.pidfd, -1);
        pidfd = peer_get_pidfd(one, &peer);
        assert_int_equal(peer.uid, geteuid());
        assert_int_equal(peer.gid, getegid());
        assert_int_equal(peer.pid, getpid());
        assert_int_equal(peer.is_admin, geteuid() == 0);
        assert_true(pidfd >= 0);
        assert_int_equal(pid_of(pidfd), getpid());
        assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
}

static void a_descriptor_without_a_socket_has_no_peer(void **state) {
        scoped(closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        Peer peer = { .uid = 7 };

        (void)state;
        assert_int_equal(peer_read(fd, &peer), -ENOTSOCK);
        assert_int_equal(peer.uid, 7);
}

/* The fallback for kernels without pidfds of peers. */
static void a_pid_is_the_peer_only_if_it_belongs_to_the_same_user(void **state) {
        scoped(closep) int pidfd = peer_open_pidfd(getpid(), geteuid());
        pid_t child;

        (void)state;
        assert_true(pidfd >= 0);
        assert_int_equal(pid_of(pidfd), getpid());
        assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(peer_open_pidfd(getpid(), geteuid() + 1), -1);
        assert_int_equal(peer_open_pidfd(0, geteuid()), -1);
        assert_int_equal(peer_open_pidfd(-1, geteuid()), -1);

        child = fork();
        assert_true(child >= 0);
        if (child == 0)
                _exit(0);
        assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
        assert_int_equal(peer_open_pidfd(child, geteuid()), -1); /* a zombie: its pid is not free yet */
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(peer_open_pidfd(child, geteuid()), -1);
}

static void without_descriptors_the_peer_has_no_pidfd(void **state) {
        scoped(closep) int one = -1, other = -1;
        struct rlimit limit, tight;
        int fds[2], pidfd;
        Peer peer;

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        one = fds[0];
        other = fds[1];
        assert_int_equal(peer_read(one, &peer), 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        tight = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
        pidfd = peer_get_pidfd(one, &peer);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(pidfd, -1);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_peer_is_who_made_the_connection),
                cmocka_unit_test(a_descriptor_without_a_socket_has_no_peer),
                cmocka_unit_test(a_pid_is_the_peer_only_if_it_belongs_to_the_same_user),
                cmocka_unit_test(without_descriptors_the_peer_has_no_pidfd),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
