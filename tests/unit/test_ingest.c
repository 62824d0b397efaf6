#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "ingest/ingest.h"
#include "util/clock.h"
#include "wire.h"

#define TICKETS_MAX 20000U
#define DEADLINE_NS (20 * NS_PER_S)

/* A listening ingest in a loop of its own; the test takes its parent's part. */
typedef struct Fixture {
        char directory[32];
        struct sockaddr_un address;
        IngestConfig config;
        sd_event *event;
        Ingest *ingest;
        Ticket tickets[TICKETS_MAX]; /* of submissions that wait for an answer */
        size_t n_tickets;
} Fixture;

static int listen_at(struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
        assert_int_equal(listen(fd, 1024), 0);
        return fd;
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        strcpy(f->directory, "/tmp/perfd-ingest-XXXXXX");
        if (!mkdtemp(f->directory))
                return -1;

        f->address.sun_family = AF_UNIX;
        snprintf(f->address.sun_path, sizeof(f->address.sun_path), "%s/socket", f->directory);
        f->config = (IngestConfig){
                .frame_max_bytes = 65536,
                .connections_max = 64,
                .connections_per_uid_max = 64,
                .in_flight_max = 32,
                .string_max_bytes = STRING_MAX_BYTES,
                .server = "perfd test",
                .node = "node",
        };
        if (sd_event_new(&f->event) < 0)
                return -1;
        return ingest_new(&f->ingest, f->event, listen_at(&f->address), &f->config);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        ingest_free(f->ingest);
        sd_event_unref(f->event);
        unlink(f->address.sun_path);
        rmdir(f->directory);
        free(f);
        return 0;
}

/* Everything that can be done without waiting: events, and requests into f->tickets. */
static void turn(Fixture *f) {
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

static void answer(Fixture *f, size_t i, Status status) {
        ingest_answer(f->ingest, f->tickets[i], &(Answer){ .status = status });
}

static void answer_all(Fixture *f) {
        for (size_t i = 0; i < f->n_tickets; i++)
                answer(f, i, STATUS_OK);
        f->n_tickets = 0;
        ingest_flush(f->ingest);
}

/* Blocks nowhere: tests drive both ends. */
static int join(Fixture *f) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
        return fd;
}

/* Sends all of `stream` (moved in), turning the loop when the socket is full. */
static void send_stream(Fixture *f, int fd, Buffer *stream) {
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

static void put_submit(Buffer *stream, uint64_t sequence) {
        Buffer document = make_document(NULL), request = make_submit(sequence, &document);

        put_frame(stream, &request);
}

static void put_hello(Buffer *stream, uint64_t sequence) {
        Buffer request = {}, hello = {};

        put_number(&request, FIELD_SEQUENCE, sequence);
        put_text(&hello, 1, "test");
        put_message(&request, FIELD_HELLO, &hello);
        put_frame(stream, &request);
}

static void submit(Fixture *f, int fd, uint64_t first, unsigned n) {
        Buffer stream = {};

        for (unsigned i = 0; i < n; i++)
                put_submit(&stream, first + i);
        send_stream(f, fd, &stream);
        turn(f);
}

typedef struct Reply {
        uint64_t sequence;
        uint64_t status;
        char text[1024]; /* the whole frame, for a look at its words */
        size_t n;
} Reply;

static uint64_t read_varint(const uint8_t **p) {
        uint64_t v = 0;

        for (unsigned shift = 0;; shift += 7) {
                uint8_t byte = *(*p)++;

                v |= (uint64_t)(byte & 0x7f) << shift;
                if (byte < 0x80)
                        return v;
        }
}

static Reply parse_reply(const Frame *frame) {
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
                        p += v; /* texts, and hello's message */
        }

        return reply;
}

static bool says(const Reply *reply, const char *words) {
        return memmem(reply->text, reply->n, words, strlen(words));
}

/* The next replies, as many as there are of n_max; turns the loop for them. */
static size_t receive(Fixture *f, int fd, Reply *ret, size_t n_max) {
        uint8_t bytes[2048];
        size_t n_replies = 0, n_held = 0;

        turn(f);
        while (n_replies < n_max) {
                ssize_t n = recv(fd, bytes + n_held, 1, 0); /* no byte of the reply after these */
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

static void assert_closed(Fixture *f, int fd) {
        char byte;
        ssize_t n;

        turn(f);
        n = recv(fd, &byte, 1, 0);
        assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

static void assert_open(Fixture *f, int fd) {
        char byte;

        turn(f);
        assert_int_equal(recv(fd, &byte, 1, 0), -1);
        assert_int_equal(errno, EAGAIN);
}

/* --- order --------------------------------------------------------------------------------------- */

static void replies_come_in_the_order_of_requests_whatever_the_order_of_answers(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        static const size_t order[] = { 3, 1, 4, 0, 2 };
        static const Status statuses[] = { STATUS_OK, STATUS_DUPLICATE, STATUS_UNAVAILABLE, STATUS_DENIED, STATUS_OK };
        Reply replies[5];

        submit(f, fd, 100, 5);
        assert_int_equal(f->n_tickets, 5);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 5);

        for (size_t i = 0; i < 3; i++)
                answer(f, order[i], statuses[order[i]]);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 5), 0); /* the first still waits */

        for (size_t i = 3; i < 5; i++)
                answer(f, order[i], statuses[order[i]]);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 5), 5);
        for (size_t i = 0; i < 5; i++) {
                assert_int_equal(replies[i].sequence, 100 + i);
                assert_int_equal(replies[i].status, statuses[i]);
        }
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
        assert_int_equal(ingest_stats(f->ingest)->n_answers[STATUS_OK], 2);
}

static void hello_and_invalid_requests_are_answered_by_ingest_but_in_their_turn(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {}, invalid = {}, job_end = {};
        Reply replies[4];

        put_submit(&stream, 1);
        put_hello(&stream, 2);
        put_number(&invalid, FIELD_SEQUENCE, 3);
        put_message(&invalid, FIELD_JOB_END, &job_end);
        put_frame(&stream, &invalid);
        put_submit(&stream, 4);
        send_stream(f, fd, &stream);
        assert_int_equal(receive(f, fd, replies, 4), 0);
        assert_int_equal(f->n_tickets, 2);

        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 4), 4);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(replies[i].sequence, i + 1);
        assert_true(says(&replies[1], "perfd test"));
        assert_int_equal(replies[2].status, STATUS_INVALID);
        assert_true(says(&replies[2], "job_end.job"));
}

static void an_answer_given_twice_counts_once(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[3];

        submit(f, fd, 1, 2);
        answer(f, 1, STATUS_OK);
        answer(f, 1, STATUS_INVALID);
        answer(f, 0, STATUS_OK);
        answer(f, 0, STATUS_INVALID);
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, fd, replies, 3), 2);
        assert_int_equal(replies[0].status, STATUS_OK);
        assert_int_equal(replies[1].status, STATUS_OK);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
}

static void requests_that_come_byte_by_byte_are_understood(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {};
        Reply replies[2];

        put_submit(&stream, 1);
        put_submit(&stream, 2);
        for (size_t i = 0; i < stream.n; i++) {
                assert_int_equal(send(fd, stream.text + i, 1, MSG_NOSIGNAL), 1);
                turn(f);
        }
        buffer_deinit(&stream);
        assert_int_equal(f->n_tickets, 2);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 2), 2);
}

static void a_frame_of_the_largest_size_is_taken_among_small_ones(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {}, document, request, result = {};
        char text[STRING_MAX_BYTES - 1024];
        Reply replies[3];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        put_member_string(&result, "log", text);
        document = make_document(&result);
        request = make_submit(2, &document);
        assert_in_range(request.n, 60000, f->config.frame_max_bytes);

        put_submit(&stream, 1);
        put_frame(&stream, &request);
        put_submit(&stream, 3);
        send_stream(f, fd, &stream);
        turn(f);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 3), 3);
        assert_int_equal(replies[1].status, STATUS_OK);
}

/* --- back-pressure ------------------------------------------------------------------------------- */

static void no_more_than_in_flight_max_requests_of_a_connection_are_handed_out(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[200];
        size_t n = 0;

        submit(f, fd, 0, 200);
        assert_int_equal(f->n_tickets, f->config.in_flight_max);

        for (unsigned turns = 0; turns < 10 && n < 200; turns++) {
                answer_all(f);
                n += receive(f, fd, replies + n, 200 - n);
                assert_true(f->n_tickets <= f->config.in_flight_max);
        }
        assert_int_equal(n, 200);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(replies[i].sequence, i);
}

static void a_loop_with_nothing_to_do_sleeps_though_requests_wait(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f), gone = join(f);
        Buffer stream = {};

        for (unsigned i = 0; i < 2000; i++)
                put_submit(&stream, i);
        while (stream.n > 0) { /* until neither ingest's buffer nor the socket takes any more */
                ssize_t n = send(fd, stream.text, stream.n, MSG_NOSIGNAL);

                if (n < 0)
                        break;
                memmove(stream.text, stream.text + n, stream.n - (size_t)n);
                stream.n -= (size_t)n;
                turn(f);
        }
        assert_true(stream.n > 0);
        buffer_deinit(&stream);

        /* The other one has a request unanswered, and hung up. */
        submit(f, gone, 1, 1);
        close(TAKE_FD(gone));
        turn(f);
        assert_int_equal(sd_event_run(f->event, 0), 0);
        assert_int_equal(sd_event_run(f->event, 0), 0);
}

static void one_connection_with_many_requests_does_not_keep_others_waiting(void **state) {
        Fixture *f = *state;
        scoped(closep) int busy = join(f), other = join(f);
        Buffer stream = {};
        Request request;
        Ticket first, ticket;
        unsigned n = 0;

        f->config.in_flight_max = 1024;
        ingest_configure(f->ingest, &f->config);
        turn(f);

        for (unsigned i = 0; i < 200; i++)
                put_submit(&stream, i);
        assert_int_equal(send(busy, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_clear(&stream);
        put_submit(&stream, 1);
        assert_int_equal(send(other, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        while (sd_event_run(f->event, 0) > 0)
                ;

        assert_int_equal(ingest_next(f->ingest, &request, &first), 0);
        do {
                n++;
                assert_int_equal(ingest_next(f->ingest, &request, &ticket), 0);
        } while (ticket.connection == first.connection);
        assert_in_range(n, 1, 100);
}

static void a_peer_that_never_reads_holds_up_itself_alone(void **state) {
        Fixture *f = *state;
        scoped(closep) int deaf = join(f), other = join(f);
        Buffer stream = {};
        Reply replies[1];
        size_t n_answered = 0, n_sent = 0;

        /* Invalid ones, whose replies are the longest. */
        for (unsigned i = 0; i < 50000; i++) {
                Buffer request = {}, job_end = {};

                put_number(&request, FIELD_SEQUENCE, i);
                put_message(&request, FIELD_JOB_END, &job_end);
                put_frame(&stream, &request);
        }
        for (;;) {
                ssize_t n = send(deaf, stream.text + n_sent, stream.n - n_sent, MSG_NOSIGNAL);

                if (n > 0)
                        n_sent += (size_t)n;
                turn(f);
                if (n <= 0 && ingest_stats(f->ingest)->n_answers[STATUS_INVALID] == n_answered)
                        break;
                n_answered = ingest_stats(f->ingest)->n_answers[STATUS_INVALID];
                assert_true(n_sent < stream.n);
        }
        buffer_deinit(&stream);
        assert_true(n_answered < 20000); /* 64 KiB here and what the kernel holds */
        assert_int_equal(sd_event_run(f->event, 0), 0);
        assert_false(ingest_is_idle(f->ingest));

        submit(f, other, 1, 1);
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 1), 1);

        /* Once it reads, it goes on. */
        assert_int_equal(receive(f, deaf, replies, 1), 1);
        while (receive(f, deaf, replies, 1) == 1)
                ;
        assert_true(ingest_stats(f->ingest)->n_answers[STATUS_INVALID] > n_answered);
}

/* --- ends ---------------------------------------------------------------------------------------- */

static void a_half_closed_peer_gets_its_answers_then_the_end(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[50];

        submit(f, fd, 1, 50); /* more than in_flight_max: some are still in the buffer at the end of the stream */
        shutdown(fd, SHUT_WR);
        turn(f);
        answer_all(f);
        turn(f);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 50), 50);
        assert_closed(f, fd);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 0);
}

static void tickets_of_a_connection_that_is_gone_are_ignored(void **state) {
        Fixture *f = *state;
        int fd = join(f);
        scoped(closep) int other = -1;
        Reply replies[4];

        submit(f, fd, 1, 3);
        close(fd);
        turn(f);
        answer(f, 1, STATUS_OK);
        ingest_flush(f->ingest);
        turn(f);

        other = join(f); /* takes the place of the first in the table */
        submit(f, other, 7, 1);
        assert_int_equal(f->n_tickets, 4);
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 4), 1);
        assert_int_equal(replies[0].sequence, 7);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 1);
        assert_int_equal(ingest_stats(f->ingest)->n_in_flight, 0);
}

static void what_a_peer_sent_before_it_went_away_is_still_handed_out(void **state) {
        Fixture *f = *state;
        int fd = join(f);
        Buffer stream = {};

        for (unsigned i = 0; i < 10; i++)
                put_submit(&stream, i);
        assert_int_equal(send(fd, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        close(fd);
        turn(f);
        assert_int_equal(f->n_tickets, 10);
        answer_all(f);
        turn(f);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 0);
        assert_true(ingest_is_idle(f->ingest));
}

static void bytes_that_are_no_request_get_a_reply_and_the_end(void **state) {
        static const char *const texts[] = {
                "{\"@parameters\": {}, \"@result\": {}, \"name\": \"PiMatmul\", \"component\": \"tensorflow\", \"more\": \"much, much more than a frame of the length that an opening brace announces\"}",
                "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser that found the wrong socket\r\n\r\n",
                "\xff\xff\xff\xff\xff\xff",
        };
        Fixture *f = *state;

        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(closep) int fd = join(f);
                Reply reply;

                assert_int_equal(send(fd, texts[i], strlen(texts[i]), MSG_NOSIGNAL), strlen(texts[i]));
                assert_int_equal(receive(f, fd, &reply, 1), 1);
                assert_int_equal(reply.sequence, 0);
                assert_int_equal(reply.status, STATUS_INVALID);
                assert_true(says(&reply, "not a perfd frame"));
                assert_closed(f, fd);
        }
        assert_int_equal(ingest_stats(f->ingest)->n_protocol_errors, N_ELEMENTS(texts));
}

static void garbage_after_requests_does_not_cost_them_their_answers(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Buffer stream = {};
        Reply replies[3];

        put_submit(&stream, 1);
        put_submit(&stream, 2);
        buffer_puts(&stream, "\xff\xff\xff\xff\xff\xff");
        send_stream(f, fd, &stream);
        turn(f);
        assert_int_equal(f->n_tickets, 2);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 3), 3);
        assert_int_equal(replies[1].sequence, 2);
        assert_int_equal(replies[2].status, STATUS_INVALID);
        assert_closed(f, fd);
}

static void a_frame_over_the_limit_is_refused_by_its_name(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        uint8_t header[FRAME_HEADER_MAX];
        size_t n = frame_write_header(header, (uint32_t)f->config.frame_max_bytes + 1);
        Reply reply;

        assert_int_equal(send(fd, header, n, MSG_NOSIGNAL), n);
        assert_int_equal(receive(f, fd, &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_TOO_LARGE);
        assert_true(says(&reply, "65536"));
        assert_true(says(&reply, "frame_size"));
        assert_closed(f, fd);
}

/* --- limits -------------------------------------------------------------------------------------- */

static void a_connection_over_the_limit_is_told_which(void **state) {
        Fixture *f = *state;
        int fds[3];
        Reply reply;

        f->config.connections_max = 2;
        ingest_configure(f->ingest, &f->config);
        for (size_t i = 0; i < 3; i++)
                fds[i] = join(f);
        assert_int_equal(receive(f, fds[2], &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_QUOTA);
        assert_int_equal(reply.sequence, 0);
        assert_true(says(&reply, "[limits] connections)"));
        assert_closed(f, fds[2]);
        assert_open(f, fds[0]);
        assert_int_equal(ingest_stats(f->ingest)->n_connections_refused, 1);

        /* A place that is given up is free again. */
        close(fds[0]);
        turn(f);
        close(fds[2]);
        fds[2] = join(f);
        assert_open(f, fds[2]);
        close(fds[1]);
        close(fds[2]);
}

static void a_user_has_a_limit_of_its_own(void **state) {
        Fixture *f = *state;
        int fds[2];
        Reply reply;

        f->config.connections_per_uid_max = 1;
        ingest_configure(f->ingest, &f->config);
        for (size_t i = 0; i < 2; i++)
                fds[i] = join(f);
        assert_int_equal(receive(f, fds[1], &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_QUOTA);
        assert_true(says(&reply, "connections_per_uid"));
        assert_open(f, fds[0]);
        close(fds[0]);
        close(fds[1]);
}

static void without_file_descriptors_a_peer_is_told_and_the_loop_sleeps(void **state) {
        Fixture *f = *state;
        scoped(closep) int before = join(f), fd = -1, waiting = -1;
        struct rlimit limit, tight;
        Reply replies[1];
        int highest;

        turn(f);
        fd = join(f);
        waiting = join(f);
        highest = dup(waiting);
        assert_true(highest >= 0);
        close(highest);

        /* No descriptor from `highest` on can be had, and those below are in use. */
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        tight = (struct rlimit){ .rlim_cur = (rlim_t)highest, .rlim_max = limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
        turn(f);
        assert_int_equal(receive(f, fd, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_QUOTA);
        assert_true(says(&replies[0], "file descriptors"));
        assert_closed(f, fd);
        assert_int_equal(sd_event_run(f->event, 0), 0);

        submit(f, before, 1, 1); /* who is in is served */
        answer_all(f);
        assert_int_equal(receive(f, before, replies, 1), 1);

        /* When there are descriptors again, so is who waited. */
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_true(sd_event_run(f->event, DEADLINE_NS / NS_PER_US) > 0);
        submit(f, waiting, 2, 1);
        answer_all(f);
        assert_int_equal(receive(f, waiting, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_OK);
}

static void new_limits_hold_for_open_connections(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[1];

        submit(f, fd, 1, 1);
        answer_all(f);
        assert_int_equal(receive(f, fd, replies, 1), 1);

        f->config.frame_max_bytes = 64;
        ingest_configure(f->ingest, &f->config);
        submit(f, fd, 2, 1);
        assert_int_equal(receive(f, fd, replies, 1), 1);
        assert_int_equal(replies[0].status, STATUS_TOO_LARGE);
}

static void draining_answers_what_was_taken_and_takes_no_more(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        Reply replies[2];

        submit(f, fd, 1, 1);
        assert_false(ingest_is_idle(f->ingest));
        ingest_drain(f->ingest);
        submit(f, fd, 2, 1);
        assert_int_equal(f->n_tickets, 1);
        assert_false(ingest_is_idle(f->ingest));
        answer_all(f);
        assert_true(ingest_is_idle(f->ingest));
        assert_int_equal(receive(f, fd, replies, 2), 1);
        assert_int_equal(replies[0].sequence, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(replies_come_in_the_order_of_requests_whatever_the_order_of_answers),
                TEST(hello_and_invalid_requests_are_answered_by_ingest_but_in_their_turn),
                TEST(an_answer_given_twice_counts_once),
                TEST(requests_that_come_byte_by_byte_are_understood),
                TEST(a_frame_of_the_largest_size_is_taken_among_small_ones),
                TEST(no_more_than_in_flight_max_requests_of_a_connection_are_handed_out),
                TEST(a_loop_with_nothing_to_do_sleeps_though_requests_wait),
                TEST(one_connection_with_many_requests_does_not_keep_others_waiting),
                TEST(a_peer_that_never_reads_holds_up_itself_alone),
                TEST(a_half_closed_peer_gets_its_answers_then_the_end),
                TEST(tickets_of_a_connection_that_is_gone_are_ignored),
                TEST(what_a_peer_sent_before_it_went_away_is_still_handed_out),
                TEST(bytes_that_are_no_request_get_a_reply_and_the_end),
                TEST(garbage_after_requests_does_not_cost_them_their_answers),
                TEST(a_frame_over_the_limit_is_refused_by_its_name),
                TEST(a_connection_over_the_limit_is_told_which),
                TEST(a_user_has_a_limit_of_its_own),
                TEST(without_file_descriptors_a_peer_is_told_and_the_loop_sleeps),
                TEST(new_limits_hold_for_open_connections),
                TEST(draining_answers_what_was_taken_and_takes_no_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
