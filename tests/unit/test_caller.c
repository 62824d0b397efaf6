/* SPDX-License-Identifier: Apache-2.0 */
/* The users of connected sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/caller.h"

#define OTHER_UID 65534U

/* A TCP connection to this machine: [0] is the client's end, [1] the server's. */
typedef struct Pair {
        int fds[2];
} Pair;

static int listen_at(int family, struct sockaddr_storage *ret, socklen_t *ret_n) {
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        *ret_n = family == AF_INET ? sizeof(in) : sizeof(in6);
        if (fd < 0 || bind(fd, family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6, *ret_n) < 0) {
                closep(&fd);
                return -1;
        }
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)ret, ret_n), 0);
        return fd;
}

/* Connects as another user, whose process keeps the connection until the parent closes the pipe. */
static pid_t connect_as_other(const struct sockaddr_storage *name, socklen_t n, int keep_fd) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                char c;
                int fd = setresuid(OTHER_UID, OTHER_UID, OTHER_UID) == 0 ? socket(name->ss_family, SOCK_STREAM, 0) : -1;

                if (fd < 0 || connect(fd, (const struct sockaddr *)name, n) < 0)
                        _exit(1);
                (void)!read(keep_fd, &c, 1);
                _exit(0);
        }
        return pid;
}

static void check_family(int family) {
        scoped(closep) int listen_fd = -1, client = -1, server = -1;
        struct sockaddr_storage name;
        Caller caller;
        socklen_t n;

        listen_fd = listen_at(family, &name, &n);
        if (listen_fd < 0)
                return; /* a machine without this family */

        client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(client, (struct sockaddr *)&name, n), 0);
        server = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(server >= 0);

        caller_identify(server, CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_USER);
        assert_int_equal(caller.owner.uid, getuid());
        assert_false(caller.is_local);
        assert_false(caller.owner.is_admin); /* over TCP, not even for root */

        /* After close(), the kernel reports user 0. */
        closep(&client);
        client = -1;
        caller_identify(server, CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_UNKNOWN);
        assert_int_equal(caller.owner.uid, 0);
}

static void loopback_tcp_has_its_user(void **state) {
        (void)state;
        check_family(AF_INET);
        check_family(AF_INET6);
}

static void another_user_is_distinguished(void **state) {
        scoped(closep) int listen_fd = -1, server = -1;
        struct sockaddr_storage name;
        int keep[2], status;
        Caller caller;
        socklen_t n;
        pid_t pid;

        (void)state;
        if (getuid() != 0)
                skip(); /* needs root, to act as several users */
        listen_fd = listen_at(AF_INET, &name, &n);
        assert_true(listen_fd >= 0);
        assert_int_equal(pipe(keep), 0);
        pid = connect_as_other(&name, n, keep[0]);
        server = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        assert_true(server >= 0);
        caller_identify(server, CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_USER);
        assert_int_equal(caller.owner.uid, OTHER_UID);

        assert_int_equal(write(keep[1], "", 1), 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(keep[0]);
        close(keep[1]);
}

static void unix_sockets_have_their_user(void **state) {
        Caller caller;
        Pair pair;

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.fds), 0);
        caller_identify(pair.fds[1], CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_USER);
        assert_int_equal(caller.owner.uid, getuid());
        assert_true(caller.is_local);
        assert_int_equal(caller.owner.is_admin, getuid() == 0);
        close(pair.fds[0]);
        close(pair.fds[1]);
}

/* Runs in a child, which can change its groups; the exit status is the result. */
static bool is_admin_with(gid_t group, uint32_t admin_gid) {
        pid_t child = fork();
        Caller caller;
        int status;
        Pair pair;

        assert_true(child >= 0);
        if (child == 0) {
                if (setgroups(1, &group) < 0 || setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0 ||
                    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.fds) < 0)
                        _exit(2);
                caller_identify(pair.fds[1], admin_gid, &caller);
                _exit(caller.owner.is_admin);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        return WEXITSTATUS(status);
}

static void members_of_the_group_are_administrators_on_the_unix_socket(void **state) {
        (void)state;
        if (getuid() != 0)
                skip(); /* needs root, to act as several users */
        assert_true(is_admin_with(4711, 4711));
        assert_false(is_admin_with(4711, 4712));
        assert_false(is_admin_with(4711, CALLER_NO_ADMIN_GID));
}

static void a_socket_without_a_connection_has_an_unknown_user(void **state) {
        scoped(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        Caller caller;

        (void)state;
        caller_identify(fd, CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_UNKNOWN);
        caller_identify(-1, CALLER_NO_ADMIN_GID, &caller);
        assert_int_equal(caller.owner.type, OWNER_UNKNOWN);
        assert_false(caller.owner.is_admin);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(loopback_tcp_has_its_user),
                cmocka_unit_test(another_user_is_distinguished),
                cmocka_unit_test(unix_sockets_have_their_user),
                cmocka_unit_test(members_of_the_group_are_administrators_on_the_unix_socket),
                cmocka_unit_test(a_socket_without_a_connection_has_an_unknown_user),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
