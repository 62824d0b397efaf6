/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A process that answers each HTTP request on a port of 127.0.0.1 with one text, and keeps the requests in a file. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct JsonServerFixture {
        pid_t pid;
        char url[48];
} JsonServerFixture;

static inline void json_server_fixture_answer(int fd, const char *status, const char *body) {
        scoped(buffer_deinit) Buffer request = {}, answer = {};
        const char *content = NULL, *length;
        int log;

        while (!content ||
               request.n < (size_t)(content - request.text) + (length ? strtoul(length + 15, NULL, 10) : 0)) {
                if (buffer_read(&request, fd) <= 0)
                        return;
                content = strstr(request.text, "\r\n\r\n");
                content = content ? content + 4 : NULL;
                length = strcasestr(request.text, "content-length:");
        }
        log = open("requests", O_WRONLY | O_CREAT | O_APPEND, 0600);
        (void)!write(log, request.text, request.n);
        (void)close(log);
        buffer_printf(&answer, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
                      strlen(body), body);
        (void)!write(fd, answer.text, answer.n);
}

static inline void json_server_fixture_begin(JsonServerFixture *fixture, const char *status, const char *body) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_return_code(bind(fd, (struct sockaddr *)&address, n), 0);
        assert_return_code(listen(fd, 8), 0);
        assert_return_code(getsockname(fd, (struct sockaddr *)&address, &n), 0);
        (void)snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
        fixture->pid = fork();
        while (fixture->pid == 0) {
                int client = accept(fd, NULL, NULL);

                json_server_fixture_answer(client, status, body);
                (void)close(client);
        }
        (void)close(fd);
}

static inline void json_server_fixture_end(JsonServerFixture *fixture) {
        (void)kill(fixture->pid, SIGKILL);
        (void)waitpid(fixture->pid, NULL, 0);
}
