/* SPDX-License-Identifier: Apache-2.0 */
/* Large frames are decoded beside the event loop, which serves others meanwhile. */
/* tests: daemon/ingest/decoder.c daemon/ingest/ingest.c */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "ingest/decoder.h"
#include "ingest_fixture.h"

#define FRAME_BYTES (512U * 1024U)

static void put_large(Buffer *stream, uint64_t sequence) {
        Buffer document, request, result = {};
        char key[] = "log0", text[60000];

        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (; key[3] < '4'; key[3]++)
                put_member_string(&result, key, text);
        document = make_document(&result);
        request = make_submit(sequence, &document);
        assert_in_range(request.n, DECODER_BYTES_MIN + 1, FRAME_BYTES);
        put_frame(stream, &request);
        buffer_deinit(&result);
}

static int set_up_large(void **state) {
        Fixture *f;

        if (set_up(state) < 0)
                return -1;
        f = *state;
        f->config.frame_max_bytes = FRAME_BYTES;
        ingest_configure(f->ingest, &f->config);
        return 0;
}

/* Sends what the loop reads without a request being taken. */
static void send_and_read(Fixture *f, int fd, Buffer *stream) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;

        for (size_t n_sent = 0; n_sent < stream->n;) {
                ssize_t n = send(fd, stream->text + n_sent, stream->n - n_sent, MSG_NOSIGNAL);

                assert_true(clock_boottime_ns() < deadline_ns);
                n_sent += n > 0 ? (size_t)n : 0;
                while (sd_event_run(f->event, 0) > 0)
                        ;
        }
        buffer_deinit(stream);
}

/* Takes the requests that are complete, without events in between. */
static void take(Fixture *f) {
        Request request;
        Ticket ticket;

        while (ingest_next(f->ingest, &request, &ticket) == 0)
                f->tickets[f->n_tickets++] = ticket;
}

static void wait_for_tickets(Fixture *f, size_t n) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;

        while (f->n_tickets < n) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, 10000) >= 0);
                take(f);
        }
        assert_int_equal(f->n_tickets, n);
}

/* ingest_next() also ends after some milliseconds, which the start of the decoder's thread may take. */
static void wait_without_events(Fixture *f, size_t n) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;

        while (f->n_tickets < n) {
                assert_true(clock_boottime_ns() < deadline_ns);
                take(f);
        }
        assert_int_equal(f->n_tickets, n);
}

static void others_are_served_while_a_frame_is_decoded(void **state) {
        Fixture *f = *state;
        scoped(closep) int large = join(f), other = join(f);
        Buffer stream = {};
        Reply replies[3];

        put_large(&stream, 1);
        put_submit(&stream, 2);
        send_and_read(f, large, &stream);
        put_submit(&stream, 1);
        send_and_read(f, other, &stream);
        wait_without_events(f, 1); /* of the other, whatever the decoder has done meanwhile */
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 1), 1);

        wait_for_tickets(f, 2);
        answer_all(f);
        assert_int_equal(receive(f, large, replies, 3), 2);
        assert_int_equal(replies[0].sequence, 1);
        assert_int_equal(replies[1].sequence, 2);
        assert_true(ingest_is_idle(f->ingest));
}

static void large_frames_wait_for_each_other(void **state) {
        Fixture *f = *state;
        int fds[4];
        Reply reply;

        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                Buffer stream = {};

                fds[i] = join(f);
                put_large(&stream, i);
                send_and_read(f, fds[i], &stream);
        }
        wait_for_tickets(f, N_ELEMENTS(fds));
        answer_all(f);
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                assert_int_equal(receive(f, fds[i], &reply, 1), 1);
                assert_int_equal(reply.sequence, i);
                assert_int_equal(reply.status, STATUS_OK);
                close(fds[i]);
        }
}

static void a_large_frame_that_is_no_request_closes_the_connection(void **state) {
        Fixture *f = *state;
        scoped(closep) int bad = join(f), good = join(f);
        Buffer stream = {}, garbage = {};
        Reply reply;

        for (unsigned i = 0; i <= DECODER_BYTES_MIN; i++)
                buffer_putc(&garbage, '\x07');
        put_frame(&stream, &garbage);
        send_and_read(f, bad, &stream);
        put_large(&stream, 7);
        send_and_read(f, good, &stream);
        wait_for_tickets(f, 1);
        assert_int_equal(receive(f, bad, &reply, 1), 1);
        assert_true(says(&reply, "not a perfd frame"));
        assert_closed(f, bad);
        answer_all(f);
        assert_int_equal(receive(f, good, &reply, 1), 1);
        assert_int_equal(reply.sequence, 7);
}

static void a_client_that_leaves_does_not_keep_the_decoder(void **state) {
        Fixture *f = *state;
        scoped(closep) int good = join(f);
        Buffer stream = {};
        Reply reply;
        int bad = join(f);

        put_large(&stream, 1);
        send_and_read(f, bad, &stream);
        take(f);
        close(bad);
        put_large(&stream, 2);
        send_and_read(f, good, &stream);
        wait_for_tickets(f, 2); /* what was sent before the end counts */
        answer_all(f);
        assert_int_equal(receive(f, good, &reply, 1), 1);
        assert_int_equal(reply.sequence, 2);
        turn(f);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 1);
}

/* Sends a large frame and further requests on a connection, takes the large one, and keeps it. */
static Ticket keep_large(Fixture *f, int fd, unsigned n_further, Request *ret) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        Buffer stream = {};
        Ticket ticket;

        put_large(&stream, 1);
        for (unsigned i = 0; i < n_further; i++)
                put_submit(&stream, 2 + i);
        send_and_read(f, fd, &stream);
        while (ingest_next(f->ingest, ret, &ticket) != 0) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, 10000) >= 0);
        }
        assert_true(ingest_keep(f->ingest, ticket));
        return ticket;
}

/* A connection of another user; only root can make one. */
static int join_as_other(Fixture *f) {
        int fd;

        if (geteuid() != 0)
                skip(); /* needs root, to act as several users */
        assert_int_equal(chmod(f->directory, 0755), 0);
        assert_int_equal(chmod(f->address.sun_path, 0666), 0);
        assert_int_equal(seteuid(65534), 0);
        fd = join(f);
        assert_int_equal(seteuid(0), 0);
        return fd;
}

static size_t document_bytes(const Request *request) {
        assert_int_equal(request->submit.n_items, 1);
        return request->submit.items[0].document_text.n;
}

static void others_are_served_while_a_request_is_kept(void **state) {
        Fixture *f = *state;
        scoped(closep) int other = join_as_other(f), other_large = join_as_other(f), large = join(f);
        Buffer stream = {};
        Request kept, request;
        Reply replies[3];
        Ticket ticket;
        size_t n_bytes;
        char end[1000];

        ticket = keep_large(f, large, 2, &kept);
        n_bytes = document_bytes(&kept);
        memcpy(end, kept.submit.items[0].document_text.text + n_bytes - sizeof(end), sizeof(end));
        put_large(&stream, 1);
        send_and_read(f, other_large, &stream);
        put_submit(&stream, 1);
        put_submit(&stream, 2);
        send_and_read(f, other, &stream);
        wait_without_events(f, 2);
        /* order of a connection; one decoder */
        assert_int_equal(ingest_next(f->ingest, &request, &f->tickets[2]), INGEST_IDLE);
        assert_false(ingest_has_requests(f->ingest));
        answer_all(f);
        assert_int_equal(receive(f, other, replies, 2), 2);

        assert_int_equal(document_bytes(&kept), n_bytes);
        assert_memory_equal(kept.submit.items[0].document_text.text + n_bytes - sizeof(end), end, sizeof(end));
        ingest_answer(f->ingest, ticket, &(Answer){ .status = STATUS_OK });
        ingest_release(f->ingest);
        wait_for_tickets(f, 3);
        answer_all(f);
        assert_int_equal(receive(f, large, replies, 3), 3);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(replies[i].sequence, i + 1);
        assert_int_equal(receive(f, other_large, replies, 1), 1);
        assert_true(ingest_is_idle(f->ingest));
}

/* Appends a small request whose document has this text. */
static void put_small(Buffer *stream, uint64_t sequence, const char *text) {
        Buffer document, request, result = {};

        put_member_string(&result, "text", text);
        document = make_document(&result);
        request = make_submit(sequence, &document);
        put_frame(stream, &request);
        buffer_deinit(&result);
}

/* The user's other connections wait, whose requests may cause as much work. */
static void a_small_request_is_kept_as_well(void **state) {
        Fixture *f = *state;
        scoped(closep) int other = join_as_other(f), first = join(f), second = join(f);
        Request kept, request;
        Buffer stream = {};
        char *document;
        Ticket ticket;
        Reply reply;

        put_small(&stream, 1, "that is kept");
        send_and_read(f, first, &stream);
        assert_int_equal(ingest_next(f->ingest, &kept, &ticket), 0);
        assert_true(ingest_keep(f->ingest, ticket));
        assert_in_range(document_bytes(&kept), 1, DECODER_BYTES_MIN);
        document = strndup(kept.submit.items[0].document_text.text, document_bytes(&kept));

        put_submit(&stream, 2);
        send_and_read(f, second, &stream);
        assert_int_equal(ingest_next(f->ingest, &request, &f->tickets[0]), INGEST_IDLE);
        put_small(&stream, 3, "of the other");
        send_and_read(f, other, &stream);
        wait_without_events(f, 1);
        answer_all(f);
        assert_int_equal(receive(f, other, &reply, 1), 1);
        assert_int_equal(reply.sequence, 3);

        assert_memory_equal(kept.submit.items[0].document_text.text, document, document_bytes(&kept));
        free(document);
        ingest_answer(f->ingest, ticket, &(Answer){ .status = STATUS_OK });
        ingest_release(f->ingest);
        wait_for_tickets(f, 1);
        answer_all(f);
        assert_int_equal(receive(f, second, &reply, 1), 1);
        assert_int_equal(reply.sequence, 2);
        assert_int_equal(receive(f, first, &reply, 1), 1);
        assert_int_equal(reply.sequence, 1);
}

/* The parent may have a large request, which was not kept, at the end of a small one that was. */
static void the_end_of_a_kept_request_releases_no_other(void **state) {
        Fixture *f = *state;
        scoped(closep) int other = join_as_other(f), small = join(f);
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        Request kept, large;
        Ticket tickets[2];
        Buffer stream = {};
        Reply reply;

        put_submit(&stream, 1);
        send_and_read(f, small, &stream);
        assert_int_equal(ingest_next(f->ingest, &kept, &tickets[0]), 0);
        assert_true(ingest_keep(f->ingest, tickets[0]));
        put_large(&stream, 2);
        send_and_read(f, other, &stream);
        while (ingest_next(f->ingest, &large, &tickets[1]) != 0) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, 10000) >= 0);
        }
        assert_false(ingest_keep(f->ingest, tickets[1]));
        ingest_answer(f->ingest, tickets[0], &(Answer){ .status = STATUS_OK });
        ingest_release(f->ingest);

        assert_true(document_bytes(&large) > DECODER_BYTES_MIN);
        assert_memory_equal(large.submit.items[0].document_text.text, "{", 1);
        ingest_answer(f->ingest, tickets[1], &(Answer){ .status = STATUS_OK });
        ingest_flush(f->ingest);
        assert_int_equal(receive(f, other, &reply, 1), 1);
        assert_int_equal(reply.sequence, 2);
        assert_int_equal(receive(f, small, &reply, 1), 1);
}

static void a_request_is_kept_beyond_its_connection(void **state) {
        Fixture *f = *state;
        scoped(closep) int other = join(f);
        int large = join(f);
        Buffer stream = {};
        Request kept;
        Ticket ticket;
        Reply reply;

        ticket = keep_large(f, large, 0, &kept);
        ingest_answer(f->ingest, ticket, &(Answer){ .status = STATUS_OK });
        close(large);
        turn(f);
        put_large(&stream, 5);
        send_and_read(f, other, &stream);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 1);
        assert_true(document_bytes(&kept) > DECODER_BYTES_MIN);
        assert_false(ingest_keep(f->ingest, ticket)); /* one at a time */
        ingest_release(f->ingest);
        wait_for_tickets(f, 1);
        answer_all(f);
        assert_int_equal(receive(f, other, &reply, 1), 1);
        assert_int_equal(reply.sequence, 5);
}

/* tear_down() frees an ingest whose decoder is at work, or has a request that nobody took. */
static void the_end_does_not_wait_for_requests(void **state) {
        Fixture *f = *state;
        Buffer stream = {};
        int fd = join(f);

        put_large(&stream, 1);
        send_and_read(f, fd, &stream);
        take(f);
        ingest_drain(f->ingest);
        assert_true(ingest_is_idle(f->ingest));
        close(fd);
}

static void the_outcome_is_that_of_the_codec(void **state) {
        static const uint8_t garbage[] = { 7, 7, 7 };
        const Peer peer = { .pidfd = -1, .uid = 5 };
        const Decoded *decoded;
        Buffer stream = {};
        Decoder decoder;
        struct pollfd done;
        eventfd_t n;
        Frame frame;

        (void)state;
        assert_int_equal(decoder_init(&decoder), 0);
        done = (struct pollfd){ .fd = decoder.done_fd, .events = POLLIN };
        put_large(&stream, 9);
        assert_int_equal(frame_read((uint8_t *)stream.text, stream.n, FRAME_BYTES, &frame, NULL), 0);
        for (unsigned i = 0; i < 3; i++) {
                const Frame bad = { .data = garbage, .n = sizeof(garbage), .n_consumed = sizeof(garbage) + 1 };

                assert_true(decoder_is_free(&decoder));
                assert_int_equal(decoder_put(&decoder, i == 1 ? &bad : &frame, &peer, DOCUMENT_LIMITS_DEFAULT), 0);
                assert_false(decoder_is_free(&decoder));
                assert_int_equal(poll(&done, 1, 20000), 1);
                assert_int_equal(eventfd_read(decoder.done_fd, &n), 0);
                assert_int_equal(decoder_take(&decoder, &decoded), i == 1 ? CODEC_GARBAGE : 0);
                if (i != 1) {
                        assert_int_equal(decoded->sequence, 9);
                        assert_int_equal(decoded->request.peer.uid, 5);
                        assert_int_equal(decoded->request.submit.n_items, 1);
                }
                decoder_release(&decoder);
        }
        buffer_deinit(&stream);
        decoder_deinit(&decoder);
}

#define TEST_LARGE(name) cmocka_unit_test_setup_teardown(name, set_up_large, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST_LARGE(others_are_served_while_a_frame_is_decoded),
                TEST_LARGE(large_frames_wait_for_each_other),
                TEST_LARGE(a_large_frame_that_is_no_request_closes_the_connection),
                TEST_LARGE(a_client_that_leaves_does_not_keep_the_decoder),
                TEST_LARGE(others_are_served_while_a_request_is_kept),
                TEST_LARGE(a_small_request_is_kept_as_well),
                TEST_LARGE(the_end_of_a_kept_request_releases_no_other),
                TEST_LARGE(a_request_is_kept_beyond_its_connection),
                TEST_LARGE(the_end_does_not_wait_for_requests),
                cmocka_unit_test(the_outcome_is_that_of_the_codec),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
