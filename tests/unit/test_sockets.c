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
        (void)snprintf(f->config.http_listen, sizeof(f->config.http_listen), "127.0.0.1:0");
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
        struct sockaddr_in in = { .sin_family = AF_INET };
        scoped(closep) int fd = -1;
        struct stat st;
        unsigned port;
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

        assert_int_equal(sscanf(sockets.http_address, "127.0.0.1:%u", &port), 1);
        in.sin_port = htons((uint16_t)port);
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&in, sizeof(in)), 0);

        sockets_close(&sockets);
        assert_int_equal(access(f->config.path, F_OK), -1);
        assert_int_equal(access(http_path, F_OK), -1);
        assert_int_equal(sockets.submit_fd, -1);
}

static void http_can_be_off_and_have_a_path_of_its_own(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX];
        Sockets sockets;

        strcpy(f->config.http_listen, "off");
        (void)snprintf(f->config.http_path, sizeof(f->config.http_path), "%s/elsewhere.sock", f->directory);
        assert_int_equal(sockets_open(&sockets, &f->config, error), 0);
        assert_int_equal(sockets.http_tcp_fd, -1);
        assert_string_equal(sockets.http_address, "");
        assert_string_equal(sockets.http_path, f->config.http_path);
        assert_true(can_connect(f->config.http_path));
        sockets_close(&sockets);
}

static void an_ipv6_address_is_bound_and_described(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX];
        Sockets sockets;

        if (access("/proc/net/if_inet6", R_OK) < 0)
                skip(); /* no IPv6 here */
        strcpy(f->config.http_listen, "[::1]:0");
        if (sockets_open(&sockets, &f->config, error) != 0) {
                assert_true(errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT); /* a machine without IPv6 */
                sockets_close(&sockets);
                skip(); /* no IPv6 here */
        }
        assert_int_equal(strncmp(sockets.http_address, "[::1]:", 6), 0);
        sockets_close(&sockets);
}

static void a_socket_left_behind_is_replaced_and_one_in_use_is_not(void **state) {
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

        /* As after a crash: the names remain, nobody listens. */
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

static void an_address_in_use_is_named_with_advice(void **state) {
        Fixture *f = *state;
        char error[SOCKETS_ERROR_MAX];
        Sockets sockets, second;
        Fixture other = *f;

        assert_int_equal(sockets_open(&sockets, &f->config, error), 0);
        (void)snprintf(other.config.path, sizeof(other.config.path), "%s/other/perfd.sock", f->directory);
        memcpy(other.config.http_listen, sockets.http_address, sizeof(other.config.http_listen));
        assert_int_equal(sockets_open(&second, &other.config, error), SOCKETS_FAILED);
        assert_int_equal(errno, EADDRINUSE);
        assert_non_null(strstr(error, sockets.http_address));
        assert_non_null(strstr(error, "--http off"));
        sockets_close(&second);
        sockets_close(&sockets);
}

/* The child has the descriptor 3 and the environment of sd_listen_fds(3); the return value is its exit status. */
static int open_with_passed(const Fixture *f, int family, const char *name) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                struct sockaddr_un un = { .sun_family = AF_UNIX };
                struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
                char error[SOCKETS_ERROR_MAX], pid_text[16];
                Sockets sockets;
                int fd = socket(family, SOCK_STREAM, 0), r;

                (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s/passed.sock", f->directory);
                r = family == AF_UNIX ? bind(fd, (const struct sockaddr *)&un, sizeof(un))
                                      : bind(fd, (const struct sockaddr *)&in, sizeof(in));
                if (r < 0 || listen(fd, 8) < 0 || (fd != 3 && dup2(fd, 3) < 0))
                        _exit(100);
                (void)snprintf(pid_text, sizeof(pid_text), "%d", (int)getpid());
                setenv("LISTEN_PID", pid_text, 1);
                setenv("LISTEN_FDS", "1", 1);
                setenv("LISTEN_FDNAMES", name, 1);
                if (sockets_open(&sockets, &f->config, error) != 0)
                        _exit(strstr(error, "expected stream sockets named perfd and perfd-http") ? 101 : 102);
                r = sockets.submit_fd == 3 ? 1 : sockets.http_unix_fd == 3 ? 2 : sockets.http_tcp_fd == 3 ? 3 : 0;
                if (r == 1 && sockets.submit_path[0])
                        r = 103; /* the service manager's, not ours to remove */
                sockets_close(&sockets);
                exit(r);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void passed_sockets_are_taken_by_name_and_family(void **state) {
        Fixture *f = *state;
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/passed.sock", f->directory);
        assert_int_equal(open_with_passed(f, AF_UNIX, "perfd"), 1);
        unlink(path);
        assert_int_equal(open_with_passed(f, AF_UNIX, "perfd-http"), 2);
        unlink(path);
        assert_int_equal(open_with_passed(f, AF_INET, "perfd-http"), 3);
        assert_int_equal(open_with_passed(f, AF_UNIX, "nonsense"), 101);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(all_sockets_are_made_and_removed_again, setup, teardown),
                cmocka_unit_test_setup_teardown(http_can_be_off_and_have_a_path_of_its_own, setup, teardown),
                cmocka_unit_test_setup_teardown(an_ipv6_address_is_bound_and_described, setup, teardown),
                cmocka_unit_test_setup_teardown(a_socket_left_behind_is_replaced_and_one_in_use_is_not, setup, teardown),
                cmocka_unit_test_setup_teardown(a_file_in_the_place_of_a_socket_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(an_address_in_use_is_named_with_advice, setup, teardown),
                cmocka_unit_test_setup_teardown(passed_sockets_are_taken_by_name_and_family, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
