/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of a test is taken from its directory, as long as nothing has changed. */
/* tests: client/matrix/value_cache.c client/matrix/test_values.c */
#include "results_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/matrix/value_cache.h"
#include "util/scoped.h"

#define CACHE "tree/1/" VALUE_CACHE_NAME
#define VALUES "values:\n  a: {file: log, line: 'a=(?<value>.*)'}\n  b: {file: '*.json', path: b, always: true}\n"

static const TestMatrixOptions options = { .directory = "tree", .has_cache = true };

static void set_up_tree(void) {
        results_put("tree/1/settings.yaml", "x: 1");
        results_put("tree/1/exit_code", "0");
        results_put("tree/1/log", "a=1\n");
        results_put("tree/1/b.json", "{\"b\":2}");
        results_put("results.yaml", VALUES);
}

static void assert_values(const char *json) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        assert_int_equal(test_matrix_read(&matrix, &options), EXIT_DONE);
        assert_string_equal(matrix.values[0].json, json);
}

/* Replaces a text in the cache by another one, so that a value shows where it comes from. */
static void plant(const char *from, const char *to) {
        scoped(freep) char *text = file_read_text(AT_FDCWD, CACHE, 4096);
        char *at = text ? strstr(text, from) : NULL;
        FILE *file = fopen(CACHE, "r+");

        assert_non_null(at);
        memcpy(at, to, strlen(to));
        (void)fputs(text, file);
        (void)fclose(file);
}

static void values_are_read_once(void **state) {
        (void)state;
        set_up_tree();
        assert_values("{\"a\":1,\"b\":2}");
        plant("\"a\":1", "\"a\":7");
        assert_values("{\"a\":7,\"b\":2}");
        results_put("tree/1/b.json", "{\"b\":33}");
        assert_values("{\"a\":7,\"b\":33}");
        results_put("tree/1/log", "a=11\n");
        assert_values("{\"a\":11,\"b\":33}");
        plant("\"a\":11", "\"a\":17");
        results_put("results.yaml", VALUES "  c: {file: log, line: '(?<value>a)'}\n");
        assert_values("{\"a\":11,\"b\":33,\"c\":\"a\"}");
}

static void a_file_that_others_can_write_is_not_believed(void **state) {
        (void)state;
        set_up_tree();
        assert_values("{\"a\":1,\"b\":2}");
        plant("\"a\":1", "\"a\":7");
        assert_int_equal(chmod(CACHE, 0620), 0);
        assert_values("{\"a\":1,\"b\":2}");
        plant("\"a\":1", "\"a\":7");
        assert_int_equal(rename(CACHE, "cache"), 0);
        assert_int_equal(symlink("../../cache", CACHE), 0);
        assert_values("{\"a\":1,\"b\":2}");
        plant("\"a\":1", "\"a\":7");
        assert_int_equal(link(CACHE, "again"), 0);
        assert_values("{\"a\":1,\"b\":2}");
        if (geteuid() != 0)
                return;
        plant("\"a\":1", "\"a\":7");
        assert_int_equal(chown(CACHE, 65534, 65534), 0);
        assert_values("{\"a\":1,\"b\":2}");
}

static void damaged_files_are_read_again(void **state) {
        (void)state;
        set_up_tree();
        assert_values("{\"a\":1,\"b\":2}");
        plant("\"values\"", "\"valves\"");
        assert_values("{\"a\":1,\"b\":2}");
        results_put(CACHE, "{");
        assert_int_equal(chmod(CACHE, 0600), 0);
        assert_values("{\"a\":1,\"b\":2}");
}

/* What a program reads is not known: it is run again if any file of the test has changed. */
static void findings_and_values_of_a_parser_are_kept(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        set_up_tree();
        results_put("parse", "echo run >>runs; echo \"{\\\"n\\\":$(wc -l <runs)}\"");
        results_put("results.yaml", "values: {gone: {file: gone, path: x}}\nparser: [sh, parse]\n");
        assert_values("{\"gone\":null,\"n\":1}");
        assert_values("{\"gone\":null,\"n\":1}");
        assert_int_equal(test_matrix_read(&matrix, &options), EXIT_DONE);
        assert_string_equal(matrix.tree.records[0].findings.text.text, "1/gone: no such file, for the value gone\n");
        results_put("tree/1/deep/file", "x");
        assert_values("{\"gone\":null,\"n\":2}");
        results_put("parse", "echo run >>runs; echo \"{\\\"n\\\": $(wc -l <runs)}\"");
        assert_values("{\"gone\":null,\"n\":3}");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(values_are_read_once, results_set_up, results_tear_down),
                cmocka_unit_test_setup_teardown(a_file_that_others_can_write_is_not_believed, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(damaged_files_are_read_again, results_set_up, results_tear_down),
                cmocka_unit_test_setup_teardown(findings_and_values_of_a_parser_are_kept, results_set_up,
                                                results_tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
