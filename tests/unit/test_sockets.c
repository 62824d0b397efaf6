/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.h"
#include "util/scoped.h"

typedef struct Fixture {
        char directory[64];
        SocketsConfig config;
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        (void)snprintf(f->directory, sizeof(f->directory), "/tmp/perfd-sockets-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->config.path, sizeof(f->config.path), "%s/run/perfd.sock", f->directory);
        f->config.mode = 0600;
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;
        char command[128];
        int r;

        (void)snprintf(command, sizeof(command), "rm -r %s", f->directory);
        r = system(command);
        free(f);
        return r;
}

static bool can_connect(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        memcpy(address.sun_path, path, strlen(path) + 1);
        return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static void all_sockets_are_made_and_removed_again(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX], http_path[SOCKETS_PATH_MAX];
        struct stat st;
        Sockets sockets;

        assert_int_equal(sockets_open(&sockets, &f->config, error), 0);
        assert_string_equal(sockets.submit_path, f->config.path);
        (void)snprintf(http_path, sizeof(http_path), "%s/run/http.sock", f->directory);
        assert_string_equal(sockets.http_path, http_path);
        assert_int_equal(stat(f->config.path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(stat(http_path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0666);
        assert_true(can_connect(f->config.path));
        assert_true(can_connect(http_path));

        sockets_close(&sockets);
        assert_int_equal(access(f->config.path, F_OK), -1);
        assert_int_equal(access(http_path, F_OK), -1);
        assert_int_equal(sockets.submit_fd, -1);
}

static void http_can_have_a_path_of_its_own(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX];
        Sockets sockets;

        (void)snprintf(f->config.http_path, sizeof(f->config.http_path), "%s/elsewhere.sock", f->directory);
        assert_int_equal(sockets_open(&sockets, &f->config, error), 0);
        assert_string_equal(sockets.http_path, f->config.http_path);
        assert_true(can_connect(f->config.http_path));
        sockets_close(&sockets);
}

static void a_port_is_bound_and_described(void **state) {
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        char error[SOCKETS_ERROR_MAX], address[SOCKETS_ADDRESS_MAX];
        scoped(closep) int listening = -1, fd = -1;
        unsigned port;

        (void)state;
        listening = sockets_listen_tcp("127.0.0.1:0", address, error);
        assert_true(listening >= 0);
        assert_int_equal(sscanf(address, "127.0.0.1:%u", &port), 1);
        in.sin_port = htons((uint16_t)port);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
}

static void an_ipv6_address_is_bound_and_described(void **state) {
        char error[SOCKETS_ERROR_MAX], address[SOCKETS_ADDRESS_MAX];
        scoped(closep) int fd = -1;

        (void)state;
        fd = sockets_listen_tcp("[::1]:0", address, error);
        if (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT)
                skip(); /* no IPv6 here */
        assert_true(fd >= 0);
        assert_int_equal(strncmp(address, "[::1]:", 6), 0);
}

static void a_stale_socket_is_replaced_and_one_in_use_is_not(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX];
        Sockets sockets, second;

        assert_int_equal(sockets_open(&sockets, &f->config, error), 0);
        assert_int_equal(sockets_open(&second, &f->config, error), SOCKETS_FAILED);
        assert_int_equal(errno, EADDRINUSE);
        assert_non_null(strstr(error, f->config.path));
        assert_non_null(strstr(error, "another process listens on it"));
        sockets_close(&second);
        assert_true(can_connect(f->config.path));

        /* As after a crash: the files remain, but no process listens. */
        sockets.submit_path[0] = sockets.http_path[0] = '\0';
        sockets_close(&sockets);
        assert_int_equal(access(f->config.path, F_OK), 0);
        assert_int_equal(sockets_open(&second, &f->config, error), 0);
        assert_true(can_connect(f->config.path));
        sockets_close(&second);
}

static void a_file_in_the_place_of_a_socket_stays(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX], directory[128];
        Sockets sockets;
        int fd;

        (void)snprintf(directory, sizeof(directory), "%s/run", f->directory);
        assert_int_equal(mkdir(directory, 0755), 0);
        fd = open(f->config.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        close(fd);

        assert_int_equal(sockets_open(&sockets, &f->config, error), SOCKETS_FAILED);
        assert_int_equal(errno, EEXIST);
        assert_non_null(strstr(error, "--socket"));
        sockets_close(&sockets);
        assert_int_equal(access(f->config.path, F_OK), 0);
}

static void a_port_that_cannot_be_had_is_named_with_advice(void **state) {
        char error[SOCKETS_ERROR_MAX], address[SOCKETS_ADDRESS_MAX], other[SOCKETS_ADDRESS_MAX];
        scoped(closep) int fd = -1;

        (void)state;
        fd = sockets_listen_tcp("127.0.0.1:0", address, error);
        assert_true(fd >= 0);
        assert_int_equal(sockets_listen_tcp(address, other, error), -EADDRINUSE);
        assert_non_null(strstr(error, address));
        assert_non_null(strstr(error, "ss -tlnp"));
        /* RFC 5737: an address for documentation, which no machine has */
        assert_int_equal(sockets_listen_tcp("192.0.2.1:9847", other, error), -EADDRNOTAVAIL);
        assert_non_null(strstr(error, "no network interface has this address"));
}

/*
 * Passes a socket of each family as in sd_listen_fds(3), as descriptors 3, 4 …; returns the exit status of the child.
 */
static int open_with_passed(const Fixture *f, const int *families, int n, const char *names) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                char error[SOCKETS_ERROR_MAX], text[16];
                Sockets sockets;
                int r;

                for (int i = 0; i < n; i++) {
                        struct sockaddr_un un = { .sun_family = AF_UNIX };
                        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
                        int fd = socket(families[i], SOCK_STREAM, 0);

                        (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s/passed-%d-%d.sock", f->directory,
                                       (int)getpid(), i);
                        r = families[i] == AF_UNIX ? bind(fd, (const struct sockaddr *)&un, sizeof(un))
                                                   : bind(fd, (const struct sockaddr *)&in, sizeof(in));
                        if (r < 0 || listen(fd, 8) < 0 || (fd != 3 + i && dup2(fd, 3 + i) < 0))
                                _exit(100);
                }
                (void)snprintf(text, sizeof(text), "%d", (int)getpid());
                setenv("LISTEN_PID", text, 1);
                (void)snprintf(text, sizeof(text), "%d", n);
                setenv("LISTEN_FDS", text, 1);
                setenv("LISTEN_FDNAMES", names, 1);
                if (sockets_open(&sockets, &f->config, error) != 0)
                        _exit(101);
                r = (sockets.submit_fd - 3) * 10 + sockets.http_unix_fd - 3;
                if (sockets.submit_path[0])
                        r += 100; /* created, not passed */
                sockets_close(&sockets);
                exit(r);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void the_two_passed_sockets_are_assigned_in_order(void **state) {
        assert_int_equal(open_with_passed(*state, (int[]){ AF_UNIX, AF_UNIX }, 2, "perfd:perfd"), 1);
}

static void extra_sockets_of_an_earlier_unit_are_ignored(void **state) {
        assert_int_equal(open_with_passed(*state, (int[]){ AF_INET, AF_UNIX, AF_UNIX, AF_UNIX }, 4,
                                          "perfd-http:perfd-http:perfd:perfd"), 23);
        assert_int_equal(open_with_passed(*state, (int[]){ AF_UNIX, AF_UNIX, AF_UNIX }, 3, "perfd:perfd:perfd"), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(all_sockets_are_made_and_removed_again, setup, teardown),
                cmocka_unit_test_setup_teardown(http_can_have_a_path_of_its_own, setup, teardown),
                cmocka_unit_test(a_port_is_bound_and_described),
                cmocka_unit_test(an_ipv6_address_is_bound_and_described),
                cmocka_unit_test_setup_teardown(a_stale_socket_is_replaced_and_one_in_use_is_not, setup, teardown),
                cmocka_unit_test_setup_teardown(a_file_in_the_place_of_a_socket_stays, setup, teardown),
                cmocka_unit_test(a_port_that_cannot_be_had_is_named_with_advice),
                cmocka_unit_test_setup_teardown(the_two_passed_sockets_are_assigned_in_order, setup, teardown),
                cmocka_unit_test_setup_teardown(extra_sockets_of_an_earlier_unit_are_ignored, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
