/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An ingest on a real socket with its own event loop; the test acts as the daemon and as its clients. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "ingest/ingest.h"
#include "util/clock.h"
#include "wire.h"

#define TICKETS_MAX 20000U
#define DEADLINE_NS (20 * NS_PER_S)

typedef struct Fixture {
        char directory[32];
        struct sockaddr_un address;
        IngestConfig config;
        SharesConfig shares_config;
        Shares *shares;
        sd_event *event;
        Ingest *ingest;
        Ticket tickets[TICKETS_MAX]; /* of submissions without an answer */
        size_t n_tickets;
} Fixture;

static inline int listen_at(struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
        assert_int_equal(listen(fd, 1024), 0);
        return fd;
}

static inline int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        strcpy(f->directory, "/tmp/perfd-ingest-XXXXXX");
        if (!mkdtemp(f->directory))
                return -1;

        f->address.sun_family = AF_UNIX;
        snprintf(f->address.sun_path, sizeof(f->address.sun_path), "%s/socket", f->directory);
        f->config = (IngestConfig){
                .frame_max_bytes = 65536,
                .in_flight_max = 32,
                .documents = DOCUMENT_LIMITS_DEFAULT,
                .admin_gid = INGEST_NO_ADMIN_GID,
        };
        f->shares_config = (SharesConfig){ .limits = {
                [RESOURCE_CONNECTIONS] = 64, [RESOURCE_INPUT] = 4U << 20, [RESOURCE_REQUESTS] = 4U << 20,
        } };
        if (sd_event_new(&f->event) < 0 || shares_new(&f->shares, &f->shares_config) < 0)
                return -1;
        return ingest_new(&f->ingest, f->event, listen_at(&f->address), &f->config,
                          &(IngestServer){ .name = "perfd test", .node = "node" }, f->shares);
}

static inline int tear_down(void **state) {
        Fixture *f = *state;

        ingest_free(f->ingest);
        shares_free(f->shares);
        sd_event_unref(f->event);
        unlink(f->address.sun_path);
        rmdir(f->directory);
        free(f);
        return 0;
}

/* Does all work that needs no waiting: handles events, and stores the tickets of requests in f->tickets. */
static inline void turn(Fixture *f) {
        Request request;
        Ticket ticket;
        int r;

        do {
                while (ingest_next(f->ingest, &request, &ticket) == 0) {
                        assert_int_equal(request.kind, REQUEST_SUBMIT);
                        assert_true(f->n_tickets < TICKETS_MAX);
                        f->tickets[f->n_tickets++] = ticket;
                }
                r = sd_event_run(f->event, 0);
                assert_true(r >= 0);
        } while (r > 0);
}

static inline void answer(Fixture *f, size_t i, Status status) {
        ingest_answer(f->ingest, f->tickets[i], &(Answer){ .status = status });
}

static inline void answer_all(Fixture *f) {
        for (size_t i = 0; i < f->n_tickets; i++)
                answer(f, i, STATUS_OK);
        f->n_tickets = 0;
        ingest_flush(f->ingest);
}

/* Does not block: the test controls both ends. */
static inline int join(Fixture *f) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
        return fd;
}

/* Sends all of `stream` (ownership is taken), and runs the loop while the socket is full. */
static inline void send_stream(Fixture *f, int fd, Buffer *stream) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        size_t n_sent = 0;

        while (n_sent < stream->n) {
                ssize_t n = send(fd, stream->text + n_sent, stream->n - n_sent, MSG_NOSIGNAL);

                if (n >= 0) {
                        n_sent += (size_t)n;
                        continue;
                }
                assert_int_equal(errno, EAGAIN);
                assert_true(clock_boottime_ns() < deadline_ns);
                turn(f);
        }
        buffer_deinit(stream);
}

static inline void put_submit(Buffer *stream, uint64_t sequence) {
        Buffer document = make_document(NULL), request = make_submit(sequence, &document);

        put_frame(stream, &request);
}

static inline void put_hello(Buffer *stream, uint64_t sequence) {
        Buffer request = {}, hello = {};

        put_number(&request, FIELD_SEQUENCE, sequence);
        put_text(&hello, 1, "test");
        put_message(&request, FIELD_HELLO, &hello);
        put_frame(stream, &request);
}

static inline void submit(Fixture *f, int fd, uint64_t first, unsigned n) {
        Buffer stream = {};

        for (unsigned i = 0; i < n; i++)
                put_submit(&stream, first + i);
        send_stream(f, fd, &stream);
        turn(f);
}

typedef struct Reply {
        uint64_t sequence;
        uint64_t status;
        char text[1024]; /* the whole frame, which can be searched for texts */
        size_t n;
} Reply;

static inline uint64_t read_varint(const uint8_t **p) {
        uint64_t v = 0;

        for (unsigned shift = 0;; shift += 7) {
                uint8_t byte = *(*p)++;

                v |= (uint64_t)(byte & 0x7f) << shift;
                if (byte < 0x80)
                        return v;
        }
}

static inline Reply parse_reply(const Frame *frame) {
        const uint8_t *p = frame->data, *end = p + frame->n;
        Reply reply = { .n = frame->n };

        assert_true(frame->n < sizeof(reply.text));
        memcpy(reply.text, frame->data, frame->n);
        while (p < end) {
                uint64_t tag = read_varint(&p), v = read_varint(&p);

                if (tag == (1 << 3))
                        reply.sequence = v;
                else if (tag == (2 << 3))
                        reply.status = v;
                else
                        p += v; /* skips texts and hello's message */
        }

        return reply;
}

static inline bool says(const Reply *reply, const char *words) {
        return memmem(reply->text, reply->n, words, strlen(words));
}

/* Receives up to n_max replies that are available; runs the loop for them. */
static inline size_t receive(Fixture *f, int fd, Reply *ret, size_t n_max) {
        uint8_t bytes[2048];
        size_t n_replies = 0, n_held = 0;

        turn(f);
        while (n_replies < n_max) {
                ssize_t n = recv(fd, bytes + n_held, 1, 0); /* must not read beyond the reply */
                Frame frame;

                if (n < 0 && errno == EAGAIN) {
                        assert_int_equal(n_held, 0);
                        break;
                }
                if (n <= 0)
                        break;

                n_held += (size_t)n;
                if (frame_read(bytes, n_held, sizeof(bytes), &frame, NULL) != 0)
                        continue;
                ret[n_replies++] = parse_reply(&frame);
                n_held = 0;
        }

        return n_replies;
}

static inline void assert_closed(Fixture *f, int fd) {
        char byte;
        ssize_t n;

        turn(f);
        n = recv(fd, &byte, 1, 0);
        assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

static inline void assert_open(Fixture *f, int fd) {
        char byte;

        turn(f);
        assert_int_equal(recv(fd, &byte, 1, 0), -1);
        assert_int_equal(errno, EAGAIN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
