/* SPDX-License-Identifier: Apache-2.0 */
#include "room_fixture.h"

static Ticket ticket_of(unsigned connection, unsigned generation) {
        return (Ticket){ .connection = connection, .generation = generation, .number = 1 };
}

static Peer peer_in(const Fixture *f, int32_t pid, uint32_t uid) {
        return (Peer){ .uid = uid, .pid = pid, .pidfd = f->pidfd };
}

static void a_peer_is_in_the_job_of_its_cgroup(void **state) {
        Fixture *f = *state;
        Peer inside = peer_in(f, PID_IN_42, 1000), outside = peer_in(f, PID_IN_RUN, 1000),
             unknown = peer_in(f, 0, 1000);
        Identity *identity = &f->jobs.identity;
        Job *job;

        assert_null(identity_find_job(identity, &inside, ticket_of(9, 1))); /* no job has a cgroup */
        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_ptr_equal(identity_find_job(identity, &inside, ticket_of(20, 1)), job);
        assert_null(identity_find_job(identity, &outside, ticket_of(2, 1)));
        assert_null(identity_find_job(identity, &unknown, ticket_of(3, 1)));
        /* The number is reused for another connection. */
        assert_null(identity_find_job(identity, &outside, ticket_of(20, 2)));
}

static void a_disconnected_peer_has_no_cgroup(void **state) {
        Fixture *f = *state;
        int fd;
        pid_t pid = fork_waiting(&fd);
        Peer peer = peer_in(f, PID_IN_42, 1000);

        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        peer.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        close(fd);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_null(identity_find_job(&f->jobs.identity, &peer, ticket_of(1, 1)));
        close(peer.pidfd);
        peer.pidfd = -1;
        assert_null(identity_find_job(&f->jobs.identity, &peer, ticket_of(2, 1)));
}

static void others_in_a_cgroup_that_a_user_named_are_not_in_the_job(void **state) {
        Fixture *f = *state;
        Peer other = peer_in(f, PID_IN_42, 1001), root = peer_in(f, PID_IN_42, 0);
        Job *job;

        assert_int_equal(begin_in_42(f, "a"), STATUS_OK);
        job = jobs_find(&f->jobs.jobs, "a");
        assert_null(identity_find_job(&f->jobs.identity, &other, ticket_of(1, 1)));
        assert_null(identity_find_job(&f->jobs.identity, &root, ticket_of(2, 1)));
        assert_false(identity_may_act(&f->jobs.identity, &other, ticket_of(1, 1), job));
        job->group.is_vouched = true;
        assert_true(identity_may_act(&f->jobs.identity, &other, ticket_of(1, 1), job));
}

static void a_hidden_job_is_refused_as_a_missing_one(void **state) {
        Fixture *f = *state;
        Answer foreign = {}, hidden = {}, missing = {};

        (void)identity_refuse(&f->jobs.identity, "mark.job", &foreign);
        f->jobs.identity.hides_others = true;
        (void)identity_refuse(&f->jobs.identity, "mark.job", &hidden);
        (void)identity_refuse_missing("mark.job", &missing);
        assert_int_equal(foreign.status, STATUS_DENIED);
        assert_int_equal(hidden.status, STATUS_NOT_FOUND);
        assert_memory_equal(&hidden, &missing, sizeof(hidden));
}

static void the_job_named_is_the_job_unless_it_is_inherited(void **state) {
        Fixture *f = *state;
        Identity *identity = &f->jobs.identity;
        Peer inside = peer_in(f, PID_IN_42, 1000), outside = peer_in(f, PID_IN_RUN, 1000);
        Job *own, *named;
        bool is_other;

        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        assert_int_equal(begin_job(f, "named"), STATUS_OK);
        own = jobs_find(&f->jobs.jobs, "own");
        named = jobs_find(&f->jobs.jobs, "named");

        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "named", false, &is_other), named);
        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "", false, &is_other), own);
        assert_null(identity_choose_job(identity, &outside, ticket_of(2, 1), "gone", true, &is_other));
        assert_false(is_other);

        /* A job begun by a script inside the cgroup takes precedence over the cgroup's job. */
        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "named", true, &is_other), named);
        assert_false(is_other);
        /* The job's process is in another cgroup. */
        named->info.pid = PID_IN_RUN;
        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "named", true, &is_other), own);
        assert_true(is_other);
        /* The job's process is in the cgroup. */
        named->info.pid = PID_IN_42;
        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "named", true, &is_other), named);
        assert_false(is_other);
        assert_ptr_equal(identity_choose_job(identity, &outside, ticket_of(2, 1), "named", true, &is_other), named);
}

static void a_different_choice_is_explained(void **state) {
        Fixture *f = *state;
        Identity *identity = &f->jobs.identity;
        Peer inside = peer_in(f, PID_IN_42, 1000), stranger = peer_in(f, PID_IN_RUN, 1001);
        char text[COMPLAINT_TEXT_MAX];
        bool is_other;

        assert_int_equal(begin_in_42(f, "own"), STATUS_OK);
        assert_ptr_equal(identity_choose_job(identity, &inside, ticket_of(1, 1), "gone", true, &is_other),
                         jobs_find(&f->jobs.jobs, "own"));
        assert_true(is_other);
        identity_explain_other(identity, ticket_of(1, 1), text);
        assert_non_null(strstr(text, "recorded for 'own'"));

        assert_null(identity_choose_job(identity, &stranger, ticket_of(2, 1), "own", true, &is_other));
        assert_true(is_other);
        identity_explain_other(identity, ticket_of(2, 1), text);
        assert_non_null(strstr(text, "recorded without a job"));
        identity_explain_other(identity, ticket_of(1, 2), text);
        assert_non_null(strstr(text, "recorded without a job"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_peer_is_in_the_job_of_its_cgroup),
                ROOM_TEST(a_disconnected_peer_has_no_cgroup),
                ROOM_TEST(others_in_a_cgroup_that_a_user_named_are_not_in_the_job),
                ROOM_TEST(a_hidden_job_is_refused_as_a_missing_one),
                ROOM_TEST(the_job_named_is_the_job_unless_it_is_inherited),
                ROOM_TEST(a_different_choice_is_explained),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
