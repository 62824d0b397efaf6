/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/base/runtime_file.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/runtime_file.h"

#define SLOT_BYTES 8192

typedef struct Fixture {
        char directory[64], path[96];
        RuntimeFile *file;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_non_null(f);
        strcpy(f->directory, "/tmp/perfd-file-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        (void)snprintf(f->path, sizeof(f->path), "%s/account", f->directory);
        assert_int_equal(runtime_file_open(&f->file, f->path), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        runtime_file_free(f->file);
        (void)unlink(f->path);
        assert_int_equal(rmdir(f->directory), 0);
        free(f);
        return 0;
}

static void put(Fixture *f, const char *text) {
        assert_int_equal(runtime_file_write(f->file, text, strlen(text)), 0);
}

static void reopen(Fixture *f) {
        f->file = runtime_file_free(f->file);
        assert_int_equal(runtime_file_open(&f->file, f->path), 0);
}

static void assert_text(Fixture *f, const char *expected) {
        char *text = NULL;

        assert_int_equal(runtime_file_read(f->file, &text, NULL), 0);
        assert_string_equal(text, expected);
        free(text);
}

static int outcome(Fixture *f) {
        char *text = NULL;
        int r = runtime_file_read(f->file, &text, NULL);

        free(text);
        return r;
}

/* Changes one byte of the file. */
static void spoil(Fixture *f, off_t at) {
        int fd = open(f->path, O_RDWR | O_CLOEXEC);
        char c;

        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &c, 1, at), 1);
        c ^= 0x10;
        assert_int_equal(pwrite(fd, &c, 1, at), 1);
        close(fd);
}

static void the_latest_text_is_found_again(void **state) {
        Fixture *f = *state;

        assert_int_equal(outcome(f), RUNTIME_FILE_NONE);
        reopen(f);
        assert_int_equal(outcome(f), RUNTIME_FILE_NONE);
        for (int i = 0; i < 5; i++) {
                char text[32];

                (void)snprintf(text, sizeof(text), "text %d", i);
                put(f, text);
                assert_text(f, text);
                reopen(f);
                assert_text(f, text);
        }
}

static bool is_in_file(const Fixture *f, const char *text) {
        char command[256];

        (void)snprintf(command, sizeof(command), "grep -qa '%s' %s", text, f->path);
        return system(command) == 0;
}

static void nothing_of_a_text_is_left_after_two_others(void **state) {
        Fixture *f = *state;

        put(f, "long, and at its end a name");
        put(f, "short");
        assert_true(is_in_file(f, "a name"));
        put(f, "");
        assert_false(is_in_file(f, "a name"));
        assert_true(is_in_file(f, "short"));
        reopen(f);
        assert_text(f, "");
}

static void a_damaged_slot_leaves_the_other(void **state) {
        Fixture *f = *state;

        put(f, "first");
        put(f, "second");
        spoil(f, SLOT_BYTES + 24);
        reopen(f);
        assert_text(f, "first");
        put(f, "third");
        reopen(f);
        assert_text(f, "third");
}

static void a_change_of_any_byte_is_noticed(void **state) {
        static const char second[] = "two words of eight bytes, and some more";
        Fixture *f = *state;

        put(f, "first");
        put(f, second);
        for (off_t i = 0; i < 24 + (off_t)strlen(second); i++) {
                spoil(f, SLOT_BYTES + i);
                reopen(f);
                assert_text(f, "first");
                spoil(f, SLOT_BYTES + i);
                reopen(f);
                assert_text(f, second);
        }
}

static void two_damaged_slots_are_told(void **state) {
        Fixture *f = *state;

        put(f, "first");
        put(f, "second");
        spoil(f, 26);
        spoil(f, SLOT_BYTES + 8);
        reopen(f);
        assert_int_equal(outcome(f), RUNTIME_FILE_DAMAGED);
        put(f, "anew");
        reopen(f);
        assert_text(f, "anew");
}

static void a_file_of_another_size_is_damaged(void **state) {
        Fixture *f = *state;

        put(f, "first");
        f->file = runtime_file_free(f->file);
        assert_int_equal(truncate(f->path, 100), 0);
        assert_int_equal(runtime_file_open(&f->file, f->path), 0);
        assert_int_equal(outcome(f), RUNTIME_FILE_DAMAGED);
        put(f, "anew");
        reopen(f);
        assert_text(f, "anew");
}

static void a_text_that_does_not_fit_makes_the_file_larger(void **state) {
        Fixture *f = *state;
        char *text = malloc(100001);

        assert_non_null(text);
        memset(text, 'x', 100000);
        text[100000] = '\0';
        put(f, "small");
        put(f, text);
        assert_text(f, text);
        reopen(f);
        assert_text(f, text);
        put(f, "small again");
        reopen(f);
        assert_text(f, "small again");
        free(text);
        assert_int_equal(runtime_file_write(f->file, "", (size_t)RUNTIME_FILE_BYTES_MAX + 1), -EFBIG);
        assert_text(f, "small again");
}

static void a_second_process_is_refused(void **state) {
        Fixture *f = *state;
        RuntimeFile *second = NULL;

        assert_int_equal(runtime_file_open(&second, f->path), -EBUSY);
        assert_int_equal(runtime_file_open(&second, "/nonexistent/account"), -ENOENT);
        assert_true(runtime_file_open(&second, f->directory) < 0);
}

/* A writer that is killed at any moment leaves one of its texts, and none that is older than one it is known to have
 * written. */
static void a_text_survives_a_kill(void **state) {
        Fixture *f = *state;

        f->file = runtime_file_free(f->file);
        for (int round = 0; round < 20; round++) {
                int pipes[2], status;
                unsigned known = 0, found = 0;
                char *text = NULL;
                pid_t pid;

                assert_int_equal(pipe(pipes), 0);
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0) {
                        if (runtime_file_open(&f->file, f->path) != 0)
                                _exit(1);
                        for (unsigned i = 1;; i++) {
                                char line[4000];

                                (void)snprintf(line, sizeof(line), "%u %0*d", i, 1000 + (int)(i % 2000), 7);
                                if (runtime_file_write(f->file, line, strlen(line)) != 0 ||
                                    write(pipes[1], &i, sizeof(i)) < 0)
                                        _exit(1);
                        }
                }
                close(pipes[1]);
                for (int i = 0; i < 50 + round; i++)
                        assert_int_equal(read(pipes[0], &known, sizeof(known)), sizeof(known));
                kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFSIGNALED(status));
                while (read(pipes[0], &known, sizeof(known)) == sizeof(known))
                        ;
                close(pipes[0]);

                assert_int_equal(runtime_file_open(&f->file, f->path), 0);
                assert_int_equal(runtime_file_read(f->file, &text, NULL), 0);
                assert_int_equal(sscanf(text, "%u ", &found), 1);
                assert_true(found >= known && found <= known + 1);
                free(text);
                f->file = runtime_file_free(f->file);
        }
}

#define KEPT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                KEPT_TEST(the_latest_text_is_found_again),
                KEPT_TEST(nothing_of_a_text_is_left_after_two_others),
                KEPT_TEST(a_damaged_slot_leaves_the_other),
                KEPT_TEST(a_change_of_any_byte_is_noticed),
                KEPT_TEST(two_damaged_slots_are_told),
                KEPT_TEST(a_file_of_another_size_is_damaged),
                KEPT_TEST(a_text_that_does_not_fit_makes_the_file_larger),
                KEPT_TEST(a_second_process_is_refused),
                KEPT_TEST(a_text_survives_a_kill),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
