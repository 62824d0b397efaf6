/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/ingest.c daemon/ingest/listener.c */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "ingest/ingest.h"
#include "ingest_fixture.h"

/* Sends a frame and returns its request. */
static Request take_one(Fixture *f, int fd) {
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        Buffer stream = {};
        Request request;
        Ticket ticket;

        put_submit(&stream, 1);
        assert_int_equal(send(fd, stream.text, stream.n, MSG_NOSIGNAL), stream.n);
        buffer_deinit(&stream);
        while (ingest_next(f->ingest, &request, &ticket) != 0) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, NS_PER_S / NS_PER_US) >= 0);
        }
        f->tickets[f->n_tickets++] = ticket;
        return request;
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

static void a_request_has_the_pidfd_of_its_sender_while_connected(void **state) {
        Fixture *f = *state;
        int fd = join(f);
        Request request = take_one(f, fd);

        assert_int_equal(request.peer.uid, geteuid());
        assert_int_equal(request.peer.pid, getpid());
        assert_int_equal(request.peer.is_admin, geteuid() == 0);
        assert_true(is_open(request.peer.pidfd));

        answer_all(f);
        turn(f);
        assert_true(is_open(request.peer.pidfd));
        close(fd);
        turn(f);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 0);
        assert_false(is_open(request.peer.pidfd));
}

/* The parent holds the request while the store has no space. */
static void a_held_request_keeps_its_pidfd_after_a_disconnect(void **state) {
        Fixture *f = *state;
        scoped(closep) int other = -1;
        int fd = join(f);
        Request request = take_one(f, fd), next;
        Ticket ticket;

        ingest_answer(f->ingest, f->tickets[0], &(Answer){});
        close(fd);
        ingest_flush(f->ingest);
        while (ingest_stats(f->ingest)->n_connections > 0)
                assert_true(sd_event_run(f->event, DEADLINE_NS / NS_PER_US) > 0);
        assert_true(is_open(request.peer.pidfd));

        assert_int_equal(ingest_next(f->ingest, &next, &ticket), INGEST_IDLE);
        assert_false(is_open(request.peer.pidfd));

        other = join(f);
        assert_true(is_open(take_one(f, other).peer.pidfd));
}

static void a_connection_works_without_a_pidfd_when_descriptors_run_out(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        int lowest = dup(fd);
        struct rlimit limit, tight;
        Request request;
        Reply reply;

        assert_true(lowest >= 0);
        close(lowest);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        tight = (struct rlimit){ .rlim_cur = (rlim_t)lowest + 1, .rlim_max = limit.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
        request = take_one(f, fd);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

        assert_int_equal(request.peer.pidfd, -1);
        assert_int_equal(request.peer.pid, getpid());
        answer_all(f);
        assert_int_equal(receive(f, fd, &reply, 1), 1);
        assert_int_equal(reply.status, STATUS_OK);
}

static void a_peer_that_is_refused_leaves_no_descriptor_behind(void **state) {
        Fixture *f = *state;
        scoped(closep) int in = join(f);
        int before, after;

        f->shares_config.limits[RESOURCE_CONNECTIONS] = 1;
        shares_configure(f->shares, &f->shares_config);
        turn(f);
        before = dup(in);
        assert_true(before >= 0);
        close(before);

        for (unsigned i = 0; i < 3; i++) {
                scoped(closep) int fd = join(f);
                Reply reply;

                assert_int_equal(receive(f, fd, &reply, 1), 1);
                assert_int_equal(reply.status, STATUS_QUOTA);
        }
        after = dup(in);
        close(after);
        assert_int_equal(after, before);
}

/* A user who connects again and again keeps the queue of new connections full. */
static void a_request_is_taken_before_a_queue_of_new_connections_is_empty(void **state) {
        enum { N_QUEUED = 120 }; /* more than are accepted in two turns */
        Fixture *f = *state;
        scoped(closep) int fd = join(f);
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        Buffer stream = {};
        int queued[N_QUEUED];
        Request request;
        Ticket ticket;

        f->shares_config.limits[RESOURCE_CONNECTIONS] = 1000;
        shares_configure(f->shares, &f->shares_config);
        turn(f);
        for (size_t i = 0; i < N_QUEUED; i++)
                queued[i] = join(f);
        /* The loop begins to take the queue before the request is there. */
        assert_true(sd_event_run(f->event, 0) > 0);
        assert_true(ingest_stats(f->ingest)->n_connections > 1);

        put_submit(&stream, 1);
        send_stream(f, fd, &stream);
        while (ingest_next(f->ingest, &request, &ticket) != 0) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, DEADLINE_NS / NS_PER_US) > 0);
        }
        assert_in_range(ingest_stats(f->ingest)->n_connections, 2, N_QUEUED);

        turn(f);
        assert_int_equal(ingest_stats(f->ingest)->n_connections, 1 + N_QUEUED);
        for (size_t i = 0; i < N_QUEUED; i++)
                close(queued[i]);
}

static bool is_closed(int fd) {
        char bytes[1024];
        ssize_t n;

        while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
                ;
        return n == 0 || errno != EAGAIN;
}

/* To close a connection whose peer has sent much takes longer than to refuse it. */
static void refused_peers_are_closed_when_nobody_waits(void **state) {
        enum { N_REFUSED = INGEST_REFUSED_MAX + 40 };
        Fixture *f = *state;
        scoped(closep) int in = join(f);
        uint64_t deadline_ns = clock_boottime_ns() + DEADLINE_NS;
        int refused[N_REFUSED];
        size_t n_closed = 0;

        f->shares_config.limits[RESOURCE_CONNECTIONS] = 1;
        shares_configure(f->shares, &f->shares_config);
        turn(f);
        for (size_t i = 0; i < N_REFUSED; i++)
                refused[i] = join(f);
        while (ingest_stats(f->ingest)->n_connections_refused < N_REFUSED) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(sd_event_run(f->event, 0) > 0);
        }
        for (size_t i = 0; i < N_REFUSED; i++)
                n_closed += is_closed(refused[i]);
        assert_int_equal(n_closed, N_REFUSED - INGEST_REFUSED_MAX);

        (void)take_one(f, in);
        turn(f);
        for (size_t i = 0; i < N_REFUSED; i++) {
                assert_true(is_closed(refused[i]));
                close(refused[i]);
        }
}

/* Membership follows the configuration, also for existing connections. */
static void members_of_the_group_are_administrators_as_long_as_it_is_configured(void **state) {
        Fixture *f = *state;
        scoped(closep) int fd = -1;

        assert_int_equal(chmod(f->directory, 0755), 0);
        assert_int_equal(chmod(f->address.sun_path, 0666), 0);
        if (geteuid() == 0)
                assert_int_equal(seteuid(65534), 0);
        fd = join(f); /* the kernel records the credentials at connect() */
        if (getuid() == 0)
                assert_int_equal(seteuid(0), 0);

        assert_false(take_one(f, fd).peer.is_admin);
        f->config.admin_gid = getegid();
        ingest_configure(f->ingest, &f->config);
        assert_true(take_one(f, fd).peer.is_admin);
        f->config.admin_gid = 4711;
        ingest_configure(f->ingest, &f->config);
        assert_false(take_one(f, fd).peer.is_admin);
        f->config.admin_gid = getegid();
        f->config.admin_gid = INGEST_NO_ADMIN_GID;
        ingest_configure(f->ingest, &f->config);
        assert_false(take_one(f, fd).peer.is_admin);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_request_has_the_pidfd_of_its_sender_while_connected),
                TEST(a_held_request_keeps_its_pidfd_after_a_disconnect),
                TEST(a_connection_works_without_a_pidfd_when_descriptors_run_out),
                TEST(a_peer_that_is_refused_leaves_no_descriptor_behind),
                TEST(a_request_is_taken_before_a_queue_of_new_connections_is_empty),
                TEST(refused_peers_are_closed_when_nobody_waits),
                TEST(members_of_the_group_are_administrators_as_long_as_it_is_configured),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
