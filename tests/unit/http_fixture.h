/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An HTTP server with a Unix socket and a port, and a client that reads its answers, for tests. */

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include "http/http.h"
#include "snapshot_fixture.h"
#include "util/buffer.h"

#define DEADLINE_MS 20000

typedef struct Fixture {
        char directory[32];
        struct sockaddr_in tcp;
        struct sockaddr_un local;
        Publisher *publisher;
        Shares *shares;
        Http *http;
} Fixture;

static inline int listen_tcp(struct sockaddr_in *ret) {
        socklen_t n = sizeof(*ret);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        *ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        assert_int_equal(bind(fd, (struct sockaddr *)ret, n), 0);
        assert_int_equal(listen(fd, 128), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &n), 0);
        return fd;
}

static inline int listen_local(const char *directory, struct sockaddr_un *ret) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/http.sock", directory);
        assert_int_equal(bind(fd, (struct sockaddr *)ret, sizeof(*ret)), 0);
        assert_int_equal(listen(fd, 128), 0);
        return fd;
}

static inline void start(Fixture *fixture, unsigned n_max, unsigned timeout_s) {
        const HttpConfig config = {
                .n_threads = 2,
                .timeout_ns = timeout_s * NS_PER_S,
                .query_timeout_ns = NS_PER_S,
                .hosts = "perf.example.org",
        };
        SharesConfig shares = { .limits = { [RESOURCE_HTTP_CONNECTIONS] = n_max,
                                            [RESOURCE_QUERIES] = 16,
                                            [RESOURCE_STREAMS] = 4,
                                            [RESOURCE_ANSWERS] = 8U << 20 } };
        HttpSources sources = { .store_path = "/nonexistent/perfd.db", .hostname = "node.example" };

        assert_int_equal(publisher_new(&fixture->publisher), 0);
        assert_int_equal(shares_new(&fixture->shares, &shares), 0);
        sources.publisher = fixture->publisher;
        sources.shares = fixture->shares;
        assert_int_equal(http_new(&fixture->http, &config, listen_local(fixture->directory, &fixture->local), &sources),
                         0);
        assert_int_equal(http_listen(fixture->http, listen_tcp(&fixture->tcp)), 0);
}

static inline void publish_jobs(Fixture *fixture, size_t n_jobs) {
        const SnapshotSize size = { .n_cpus = 2, .n_disks = 2, .n_nets = 2, .n_filesystems = 2, .n_jobs = n_jobs };
        Snapshot *snapshot = publisher_begin(fixture->publisher);

        assert_non_null(snapshot);
        fixture_fill(snapshot, &size);
        publisher_publish(fixture->publisher, snapshot);
        http_tick(fixture->http);
}

static inline void publish(Fixture *fixture) {
        publish_jobs(fixture, 2);
}

static inline int setup(void **state) {
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        strcpy(fixture->directory, "/tmp/perfd-test-http-XXXXXX");
        assert_non_null(mkdtemp(fixture->directory));
        *state = fixture;
        return 0;
}

static inline int teardown(void **state) {
        Fixture *fixture = *state;

        http_free(fixture->http);
        publisher_free(fixture->publisher);
        shares_free(fixture->shares);
        (void)unlink(fixture->local.sun_path);
        (void)rmdir(fixture->directory);
        free(fixture);
        return 0;
}

static inline int dial_tcp(const Fixture *fixture) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(connect(fd, (const struct sockaddr *)&fixture->tcp, sizeof(fixture->tcp)), 0);
        return fd;
}

static inline int dial_local(const Fixture *fixture) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(connect(fd, (const struct sockaddr *)&fixture->local, sizeof(fixture->local)), 0);
        return fd;
}

/* Returns false if the peer accepts no more data. */
static inline bool say(int fd, const char *text, size_t n) {
        while (n > 0) {
                ssize_t k = send(fd, text, n, MSG_NOSIGNAL);

                if (k <= 0)
                        return false;
                text += k;
                n -= (size_t)k;
        }
        return true;
}

/* Reads more data. Returns false at the end of the stream, or after a reset. */
static inline bool hear(int fd, Buffer *out) {
        struct pollfd poller = { .fd = fd, .events = POLLIN };
        char piece[4096];
        ssize_t n;

        if (poll(&poller, 1, DEADLINE_MS) != 1)
                fail_msg("nothing came within %d ms", DEADLINE_MS);

        n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0)
                return false;

        buffer_put(out, piece, (size_t)n);
        return true;
}

/* An answer: head and body, both NUL-terminated. */
typedef struct HttpAnswer {
        unsigned status;
        Buffer head, body;
} HttpAnswer;

static inline void answer_deinit(HttpAnswer *answer) {
        buffer_deinit(&answer->head);
        buffer_deinit(&answer->body);
}

/* Removes one answer from the stream; later data stays in `stream`. */
static inline void read_answer(int fd, Buffer *stream, bool has_body, HttpAnswer *ret) {
        const char *end, *length;
        size_t n_head, n_body;

        while (!stream->text || !(end = strstr(stream->text, "\r\n\r\n")))
                if (!hear(fd, stream))
                        fail_msg("the connection ended within the head: '%s'", stream->text ?: "");

        n_head = (size_t)(end - stream->text) + 4;
        buffer_put(&ret->head, stream->text, n_head);
        assert_int_equal(sscanf(ret->head.text, "HTTP/1.%*c %u ", &ret->status), 1);
        length = strcasestr(ret->head.text, "\r\ncontent-length: ");
        n_body = has_body && length ? strtoul(length + 18, NULL, 10) : 0;

        while (stream->n < n_head + n_body)
                assert_true(hear(fd, stream));
        buffer_put(&ret->body, stream->text + n_head, n_body);
        memmove(stream->text, stream->text + n_head + n_body, stream->n - n_head - n_body);
        stream->n -= n_head + n_body;
        stream->text[stream->n] = '\0';
}

/* Sends a request over a new connection. */
static inline void ask(const Fixture *fixture, const char *request, HttpAnswer *ret) {
        scoped(buffer_deinit) Buffer stream = {};
        scoped(closep) int fd = dial_tcp(fixture);

        *ret = (HttpAnswer){};
        (void)say(fd, request, strlen(request));
        read_answer(fd, &stream, strncmp(request, "HEAD ", 5) != 0, ret);
}

static inline bool has_header(const HttpAnswer *answer, const char *line) {
        return strcasestr(answer->head.text, line);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: node\r\n"
#define END "\r\n"

/* Returns the decompressed text. Caller frees. */
static inline char *unpack(const Buffer *packed) {
        z_stream stream = { .next_in = (unsigned char *)packed->text, .avail_in = (unsigned)packed->n };
        char *text = calloc(1, 1 << 20);

        assert_non_null(text);
        assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
        stream.next_out = (unsigned char *)text;
        stream.avail_out = (1 << 20) - 1;
        assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
        assert_int_equal(inflateEnd(&stream), Z_OK);
        return text;
}
