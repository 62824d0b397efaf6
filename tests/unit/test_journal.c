/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/journal.c daemon/base/log.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "journal.h"
#include "util/clock.h"

/* A socket in place of journald's. Only the test reads it, so that it stays full while journald is stopped. */
typedef struct Fixture {
        char directory[64], path[96];
        int fd;
        int stderr_fd, pipe_fd; /* the original stderr, and a pipe in its place */
        Journal *journal;
} Fixture;

static int setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int pipe_fds[2];

        (void)snprintf(f->directory, sizeof(f->directory), "/tmp/perfd-journal-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->path, sizeof(f->path), "%s/socket", f->directory);
        memcpy(address.sun_path, f->path, strlen(f->path) + 1);
        f->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_int_equal(bind(f->fd, (struct sockaddr *)&address, sizeof(address)), 0);

        assert_int_equal(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
        f->pipe_fd = pipe_fds[0];
        f->stderr_fd = dup(STDERR_FILENO);
        assert_int_equal(dup2(pipe_fds[1], STDERR_FILENO), STDERR_FILENO);
        close(pipe_fds[1]);

        assert_int_equal(journal_new(&f->journal, f->path), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        journal_free(f->journal);
        assert_int_equal(dup2(f->stderr_fd, STDERR_FILENO), STDERR_FILENO);
        close(f->stderr_fd);
        close(f->pipe_fd);
        close(f->fd);
        unlink(f->path);
        rmdir(f->directory);
        free(f);
        return 0;
}

/* Receives the next datagram; "" if there is none. */
static const char *receive(const Fixture *f, char ret[static LOG_RECORD_MAX + 64]) {
        ssize_t n = recv(f->fd, ret, LOG_RECORD_MAX + 63, 0);

        ret[n > 0 ? n : 0] = '\0';
        return ret;
}

static void a_message_has_its_fields_and_stays_in_one_line_each(void **state) {
        const LogField fields[] = { LOG_TEXT("PERFD_JOB", "4711\n<0>x"), LOG_NUMBER("ERRNO", 13), {} };
        Fixture *f = *state;
        char text[LOG_RECORD_MAX + 64];

        log_struct(LOG_LEVEL_WARNING, fields, "Cannot follow job '%s'", "a\nb");
        assert_string_equal(receive(f, text), "SYSLOG_IDENTIFIER=perfd\nPRIORITY=4\nMESSAGE=Cannot follow job 'a\\nb'\n"
                                              "PERFD_JOB=4711\\n<0>x\nERRNO=13\n");
        log_info("plain");
        assert_string_equal(receive(f, text), "SYSLOG_IDENTIFIER=perfd\nPRIORITY=6\nMESSAGE=plain\n");
        assert_int_equal(journal_n_dropped(f->journal), 0);
}

static void other_text_goes_to_the_descriptor_of_stderr(void **state) {
        Fixture *f = *state;
        char text[LOG_RECORD_MAX + 64];
        ssize_t n;

        fprintf(stderr, "perfd: %s:%d: assertion failed\n", "file.c", 7);
        n = read(f->pipe_fd, text, sizeof(text) - 1);
        assert_true(n > 0);
        text[n] = '\0';
        assert_string_equal(text, "perfd: file.c:7: assertion failed\n");
        assert_string_equal(receive(f, text), "");
}

/*
 * While journald is stopped, nothing blocks, records that exceed the queue are dropped, and both are reported
 * afterwards.
 */
static void a_stopped_journal_blocks_nothing_and_dropped_messages_are_reported(void **state) {
        enum { N = 5000 };
        Fixture *f = *state;
        char text[LOG_RECORD_MAX + 64];
        unsigned n_received = 0, n_dropped, n;
        uint64_t longest_ns = 0;

        for (unsigned i = 0; i < N; i++) {
                uint64_t begin_ns = clock_thread_cpu_ns();

                log_info("message %u", i);
                if (clock_thread_cpu_ns() - begin_ns > longest_ns)
                        longest_ns = clock_thread_cpu_ns() - begin_ns;
        }
        assert_in_range(longest_ns, 0, 100 * NS_PER_MS); /* a blocking send would never return */
        n_dropped = (unsigned)journal_n_dropped(f->journal);
        assert_in_range(n_dropped, 1, N - JOURNAL_QUEUE_MAX);

        while (receive(f, text)[0]) {
                if (sscanf(text, "SYSLOG_IDENTIFIER=perfd\nPRIORITY=6\nMESSAGE=message %u\n", &n) == 1)
                        assert_int_equal(n, n_received++); /* in order, without the dropped ones */
                else {
                        assert_int_equal(sscanf(strstr(text, "MESSAGE="), "MESSAGE=Dropped %u log messages", &n), 1);
                        assert_int_equal(n, n_dropped);
                        assert_non_null(strstr(text, "\nPRIORITY=4\n"));
                        n_received += n;
                }
                journal_flush(f->journal);
        }
        assert_int_equal(n_received, N);

        log_info("after");
        assert_non_null(strstr(receive(f, text), "MESSAGE=after\n"));
        assert_int_equal(journal_n_dropped(f->journal), n_dropped);
}

static void a_restarted_journal_gets_queued_messages(void **state) {
        Fixture *f = *state;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char text[LOG_RECORD_MAX + 64];

        close(f->fd);
        log_info("while it is down");
        unlink(f->path);
        log_info("while it is away");
        f->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        memcpy(address.sun_path, f->path, strlen(f->path) + 1);
        assert_int_equal(bind(f->fd, (struct sockaddr *)&address, sizeof(address)), 0);

        journal_flush(f->journal);
        assert_non_null(strstr(receive(f, text), "MESSAGE=while it is down\n"));
        assert_non_null(strstr(receive(f, text), "MESSAGE=while it is away\n"));
        assert_int_equal(journal_n_dropped(f->journal), 0);
}

static void the_journal_is_used_only_where_stderr_leads_to_it(void **state) {
        char text[64];
        struct stat st;

        (void)state;
        unsetenv("JOURNAL_STREAM");
        assert_false(journal_is_connected());
        assert_int_equal(fstat(STDERR_FILENO, &st), 0);
        (void)snprintf(text, sizeof(text), "%lu:%lu", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
        setenv("JOURNAL_STREAM", text, 1);
        assert_true(journal_is_connected());
        (void)snprintf(text, sizeof(text), "%lu:%lu", (unsigned long)st.st_dev, (unsigned long)st.st_ino + 1);
        setenv("JOURNAL_STREAM", text, 1);
        assert_false(journal_is_connected()); /* stderr was redirected; $JOURNAL_STREAM is inherited */
        setenv("JOURNAL_STREAM", "nonsense", 1);
        assert_false(journal_is_connected());
        unsetenv("JOURNAL_STREAM");
}

static void without_a_socket_stderr_stays(void **state) {
        FILE *before = stderr;
        Journal *journal;

        (void)state;
        assert_int_equal(journal_new(&journal, "/nonexistent/socket"), -ENOENT);
        assert_ptr_equal(stderr, before);
}

static void a_limited_message_says_how_many_were_suppressed(void **state) {
        Fixture *f = *state;
        LogUserLimits limits = {}, other = {};
        char text[LOG_RECORD_MAX + 64];

        for (unsigned i = 0; i < 4; i++)
                log_for_user(&limits, 1000, LOG_LEVEL_WARNING, NULL, "refused %u", i);
        log_for_user(&limits, 0, LOG_LEVEL_WARNING, NULL, "of another user");
        log_for_user(&other, 1000, LOG_LEVEL_WARNING, NULL, "of another kind");
        assert_non_null(strstr(receive(f, text), "MESSAGE=refused 0\n"));
        assert_non_null(strstr(receive(f, text), "MESSAGE=of another user\n"));
        assert_non_null(strstr(receive(f, text), "MESSAGE=of another kind\n"));
        assert_string_equal(receive(f, text), "");

        limits.of[0].window_start_ns -= LOG_LIMIT_INTERVAL_NS; /* the interval is over */
        log_for_user(&limits, 1000, LOG_LEVEL_WARNING, NULL, "refused again");
        assert_non_null(
                strstr(receive(f, text), "MESSAGE=refused again (3 similar messages of this user suppressed)\n"));
        log_for_user(&limits, 1000, LOG_LEVEL_WARNING, NULL, "refused again");
        assert_string_equal(receive(f, text), "");
}

static void messages_of_many_users_are_limited_together(void **state) {
        Fixture *f = *state;
        LogUserLimits limits = {};
        char text[LOG_RECORD_MAX + 64];
        unsigned n = 0;

        for (uint32_t uid = 0; uid < 10 * LOG_USERS_MAX; uid++) {
                log_for_user(&limits, uid, LOG_LEVEL_WARNING, NULL, "refused %u", uid);
                n += receive(f, text)[0] != '\0';
        }
        assert_int_equal(n, LOG_USERS_MAX);

        limits.of[7].window_start_ns -= LOG_LIMIT_INTERVAL_NS;
        log_for_user(&limits, 5000, LOG_LEVEL_WARNING, NULL, "of a new user");
        assert_non_null(strstr(receive(f, text), "MESSAGE=of a new user\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_message_has_its_fields_and_stays_in_one_line_each, setup, teardown),
                cmocka_unit_test_setup_teardown(other_text_goes_to_the_descriptor_of_stderr, setup, teardown),
                cmocka_unit_test_setup_teardown(a_stopped_journal_blocks_nothing_and_dropped_messages_are_reported,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(a_restarted_journal_gets_queued_messages, setup, teardown),
                cmocka_unit_test(the_journal_is_used_only_where_stderr_leads_to_it),
                cmocka_unit_test(without_a_socket_stderr_stays),
                cmocka_unit_test_setup_teardown(a_limited_message_says_how_many_were_suppressed, setup, teardown),
                cmocka_unit_test_setup_teardown(messages_of_many_users_are_limited_together, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
