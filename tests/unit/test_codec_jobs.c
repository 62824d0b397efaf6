/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "codec_fixture.h"
#include "util/utf8.h"

static void a_job_begin_carries_its_members_and_the_sender(void **state) {
        Fixture *f = *state;
        Buffer body = {}, label = {}, request;
        const JobInfo *info;

        put_text(&body, 1, "slurm:17.0");
        put_text(&body, 2, "Übung");
        put_text(&body, 3, "python3 train.py");
        put_text(&body, 4, "mara");
        put_number(&body, 5, 0);
        put_text(&label, 1, "project");
        put_text(&label, 2, "big one");
        put_message(&body, 6, &label);
        put_number(&body, 7, 4711);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.kind, REQUEST_JOB_BEGIN);

        info = f->decoded.request.job_begin.info;
        assert_string_equal(info->id, "slurm:17.0");
        assert_string_equal(info->name, "Übung");
        assert_string_equal(info->command, "python3 train.py");
        assert_string_equal(info->user, ""); /* a claim */
        assert_int_equal(info->rank, 0);
        assert_int_equal(info->pid, 4711);
        assert_int_equal(info->uid, 1000);
        assert_int_equal(info->gid, 100);
        assert_int_equal(info->n_labels, 1);
        assert_string_equal(info->labels[0].key, "project");
        assert_string_equal(info->labels[0].value, "big one");
}

static void a_rank_that_was_not_given_is_not_rank_zero(void **state) {
        Fixture *f = *state;
        Buffer body = {}, request;

        put_text(&body, 1, "j");
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.job_begin.info->rank, -1);
        assert_int_equal(f->decoded.request.job_begin.info->n_labels, 0);
}

static void a_long_command_is_cut_between_characters(void **state) {
        Fixture *f = *state;
        Buffer body = {}, command = {}, request;
        const char *cut;

        buffer_putc(&command, 'x'); /* places the two-byte characters at odd offsets */
        for (unsigned i = 0; i < JOB_COMMAND_MAX; i++)
                buffer_puts(&command, "ä");
        put_text(&body, 1, "j");
        put_message(&body, 3, &command);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_int_equal(decode(f, &request), 0);

        cut = f->decoded.request.job_begin.info->command;
        assert_in_range(strlen(cut), JOB_COMMAND_MAX - 5, JOB_COMMAND_MAX - 1);
        assert_true(utf8_is_valid(cut, strlen(cut)));
        assert_string_equal(cut + strlen(cut) - strlen("ä…"), "ä…");
}

static void a_command_that_just_fits_is_not_cut(void **state) {
        Fixture *f = *state;
        Buffer body = {}, request;
        char command[JOB_COMMAND_MAX];

        memset(command, 'c', sizeof(command) - 1);
        command[sizeof(command) - 1] = '\0';
        put_text(&body, 1, "j");
        put_text(&body, 3, command);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_string_equal(f->decoded.request.job_begin.info->command, command);
}

static void a_job_end_distinguishes_status_zero_from_none(void **state) {
        Fixture *f = *state;
        Buffer body = {}, rusage = {}, request;

        put_text(&body, 1, "j");
        put_number(&body, 2, 0);
        put_double(&rusage, 1, 1.5);
        put_number(&rusage, 3, 2048);
        put_message(&body, 4, &rusage);
        request = make_request(FIELD_JOB_END, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_true(f->decoded.request.job_end.end.has_exit_status);
        assert_true(f->decoded.request.job_end.end.has_rusage);
        assert_true(f->decoded.request.job_end.end.rusage.ru_utime == 1.5);
        assert_int_equal(f->decoded.request.job_end.end.rusage.ru_maxrss, 2048);

        put_text(&body, 1, "j");
        put_number(&body, 3, 9);
        request = make_request(FIELD_JOB_END, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_false(f->decoded.request.job_end.end.has_exit_status);
        assert_false(f->decoded.request.job_end.end.has_rusage);
        assert_int_equal(f->decoded.request.job_end.end.signal, 9);
}

static void assert_job_refused(Fixture *f, Buffer *body, const char *path, const char *words) {
        Buffer request;

        put_text(body, 1, "job");
        request = make_request(FIELD_JOB_BEGIN, body);
        assert_refused(f, &request, STATUS_INVALID, path, words);
}

static void members_of_a_job_have_limits(void **state) {
        Buffer body = {}, request;
        char text[JOB_TEXT_MAX + 1];

        memset(text, 'n', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';

        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "empty");
        put_text(&body, 1, "a/b");
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "letters");
        put_text(&body, 1, "last");
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "newest job");
        put_text(&body, 1, text);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "128");

        put_text(&body, 2, text);
        assert_job_refused(*state, &body, "job_begin.name", "too long");
        put_text(&body, 2, "two\nlines");
        assert_job_refused(*state, &body, "job_begin.name", "control");
        put_text(&body, 2, "\xc2\x9b" "31m"); /* U+009B, equivalent to ESC [ */
        assert_job_refused(*state, &body, "job_begin.name", "control");
        put_text(&body, 2, "\xff");
        assert_job_refused(*state, &body, "job_begin.name", "UTF-8");
        put_text(&body, 3, "\xc3");
        assert_job_refused(*state, &body, "job_begin.command", "UTF-8");
        put_number(&body, 5, UINT64_MAX);
        assert_job_refused(*state, &body, "job_begin.rank", "negative");
        put_number(&body, 7, UINT64_MAX);
        assert_job_refused(*state, &body, "job_begin.pid", "negative");
}

static void put_label(Buffer *body, const char *key, const char *value) {
        Buffer label = {};

        put_text(&label, 1, key);
        put_text(&label, 2, value);
        put_message(body, 6, &label);
}

static void labels_have_limits(void **state) {
        Buffer body = {};
        char key[32];

        put_label(&body, "a", "1");
        put_label(&body, "b", "2");
        put_label(&body, "a", "3");
        assert_job_refused(*state, &body, "job_begin.labels[2].key", "twice");

        put_label(&body, "a", "1");
        put_label(&body, "", "1");
        assert_job_refused(*state, &body, "job_begin.labels[1].key", "64");

        put_label(&body, "a", "tab\there");
        assert_job_refused(*state, &body, "job_begin.labels[0].value", "control");

        for (unsigned i = 0; i < JOB_LABELS_MAX + 1; i++) {
                snprintf(key, sizeof(key), "k%u", i);
                put_label(&body, key, "");
        }
        assert_job_refused(*state, &body, "job_begin.labels", "65 labels");
}

static void gpus_have_limits(void **state) {
        Buffer body = {};

        put_text(&body, 18, "0");
        put_text(&body, 18, "");
        assert_job_refused(*state, &body, "job_begin.gpus", "element 1: a GPU is 1 to 63 characters");
        put_text(&body, 18, "0,1");
        assert_job_refused(*state, &body, "job_begin.gpus", "element 0");
        put_text(&body, 18, "GPU-0123456789012345678901234567890123456789012345678901234567890");
        assert_job_refused(*state, &body, "job_begin.gpus", "element 0");
        for (unsigned i = 0; i < JOB_GPUS_MAX + 1; i++)
                put_text(&body, 18, "0");
        assert_job_refused(*state, &body, "job_begin.gpus", "65 GPUs");
}

static void members_of_a_job_end_have_limits(void **state) {
        Buffer body = {}, rusage = {}, request;

        put_text(&body, 1, "j");
        put_number(&body, 2, 256);
        request = make_request(FIELD_JOB_END, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_end.exit_status", "255");

        put_text(&body, 1, "j");
        put_number(&body, 3, 1000);
        request = make_request(FIELD_JOB_END, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_end.signal", "1000");

        put_text(&body, 1, "j");
        put_double(&rusage, 2, NAN);
        put_message(&body, 4, &rusage);
        request = make_request(FIELD_JOB_END, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_end.rusage.stime", "seconds");

        put_text(&body, 1, "j");
        put_number(&rusage, 16, UINT64_MAX);
        put_message(&body, 4, &rusage);
        request = make_request(FIELD_JOB_END, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_end.rusage.nivcsw", "negative");

        put_text(&body, 1, "");
        request = make_request(FIELD_JOB_END, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_end.job", "empty");
}

/* --- place, processes, owner ----------------------------------------------------------------------- */

static const JobInfo *begin_from(Fixture *f, Buffer *body, const Peer *sender) {
        Buffer request;

        put_text(body, 1, "job");
        request = make_request(FIELD_JOB_BEGIN, body);
        assert_int_equal(decode_from(f, &request, sender), 0);
        assert_int_equal(f->decoded.request.kind, REQUEST_JOB_BEGIN);
        return f->decoded.request.job_begin.info;
}

static void a_job_begin_carries_its_place_in_the_run_and_its_cgroup_member(void **state) {
        Fixture *f = *state;
        const JobInfo *info;
        Buffer body = {};

        put_number(&body, 5, 6);  /* rank */
        put_number(&body, 9, 77); /* member_pid */
        put_number(&body, 10, 1); /* fresh */
        put_number(&body, 11, ISOLATION_SCOPE);
        put_number(&body, 12, 0); /* node */
        put_number(&body, 13, 2); /* nodes */
        put_number(&body, 14, 8); /* ranks */
        info = begin_from(f, &body, &peer);
        assert_int_equal(info->rank, 6);
        assert_int_equal(info->node, 0); /* 0 is distinct from none */
        assert_int_equal(info->n_nodes, 2);
        assert_int_equal(info->n_ranks, 8);
        assert_int_equal(info->isolation, ISOLATION_SCOPE);
        assert_null(info->cgroup);
        assert_int_equal(f->decoded.request.job_begin.member_pid, 77);
        assert_true(f->decoded.request.job_begin.is_fresh);
}

static void an_unset_place_is_none(void **state) {
        Fixture *f = *state;
        const JobInfo *info;
        Buffer body = {};

        info = begin_from(f, &body, &peer);
        assert_int_equal(info->node, -1);
        assert_int_equal(info->n_nodes, 0);
        assert_int_equal(info->n_ranks, 0);
        assert_int_equal(info->isolation, ISOLATION_NONE);
        assert_int_equal(f->decoded.request.job_begin.member_pid, 0);
        assert_false(f->decoded.request.job_begin.is_fresh);

        put_number(&body, 12, 3); /* a node, without the number of nodes */
        assert_int_equal(begin_from(f, &body, &peer)->node, 3);
}

static void a_place_outside_the_run_is_refused(void **state) {
        Buffer body = {};

        put_number(&body, 5, 8);
        put_number(&body, 14, 8);
        assert_job_refused(*state, &body, "job_begin.rank", "8 of 8 ranks, which count from 0: give 0 to 7");
        put_number(&body, 12, 2);
        put_number(&body, 13, 2);
        assert_job_refused(*state, &body, "job_begin.node", "2 of 2 nodes, which count from 0: give 0 to 1");
        put_number(&body, 12, 1U << 31);
        assert_job_refused(*state, &body, "job_begin.node", "2147483647");
        put_number(&body, 9, UINT64_MAX);
        assert_job_refused(*state, &body, "job_begin.member_pid", "negative");
}

static void a_client_cannot_set_cgroup_facts_determined_by_perfd(void **state) {
        static const uint64_t unknown[] = { ISOLATION_FOUND, 99, UINT64_MAX };
        Fixture *f = *state;
        Buffer body = {};

        for (size_t i = 0; i < N_ELEMENTS(unknown); i++) {
                put_number(&body, 9, 77);
                put_number(&body, 11, unknown[i]);
                assert_int_equal(begin_from(f, &body, &peer)->isolation, ISOLATION_NONE);
        }

        /* Without a process, there is no cgroup to find; a process tree needs none. */
        put_number(&body, 11, ISOLATION_CGROUP);
        put_number(&body, 10, 1);
        assert_int_equal(begin_from(f, &body, &peer)->isolation, ISOLATION_NONE);
        assert_false(f->decoded.request.job_begin.is_fresh);
        put_number(&body, 11, ISOLATION_SUBREAPER);
        assert_int_equal(begin_from(f, &body, &peer)->isolation, ISOLATION_SUBREAPER);
}

static void only_an_administrator_begins_jobs_for_others(void **state) {
        static const Peer admin = { .uid = 1000, .gid = 100, .pid = 42, .is_admin = true };
        Fixture *f = *state;
        Buffer body = {}, request;

        put_number(&body, 8, 1000);
        assert_int_equal(begin_from(f, &body, &peer)->uid, 1000);
        put_number(&body, 8, 0);
        assert_int_equal(begin_from(f, &body, &admin)->uid, 0);
        assert_int_equal(f->decoded.request.job_begin.info->gid, 100);

        put_text(&body, 1, "job");
        put_number(&body, 8, 0);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(f, &request, STATUS_DENIED, "job_begin.uid", "is 0, and yours is 1000");
        put_number(&body, 8, UINT32_MAX);
        assert_job_refused(f, &body, "job_begin.uid", "not a valid user id");
}

/* --- marks ----------------------------------------------------------------------------------------- */

static void a_mark_names_the_phase_that_begins(void **state) {
        Fixture *f = *state;
        Buffer body = {}, request;

        put_text(&body, 1, "slurm:17.0");
        put_text(&body, 2, "Übung 1");
        put_double(&body, 3, 0);
        request = make_request(FIELD_MARK, &body);
        assert_int_equal(decode(f, &request), 0);
        assert_int_equal(f->decoded.request.kind, REQUEST_MARK);
        assert_string_equal(f->decoded.request.mark.job, "slurm:17.0");
        assert_string_equal(f->decoded.request.mark.name, "Übung 1");
        assert_true(f->decoded.request.mark.has_wall_seconds);
        assert_true(f->decoded.request.mark.wall_seconds == 0);
}

static void a_mark_may_have_no_name(void **state) {
        Fixture *f = *state;
        Buffer body = {}, request = make_request(FIELD_MARK, &body);

        assert_int_equal(decode(f, &request), 0);
        assert_string_equal(f->decoded.request.mark.job, "");
        assert_string_equal(f->decoded.request.mark.name, "");
        assert_false(f->decoded.request.mark.has_wall_seconds);
}

static void assert_mark_refused(Fixture *f, Buffer *body, const char *path, const char *words) {
        Buffer request = make_request(FIELD_MARK, body);

        assert_refused(f, &request, STATUS_INVALID, path, words);
}

static void a_mark_has_limits(void **state) {
        static const double seconds[] = { -1, NAN, INFINITY, -INFINITY };
        char name[PHASE_NAME_MAX + 1];
        Buffer body = {}, request;

        memset(name, 'n', sizeof(name));
        put_bytes(&body, 2, name, PHASE_NAME_MAX - 1); /* maximum length */
        request = make_request(FIELD_MARK, &body);
        assert_int_equal(decode(*state, &request), 0);

        put_bytes(&body, 2, name, PHASE_NAME_MAX);
        assert_mark_refused(*state, &body, "mark.name", "64 bytes");
        put_text(&body, 2, "a\x1b[2Jb");
        assert_mark_refused(*state, &body, "mark.name", "control");
        put_text(&body, 2, "\xed\xa0\x80"); /* a surrogate */
        assert_mark_refused(*state, &body, "mark.name", "UTF-8");
        put_bytes(&body, 2, "a\0b", 3);
        assert_mark_refused(*state, &body, "mark.name", "NUL");
        for (size_t i = 0; i < N_ELEMENTS(seconds); i++) {
                put_double(&body, 3, seconds[i]);
                assert_mark_refused(*state, &body, "mark.seconds", "0 or more");
        }
}

/* --- job ids --------------------------------------------------------------------------------------- */

/* Makes a request that names a job; other members only as far as necessary. */
static Buffer name_job(unsigned kind, const char *job) {
        Buffer body = {}, indicator = {};
        char id[16] = "0123456789abcde";

        if (kind != FIELD_SUBMIT) {
                put_text(&body, 1, job);
                return make_request(kind, &body);
        }
        put_bytes(&indicator, 1, id, sizeof(id));
        put_text(&indicator, 2, job);
        put_message(&body, 1, &indicator);
        return make_request(kind, &body);
}

static void an_invalid_id_is_refused_in_each_request(void **state) {
        static const struct {
                unsigned kind;
                const char *path;
        } places[] = {
                { FIELD_JOB_BEGIN, "job_begin.job" },
                { FIELD_JOB_END, "job_end.job" },
                { FIELD_MARK, "mark.job" },
                { FIELD_SUBMIT, "submit.indicators[0].job" },
        };
        char longest[301];
        const char *const ids[] = { "a/b", "../../etc", "two\nlines", "\x1b[31m", "a b", "\xff", "ü", "\x7f", longest };
        Buffer request;

        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        for (size_t i = 0; i < N_ELEMENTS(places); i++)
                for (size_t k = 0; k < N_ELEMENTS(ids); k++) {
                        request = name_job(places[i].kind, ids[k]);
                        assert_refused(*state, &request, STATUS_INVALID, places[i].path,
                                       "1 to 128 letters, digits, or any of _ . : -");
                }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_job_begin_carries_its_members_and_the_sender),
                TEST(a_rank_that_was_not_given_is_not_rank_zero),
                TEST(a_long_command_is_cut_between_characters),
                TEST(a_command_that_just_fits_is_not_cut),
                TEST(a_job_end_distinguishes_status_zero_from_none),
                TEST(members_of_a_job_have_limits),
                TEST(labels_have_limits),
                TEST(gpus_have_limits),
                TEST(a_job_begin_carries_its_place_in_the_run_and_its_cgroup_member),
                TEST(an_unset_place_is_none),
                TEST(a_place_outside_the_run_is_refused),
                TEST(a_client_cannot_set_cgroup_facts_determined_by_perfd),
                TEST(only_an_administrator_begins_jobs_for_others),
                TEST(a_mark_names_the_phase_that_begins),
                TEST(a_mark_may_have_no_name),
                TEST(a_mark_has_limits),
                TEST(an_invalid_id_is_refused_in_each_request),
                TEST(members_of_a_job_end_have_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
