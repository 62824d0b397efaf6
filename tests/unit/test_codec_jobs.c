#include <math.h>
#include <stdio.h>

#include "codec_fixture.h"
#include "util/utf8.h"

static void a_job_begin_carries_what_was_said_and_who_said_it(void **state) {
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
        assert_string_equal(info->user, "mara");
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

        buffer_putc(&command, 'x'); /* puts the two-byte characters on odd places */
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

static void a_job_end_tells_status_zero_from_none(void **state) {
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

static void what_is_said_of_a_job_has_limits(void **state) {
        Buffer body = {}, request;
        char text[JOB_TEXT_MAX + 1];

        memset(text, 'n', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';

        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "empty");
        put_text(&body, 1, "a/b");
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "letters");
        put_text(&body, 1, text);
        request = make_request(FIELD_JOB_BEGIN, &body);
        assert_refused(*state, &request, STATUS_INVALID, "job_begin.job", "128");

        put_text(&body, 2, text);
        assert_job_refused(*state, &body, "job_begin.name", "too long");
        put_text(&body, 2, "two\nlines");
        assert_job_refused(*state, &body, "job_begin.name", "control");
        put_text(&body, 2, "\xff");
        assert_job_refused(*state, &body, "job_begin.name", "UTF-8");
        put_text(&body, 4, "a\x1b[31m");
        assert_job_refused(*state, &body, "job_begin.user", "control");
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
        assert_job_refused(*state, &body, "job_begin.labels", "17 labels");
}

static void how_a_job_ended_has_limits(void **state) {
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

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(a_job_begin_carries_what_was_said_and_who_said_it),
                TEST(a_rank_that_was_not_given_is_not_rank_zero),
                TEST(a_long_command_is_cut_between_characters),
                TEST(a_command_that_just_fits_is_not_cut),
                TEST(a_job_end_tells_status_zero_from_none),
                TEST(what_is_said_of_a_job_has_limits),
                TEST(labels_have_limits),
                TEST(how_a_job_ended_has_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
