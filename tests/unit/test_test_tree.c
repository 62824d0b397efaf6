/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a directory: settings of directories above, exit codes, ids, duplicates and links. */
/* tests: client/matrix/test_tree.c client/matrix/findings.c */
#include "results_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "util/scoped.h"

static TestTree read_tree(void) {
        TestTree tree;

        assert_int_equal(test_tree_read(&tree, "tree"), 0);
        return tree;
}

static void assert_left_out(const TestTree *tree, const char *path, const char *why) {
        const TestRecord *record = results_find(tree, path);

        assert_non_null(record);
        assert_non_null(record->left_out);
        assert_non_null(strstr(record->left_out, why));
}

static void assert_found(const Findings *findings, const char *text) {
        if (!findings->text.text || !strstr(findings->text.text, text))
                fail_msg("'%s' is not in '%s'", text, findings->text.text ?: "");
}

static void settings_of_directories_above_are_merged(void **state) {
        scoped(test_tree_deinit) TestTree tree;

        (void)state;
        results_put("settings.above.yaml", "outside: 1\n");
        results_put("tree/settings.common.yaml", "model: a\nusers: 1\n");
        results_put("tree/settings.yaml~", "backup: 1\n");
        results_put("tree/x/1/settings.yaml", "users: 2\n\"@repeat\": 1\n");
        results_put("tree/x/1/exit_code", "0\n");
        results_put("tree/x/1/inner/settings.yaml", "users: 9\n");
        results_put("tree/x/2/settings", "users=2\nbroken\n# comment\n@repeat=2\n");
        results_put("tree/x/2/exit_code", "3");
        tree = read_tree();
        assert_int_equal(tree.n, 2);
        assert_string_equal(tree.records[0].settings, "{\"@repeat\":1,\"model\":\"a\",\"users\":2}");
        assert_string_equal(tree.records[0].key, "{\"model\":\"a\",\"users\":2}");
        assert_string_equal(tree.records[1].key, "{\"model\":\"a\",\"users\":\"2\"}");
        assert_int_equal(tree.records[1].exit_code, 3);
        assert_null(tree.records[1].left_out);
        assert_found(&tree.findings, "x/2/settings:2: is no KEY=VALUE");
}

static void a_test_without_a_usable_exit_code_is_left_out(void **state) {
        scoped(test_tree_deinit) TestTree tree;

        (void)state;
        results_put("tree/1/settings.yaml", "a: 1");
        results_put("tree/2/settings.yaml", "a: 2");
        results_put("tree/2/exit_code", "\n");
        results_put("tree/3/settings.yaml", "a: 3");
        results_put("tree/3/exit_code", "oops");
        results_put("tree/4/settings.yaml", "a: 4");
        results_put("tree/4/exit_code", "0");
        results_put("tree/4/skip", "");
        results_put("tree/5/settings.yaml", "a: [1");
        results_put("tree/5/exit_code", "0");
        results_put("tree/6/settings.yaml", "a: &x [1]\nb: [*x, *x]");
        results_put("tree/6/exit_code", "0");
        results_put("tree/7/settings.yaml", "just text");
        results_put_bytes("tree/8/settings.yaml", "a: \xff\xfe", 5);
        assert_int_equal(mkdir("tree/9", 0777), 0);
        assert_int_equal(mkdir("tree/9/settings.yaml", 0777), 0);
        tree = read_tree();
        assert_left_out(&tree, "1", "no exit_code");
        assert_left_out(&tree, "2", "still running");
        assert_left_out(&tree, "3", "no number");
        assert_left_out(&tree, "4", "skip");
        assert_left_out(&tree, "5", "settings");
        assert_left_out(&tree, "6", "settings");
        assert_left_out(&tree, "7", "settings");
        assert_left_out(&tree, "8", "settings");
        assert_left_out(&tree, "9", "settings");
        assert_found(&tree.findings, "5/settings.yaml:2:1: ");
        assert_found(&tree.findings, "6/settings.yaml:2:");
        assert_found(&tree.findings, "7/settings.yaml:1: is a string");
        assert_found(&tree.findings, "9/settings.yaml: is no regular file");
        assert_found(&results_find(&tree, "3")->findings, "3/exit_code:1: 'oops'");
}

static void ids_are_those_of_the_files_or_are_derived(void **state) {
        static const uint8_t given[] = { 0x7b, 0x64, 0x71, 0xe2, 0x10, 0x3e, 0x43, 0xc2,
                                         0x9f, 0xda, 0xf6, 0x25, 0x48, 0xf2, 0xf8, 0xed };
        const struct timespec times[] = { { 1700000000, 0 }, { 1700000000, 0 } };
        scoped(test_tree_deinit) TestTree tree;
        char uuid[TEST_UUID_TEXT_MAX];

        (void)state;
        results_put("tree/1/settings.yaml", "a: 1");
        results_put("tree/1/exit_code", "0");
        results_put("tree/1/.uuid", "7B6471e2-103e-43c2-9fda-f62548f2f8ed\n");
        results_put("tree/2/settings.yaml", "a: 2");
        results_put("tree/2/exit_code", "0");
        results_put("tree/2/.uuid", "nonsense");
        assert_int_equal(utimensat(AT_FDCWD, "tree/2/settings.yaml", times, 0), 0);
        tree = read_tree();
        assert_memory_equal(tree.records[0].id, given, sizeof(given));
        test_tree_format_uuid(tree.records[0].id, uuid);
        assert_string_equal(uuid, "7b6471e2-103e-43c2-9fda-f62548f2f8ed");
        /* of path, settings and time: the same in every copy */
        test_tree_format_uuid(tree.records[1].id, uuid);
        assert_string_equal(uuid, "f5c25679-d47a-4c65-914a-dbdfd520cec7");
        assert_true(tree.records[1].start_ns == 1700000000000000000);
        assert_found(&tree.records[1].findings, "2/.uuid: is no UUID");
}

static void of_tests_with_the_same_settings_the_first_counts(void **state) {
        scoped(test_tree_deinit) TestTree tree;

        (void)state;
        results_put("tree/1/settings.yaml", "a: 1\nb: 2");
        results_put("tree/1/exit_code", "0");
        results_put("tree/2/settings.yaml", "b: 2\na: 1");
        results_put("tree/2/exit_code", "0");
        results_put("tree/3/settings.yaml", "a: 1\nb: 2\n\"@r\": 1");
        results_put("tree/3/exit_code", "0");
        tree = read_tree();
        assert_null(tree.records[0].left_out);
        assert_left_out(&tree, "2", "settings of an earlier test");
        assert_null(tree.records[2].left_out);
        assert_string_equal(tree.records[2].key, tree.records[0].key);
}

static void of_tests_with_the_same_id_the_first_counts(void **state) {
        scoped(test_tree_deinit) TestTree tree;

        (void)state;
        results_put("tree/1/settings.yaml", "a: 1");
        results_put("tree/1/exit_code", "0");
        results_put("tree/1/.uuid", "7b6471e2-103e-43c2-9fda-f62548f2f8ed");
        results_put("tree/2/settings.yaml", "a: 2");
        results_put("tree/2/exit_code", "0");
        results_put("tree/2/.uuid", "7b6471e2103e43c29fdaf62548f2f8ed");
        tree = read_tree();
        assert_null(tree.records[0].left_out);
        assert_left_out(&tree, "2", "id of an earlier test");
        assert_found(&tree.records[1].findings, "warning: 2: has the id of an earlier test, 1,");
}

static void links_are_followed_within_the_directory_only(void **state) {
        scoped(test_tree_deinit) TestTree tree;
        struct stat st;
        int fd = -1;

        (void)state;
        results_put("secret/settings.yaml", "a: 1");
        results_put("tree/common.yaml", "a: 1");
        assert_int_equal(mkdir("tree/1", 0777), 0);
        assert_int_equal(symlink("../common.yaml", "tree/1/settings.yaml"), 0);
        results_put("tree/1/exit_code", "0");
        assert_int_equal(mkdir("tree/2", 0777), 0);
        assert_int_equal(symlink("../../secret/settings.yaml", "tree/2/settings.yaml"), 0);
        assert_int_equal(symlink("../secret", "tree/out"), 0);
        assert_int_equal(symlink(".", "tree/loop"), 0);
        assert_int_equal(symlink("self", "tree/self"), 0);
        assert_int_equal(mkfifo("tree/fifo", 0666), 0);
        tree = read_tree();
        assert_int_equal(tree.n, 2);
        assert_null(tree.records[0].left_out);
        assert_left_out(&tree, "2", "settings");
        assert_found(&tree.findings, "2/settings.yaml: a link leads out of the directory");
        assert_found(&tree.findings, "warning: out: a link leads out");
        assert_int_equal(test_tree_open(&tree, "fifo", &fd, &st), TEST_TREE_NO_FILE);
        assert_int_equal(test_tree_open(&tree, "out/settings.yaml", &fd, &st), TEST_TREE_OUTSIDE);
        assert_int_equal(fd, -1);
}

static void a_directory_that_is_none_is_an_error(void **state) {
        TestTree tree;

        (void)state;
        assert_int_equal(test_tree_read(&tree, "absent"), -ENOENT);
        test_tree_deinit(&tree);
        results_put("file", "");
        assert_int_equal(test_tree_read(&tree, "file"), -ENOTDIR);
        test_tree_deinit(&tree);
}

static void findings_are_lines_that_are_there_once(void **state) {
        scoped(findings_deinit) Findings findings = {};
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        findings_error(&findings, "a\nb:%d", 1);
        findings_error(&findings, "a\nb:%d", 1);
        findings_warn(&findings, "c");
        assert_int_equal(findings.n_errors, 1);
        assert_int_equal(findings.n_warnings, 1);
        findings_write_json(&findings, &(Json){ .out = &out });
        assert_string_equal(out.text, "[\"a b:1\",\"warning: c\"]");
        findings_print(&findings);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(settings_of_directories_above_are_merged, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(a_test_without_a_usable_exit_code_is_left_out, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(ids_are_those_of_the_files_or_are_derived, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(of_tests_with_the_same_settings_the_first_counts, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(of_tests_with_the_same_id_the_first_counts, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(links_are_followed_within_the_directory_only, results_set_up,
                                                results_tear_down),
                cmocka_unit_test_setup_teardown(a_directory_that_is_none_is_an_error, results_set_up,
                                                results_tear_down),
                cmocka_unit_test(findings_are_lines_that_are_there_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
