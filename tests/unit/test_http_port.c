/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_port.h"
#include "sockets.h"
#include "util/clock.h"

typedef struct Fixture {
        Publisher *publisher;
        Shares *shares;
        Http *http;
        HttpPortStats port;
        int taken; /* socket of another owner */
        char address[SOCKETS_ADDRESS_MAX];
} Fixture;

static int listen_local(void) {
        const struct sockaddr_un address = { .sun_family = AF_UNIX }; /* an address chosen by the kernel */
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address.sun_family)), 0);
        assert_int_equal(listen(fd, 8), 0);
        return fd;
}

static int setup(void **state) {
        const HttpConfig config = { .n_threads = 1, .timeout_ns = NS_PER_S, .query_timeout_ns = NS_PER_S };
        const SharesConfig shares = { .limits = { [RESOURCE_HTTP_CONNECTIONS] = 16, [RESOURCE_QUERIES] = 16 } };
        HttpSources sources = { .store_path = "/nonexistent/perfd.db", .hostname = "node.example" };
        Fixture *f = calloc(1, sizeof(*f));
        char error[SOCKETS_ERROR_MAX];

        assert_non_null(f);
        assert_int_equal(publisher_new(&f->publisher), 0);
        assert_int_equal(shares_new(&f->shares, &shares), 0);
        sources.publisher = f->publisher;
        sources.shares = f->shares;
        assert_int_equal(http_new(&f->http, &config, listen_local(), &sources), 0);
        f->taken = sockets_listen_tcp("127.0.0.1:0", f->address, error);
        assert_true(f->taken >= 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        http_free(f->http);
        publisher_free(f->publisher);
        shares_free(f->shares);
        closep(&f->taken);
        free(f);
        return 0;
}

static bool can_connect(const char *address) {
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        scoped(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        in.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
        return connect(fd, (const struct sockaddr *)&in, sizeof(in)) == 0;
}

static void a_taken_port_is_tried_again_until_it_is_free(void **state) {
        Fixture *f = *state;

        for (int i = 0; i < 3; i++) {
                http_port_keep(&f->port, f->address, f->http);
                assert_string_equal(f->port.listen, f->address);
                assert_string_equal(f->port.address, "");
                assert_non_null(strstr(f->port.error, "Address already in use"));
        }
        closep(&f->taken);
        f->taken = -1;
        http_port_keep(&f->port, f->address, f->http);
        assert_string_equal(f->port.address, f->address);
        assert_string_equal(f->port.error, "");
        assert_true(can_connect(f->address));
}

static void an_open_port_stays_until_another_is_asked_for(void **state) {
        char first[SOCKETS_ADDRESS_MAX];
        Fixture *f = *state;

        http_port_keep(&f->port, "127.0.0.1:0", f->http);
        strcpy(first, f->port.address);
        http_port_keep(&f->port, "127.0.0.1:0", f->http);
        assert_string_equal(f->port.address, first);

        /* the port is in use: nothing is served, not even the former port */
        http_port_keep(&f->port, f->address, f->http);
        assert_string_equal(f->port.address, "");
        assert_false(can_connect(first));

        http_port_keep(&f->port, first, f->http);
        assert_true(can_connect(first));
        http_port_keep(&f->port, "off", f->http);
        assert_string_equal(f->port.address, "");
        assert_string_equal(f->port.error, "");
        assert_false(can_connect(first));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_taken_port_is_tried_again_until_it_is_free, setup, teardown),
                cmocka_unit_test_setup_teardown(an_open_port_stays_until_another_is_asked_for, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
