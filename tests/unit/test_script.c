/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "client/facts/script.h"
#include "tests/unit/tree.h"

static char directory[32];

static int make_files(void **state) {
        char path[128];

        (void)state;
        (void)strcpy(directory, "/tmp/perfd-test-XXXXXX");
        assert_non_null(mkdtemp(directory));
        tree_write(directory, "bench", "#!/bin/sh\n");
        tree_write(directory, "plain.py", "print(1)\n");
        tree_write(directory, "program", "\177ELF");
        tree_write(directory, "python3", "#!/usr/bin/env bash\nexec python \"$@\"\n");
        (void)snprintf(path, sizeof(path), "%s/python3", directory);
        assert_int_equal(chmod(path, 0755), 0);
        (void)snprintf(path, sizeof(path), "%s/bench", directory);
        assert_int_equal(chmod(path, 0755), 0);
        return 0;
}

static int remove_files(void **state) {
        (void)state;
        tree_remove(directory);
        return 0;
}

/* file: path below the directory; NULL: no script expected. A word that begins with % is also below the directory. */
static void assert_script(const char *file, const char *const *words) {
        char texts[4][128], *command[5] = {}, expected[128];
        Script script;

        for (size_t i = 0; i < 4 && words[i]; i++) {
                (void)snprintf(texts[i], sizeof(texts[i]), "%s%s%s", words[i][0] == '%' ? directory : "",
                               words[i][0] == '%' ? "/" : "", words[i] + (words[i][0] == '%'));
                command[i] = texts[i];
        }

        if (script_find(command, directory, &script) != (file != NULL))
                fail_msg("%s %s: expected %s", command[0], command[1] ? command[1] : "", file ? file : "none");
        if (!file)
                return;
        (void)snprintf(expected, sizeof(expected), "%s/%s", directory, file);
        assert_string_equal(script.origin, expected);
}

static void a_command_with_a_hash_bang_is_a_script(void **state) {
        char sha256[SHA256_TEXT_MAX];
        Script script;
        char *command[] = { (char[]){ "bench" }, NULL };

        (void)state;
        assert_script("bench", (const char *const[]){ "%bench", NULL });
        assert_script("bench", (const char *const[]){ "bench", "-x", NULL });
        assert_script(NULL, (const char *const[]){ "%program", NULL });
        assert_script(NULL, (const char *const[]){ "absent", NULL });
        assert_true(script_find(command, directory, &script));
        sha256_text("#!/bin/sh\n", 10, sha256);
        assert_string_equal(script.sha256, sha256);
}

static void an_interpreter_runs_the_first_file_it_is_given(void **state) {
        (void)state;
        assert_script("plain.py", (const char *const[]){ "/bin/sh", "%plain.py", NULL });
        assert_script("plain.py", (const char *const[]){ "/bin/sh", "-u", "%plain.py", "%bench" });
        assert_script(NULL, (const char *const[]){ "/bin/sh", "-c", "%plain.py", NULL });
        assert_script(NULL, (const char *const[]){ "/bin/sh", "absent", "%plain.py", NULL });
        assert_script(NULL, (const char *const[]){ "/bin/sh", NULL });
        assert_script(NULL, (const char *const[]){ "/bin/cat", "%plain.py", NULL });
}

/* Shims of pyenv, for example, would give all scripts the same digest. */
static void an_interpreter_that_is_a_script_is_skipped(void **state) {
        (void)state;
        assert_script("plain.py", (const char *const[]){ "python3", "%plain.py", NULL });
        assert_script("plain.py", (const char *const[]){ "%python3", "-u", "%plain.py", NULL });
        assert_script("python3", (const char *const[]){ "python3", "-c", "pass", NULL });
}

static void assert_interpreter(const char *first_line, const char *expected) {
        char *command[] = { (char[]){ "bench" }, NULL };
        Script script;

        tree_write(directory, "bench", first_line);
        assert_true(script_find(command, directory, &script));
        assert_string_equal(script.interpreter, expected);
}

static void the_interpreter_is_named_in_the_first_line(void **state) {
        char *command[] = { (char[]){ "python3" }, (char[128]){ 0 }, NULL };
        Script script;

        (void)state;
        assert_interpreter("#!/opt/venv/bin/python3.12 -u\nx", "/opt/venv/bin/python3.12");
        assert_interpreter("#! /usr/bin/env -S A=b python3 -u\n", "python3");
        assert_interpreter("#!/usr/bin/env python3\r\n", "python3");
        assert_interpreter("#!/usr/bin/env", "");
        assert_interpreter("#!", "");
        assert_interpreter("#!/bin/sh\n", "/bin/sh");
        (void)snprintf(command[1], 128, "%s/plain.py", directory);
        assert_true(script_find(command, directory, &script));
        assert_string_equal(script.interpreter, "python3");
}

static void a_base_name_has_no_directory_and_no_ending(void **state) {
        char name[8];

        (void)state;
        script_base_name("/opt/bench/matmul.py", name, sizeof(name));
        assert_string_equal(name, "matmul");
        script_base_name(".hidden", name, sizeof(name));
        assert_string_equal(name, ".hidden");
        script_base_name("dir.d/convolution.tar.gz", name, sizeof(name));
        assert_string_equal(name, "convolu");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_command_with_a_hash_bang_is_a_script),
                cmocka_unit_test(an_interpreter_runs_the_first_file_it_is_given),
                cmocka_unit_test(an_interpreter_that_is_a_script_is_skipped),
                cmocka_unit_test(the_interpreter_is_named_in_the_first_line),
                cmocka_unit_test(a_base_name_has_no_directory_and_no_ending),
        };

        return cmocka_run_group_tests(tests, make_files, remove_files);
}
