/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/mlflow/mlflow.c */
/* The tags by which a run of MLflow is found, and the Python that sends. tests/system/test_python_mlflow.py sends. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/mlflow/mlflow.h"

static void assert_context(const char *given, const char *job, int64_t rank, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};

        mlflow_write_context(&out, given, job, rank);
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, expected);
}

static void the_tags_of_a_job_are_added_to_those_of_the_user(void **state) {
        (void)state;
        assert_context(NULL, "a", -1, "{\"perfd.job\":\"a\",\"perfd.run\":\"a\"}");
        assert_context("", "a", -1, "{\"perfd.job\":\"a\",\"perfd.run\":\"a\"}");
        assert_context(" { } ", "a", -1, " { \"perfd.job\":\"a\",\"perfd.run\":\"a\"}");
        assert_context("{\"x\":\"}\"}", "a", -1, "{\"x\":\"}\",\"perfd.job\":\"a\",\"perfd.run\":\"a\"}");
}

static void the_ranks_of_a_run_have_a_tag_in_common(void **state) {
        (void)state;
        assert_context(NULL, "42.0.3", 3, "{\"perfd.job\":\"42.0.3\",\"perfd.run\":\"42.0\"}");
        assert_context(NULL, "42.0.3", 2, "{\"perfd.job\":\"42.0.3\",\"perfd.run\":\"42.0.3\"}");
        assert_context(NULL, "42.0.3", -1, "{\"perfd.job\":\"42.0.3\",\"perfd.run\":\"42.0.3\"}");
        assert_context(NULL, ".3", 3, "{\"perfd.job\":\".3\",\"perfd.run\":\".3\"}");
}

static void the_python_is_that_of_the_command(void **state) {
        (void)state;
        assert_string_equal(mlflow_find_python("/venv/bin/python3.11", ""), "/venv/bin/python3.11");
        assert_string_equal(mlflow_find_python("python", "/bin/sh"), "python");
        assert_string_equal(mlflow_find_python("/venv/bin/torchrun", "/venv/bin/python3"), "/venv/bin/python3");
        assert_string_equal(mlflow_find_python("./train.sh", "/bin/sh"), "python3");
        assert_string_equal(mlflow_find_python("/python/bin/train", ""), "python3");
}

static void the_setting_needs_a_run_or_a_server(void **state) {
        (void)state;
        unsetenv("PERFD_MLFLOW");
        unsetenv("MLFLOW_TRACKING_URI");
        setenv("MLFLOW_RUN_ID", "0", 1);
        assert_true(mlflow_is_wanted(true));
        assert_false(mlflow_is_wanted(false));
        setenv("PERFD_MLFLOW", "1", 1);
        assert_true(mlflow_is_wanted(false));
        unsetenv("MLFLOW_RUN_ID");
        assert_false(mlflow_is_wanted(false));
        setenv("MLFLOW_TRACKING_URI", "http://localhost", 1);
        assert_true(mlflow_is_wanted(false));
        setenv("PERFD_MLFLOW", "0", 1);
        assert_false(mlflow_is_wanted(false));
}

static void an_empty_spool_needs_no_python(void **state) {
        char directory[] = "/tmp/perfd-test-XXXXXX", path[64];
        size_t n_waiting;
        FILE *file;

        (void)state;
        assert_non_null(mkdtemp(directory));
        setenv("PATH", "/nonexistent", 1);
        assert_true(mlflow_flush(&(GlobalOptions){}, directory, &n_waiting));
        snprintf(path, sizeof(path), "%s/mlflow", directory);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_true(mlflow_flush(&(GlobalOptions){}, directory, &n_waiting));
        assert_int_equal(n_waiting, 0);
        snprintf(path, sizeof(path), "%s/mlflow/a.jsonl", directory);
        file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
        /* without python3 in $PATH, and with a Python that fails */
        assert_false(mlflow_flush(&(GlobalOptions){ .socket = "a", .http_socket = "b" }, directory, &n_waiting));
        assert_int_equal(n_waiting, 1);
        assert_string_equal(getenv("PERFD_SOCKET"), "a");
        assert_string_equal(getenv("PERFD_HTTP_SOCKET"), "b");
        mlflow_send(&(GlobalOptions){}, "/bin/false", directory, "a");
        assert_int_equal(unlink(path), 0);
        snprintf(path, sizeof(path), "%s/mlflow", directory);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(rmdir(directory), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_tags_of_a_job_are_added_to_those_of_the_user),
                cmocka_unit_test(the_ranks_of_a_run_have_a_tag_in_common),
                cmocka_unit_test(the_python_is_that_of_the_command),
                cmocka_unit_test(the_setting_needs_a_run_or_a_server),
                cmocka_unit_test(an_empty_spool_needs_no_python),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
