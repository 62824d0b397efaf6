/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/api/http_client.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/api/http_client.h"
#include "util/clock.h"
#include "util/file.h"

#define LONG_NS (3600 * NS_PER_S)

/* A server that takes connections and never answers. */
typedef struct Server {
        char directory[32], path[sizeof(((struct sockaddr_un){}).sun_path)];
        int fd;
        HttpClient *client;
} Server;

static int set_up(void **state) {
        Server *server = calloc(1, sizeof(*server));
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        assert_non_null(server);
        strcpy(server->directory, "/tmp/perfd-unit-XXXXXX");
        assert_non_null(mkdtemp(server->directory));
        (void)snprintf(server->path, sizeof(server->path), "%s/http.sock", server->directory);
        memcpy(address.sun_path, server->path, sizeof(server->path));
        server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(server->fd >= 0);
        assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(server->fd, 8), 0);
        if (http_client_new(&server->client, server->path, LONG_NS) < 0)
                server->client = NULL; /* no libcurl here */
        *state = server;
        return 0;
}

static int tear_down(void **state) {
        Server *server = *state;

        http_client_free(server->client);
        close(server->fd);
        unlink(server->path);
        rmdir(server->directory);
        free(server);
        return 0;
}

static int get(Server *server, unsigned *ret_status, Buffer *body) {
        if (!server->client)
                skip();
        return http_client_get(server->client, "/api/v1/node", ret_status, body);
}

static void a_request_without_an_answer_ends_at_its_timeout(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Server *server = *state;
        unsigned status = 0;

        if (server->client)
                http_client_set_timeout(server->client, NS_PER_MS);
        assert_int_equal(get(server, &status, &body), HTTP_CLIENT_UNREACHABLE);
        assert_string_equal(http_client_error(server->client), "Connection timed out");
}

static void a_request_without_an_answer_ends_at_a_key(void **state) {
        scoped(closep) int keys = -1, keyboard = -1;
        scoped(buffer_deinit) Buffer body = {};
        Server *server = *state;
        unsigned status = 0;
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        keys = ends[0];
        keyboard = ends[1];
        assert_int_equal(write(keyboard, "q", 1), 1);
        if (server->client)
                http_client_set_wake(server->client, keys);
        assert_int_equal(get(server, &status, &body), HTTP_CLIENT_UNREACHABLE);
        assert_int_equal(get(server, &status, &body), HTTP_CLIENT_UNREACHABLE);
        assert_string_equal(http_client_error(server->client), "Connection timed out");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_request_without_an_answer_ends_at_its_timeout, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_request_without_an_answer_ends_at_a_key, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
