/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded points of a sweep, and points to be run again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "client/sweep/sweep_tree.h"
#include "sweep_fixture.h"
#include "util/file.h"

#define FILE_TEXT "command: x\nsettings: {a: [1, 2, '../x']}"

static char *tree_new(void) {
        char *root = strdup("/tmp/perfd-test-XXXXXX");

        assert_non_null(root);
        assert_non_null(mkdtemp(root));
        return root;
}

static void tree_free(char *root) {
        char command[64];

        (void)snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
        free(root);
}

DEFINE_SCOPED(char, tree_free);

static void put(const char *root, const char *directory, const char *settings, const char *exit_code) {
        char path[512];

        (void)snprintf(path, sizeof(path), "%s/%s", root, directory);
        assert_int_equal(mkdir(path, 0777), 0);
        (void)snprintf(path, sizeof(path), "%s/%s/settings.yaml", root, directory);
        if (settings)
                assert_int_equal(file_replace(path, settings, strlen(settings), 0666, false), 0);
        (void)snprintf(path, sizeof(path), "%s/%s/exit_code", root, directory);
        if (exit_code)
                assert_int_equal(file_replace(path, exit_code, strlen(exit_code), 0666, false), 0);
}

static const SweepRecord *find(const SweepTree *tree, const char *settings) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer identity = {};
        const Value *value;
        YamlError error;

        assert_int_equal(arena_init(&arena, yaml_arena_size(strlen(settings))), 0);
        assert_int_equal(yaml_read(settings, strlen(settings), &arena, &value, &error), 0);
        assert_int_equal(sweep_text_identify(value, &identity), 0);
        return sweep_tree_find(tree, identity.text);
}

static void exit_codes_are_whole_numbers(void **state) {
        int code = 77;

        (void)state;
        assert_true(sweep_tree_parse_exit_code("0\n", &code) && code == 0);
        assert_true(sweep_tree_parse_exit_code(" -9 \r\n", &code) && code == -9);
        assert_false(sweep_tree_parse_exit_code("", &code) || sweep_tree_parse_exit_code("\n", &code) ||
                     sweep_tree_parse_exit_code("1x", &code) ||
                     sweep_tree_parse_exit_code("0.5", &code) || sweep_tree_parse_exit_code("99999999999", &code));
}

static void a_point_with_a_valid_exit_code_is_done(void **state) {
        scoped(tree_freep) char *root = tree_new();
        scoped(sweep_tree_deinit) SweepTree tree = { .fd = -1 };

        (void)state;
        put(root, "001__a=1", "a: 1\nb: x\n", "0\n");
        put(root, "002__a=2", "b: \"x\"\na: 2\n", "3");
        put(root, "003__a=3", "a: 3\n", "");
        put(root, "004__a=4", "a: 4\n", NULL);
        put(root, "005__a=5", NULL, "0\n");
        put(root, "006__a=6", "a: [6]\n", "0\n");
        put(root, "007__a=7", "a: {", "0\n");
        put(root, "008__a=4", "a: 4\n", "0\n");
        assert_int_equal(sweep_tree_open(&tree, root, true), 0);

        assert_int_equal(tree.n_records, 5);
        assert_true(find(&tree, "{b: x, a: 1}")->is_done);
        assert_int_equal(find(&tree, "{a: '2', b: x}")->exit_code, 3);
        assert_false(find(&tree, "{a: 3}")->is_done);
        assert_string_equal(find(&tree, "{a: 4}")->directory, "008__a=4"); /* the completed point */
        assert_null(find(&tree, "{a: 1}"));
        assert_null(find(&tree, "{a: 7}"));
}

static void a_point_begins_with_its_settings_and_no_exit_code(void **state) {
        scoped(tree_freep) char *root = tree_new();
        scoped(planned_deinit) Planned planned = {};
        scoped(sweep_tree_deinit) SweepTree tree = { .fd = -1 }, again = { .fd = -1 };
        scoped(freep) char *path = NULL, *text = NULL, *next = NULL;

        (void)state;
        assert_int_equal(planned_read(&planned, FILE_TEXT), 0);
        put(root, "009__a=2", "a: 2\n", "1\n");
        assert_int_equal(sweep_tree_open(&tree, root, true), 0);

        assert_int_equal(sweep_tree_begin(&tree, &planned.plan, &planned.plan.points[2], 3, NULL, &path), 0);
        assert_non_null(strstr(path, "/003__a=.__x"));
        assert_int_equal(file_read_at(AT_FDCWD, path, 100, &text, NULL), -EISDIR);
        assert_int_equal(sweep_tree_end(path, 130), 0);
        /* A failed point is run again in its directory. */
        assert_int_equal(
                sweep_tree_begin(&tree, &planned.plan, &planned.plan.points[1], 2, find(&tree, "{a: 2}"), &next), 0);
        assert_non_null(strstr(next, "/009__a=2"));

        sweep_tree_deinit(&tree);
        assert_int_equal(sweep_tree_open(&again, root, true), 0);
        assert_int_equal(find(&again, "{a: '../x'}")->exit_code, 130);
        assert_false(find(&again, "{a: 2}")->is_done);
}

static void another_points_directory_is_left_alone(void **state) {
        scoped(tree_freep) char *root = tree_new();
        scoped(planned_deinit) Planned planned = {};
        scoped(sweep_tree_deinit) SweepTree tree = { .fd = -1 };
        scoped(freep) char *path = NULL, *empty = NULL;

        (void)state;
        assert_int_equal(planned_read(&planned, FILE_TEXT), 0);
        put(root, "001__a=1", "a: 1.5\n", "0\n");
        put(root, "002__a=2", NULL, NULL); /* as left by a process that was killed immediately */
        assert_int_equal(sweep_tree_open(&tree, root, true), 0);
        assert_int_equal(sweep_tree_begin(&tree, &planned.plan, &planned.plan.points[0], 1, NULL, &path), 0);
        assert_non_null(strstr(path, "/001__a=1__2"));
        assert_int_equal(sweep_tree_begin(&tree, &planned.plan, &planned.plan.points[1], 2, NULL, &empty), 0);
        assert_string_equal(strrchr(empty, '/'), "/002__a=2");
}

static void two_sweeps_do_not_share_a_directory(void **state) {
        scoped(tree_freep) char *root = tree_new();
        scoped(sweep_tree_deinit) SweepTree one = { .fd = -1 }, two = { .fd = -1 };

        (void)state;
        assert_int_equal(sweep_tree_open(&one, root, true), 0);
        assert_int_equal(sweep_tree_open(&two, root, true), SWEEP_TREE_BUSY);
        assert_int_equal(sweep_tree_open(&two, root, false), 0); /* read-only */
        sweep_tree_deinit(&two);
        sweep_tree_deinit(&one);
        assert_int_equal(sweep_tree_open(&one, root, true), 0);
}

static void settings_of_a_point_identify_as_the_point(void **state) {
        scoped(planned_deinit) Planned planned = {};

        (void)state;
        assert_int_equal(
                planned_read(&planned, "command: x\nsettings: {b: [1, 1.5, \"a\\nb\"], a: [true, null, 'null ']}"), 0);
        for (size_t i = 0; i < planned.plan.n_points; i++) {
                scoped(buffer_deinit) Buffer file = {}, of_point = {}, of_file = {};
                scoped(arena_deinit) Arena arena = {};
                const Value *value;
                Member all[SWEEP_SETTINGS_MAX];
                YamlError error;
                Value settings;

                settings = sweep_plan_settings(&planned.plan, &planned.plan.points[i], all);
                for (size_t k = 0; k < settings.n_members; k++)
                        sweep_text_put_yaml(&file, settings.members[k].key, &settings.members[k].value);
                assert_int_equal(arena_init(&arena, yaml_arena_size(file.n)), 0);
                assert_int_equal(yaml_read(file.text, file.n, &arena, &value, &error), 0);
                assert_int_equal(sweep_text_identify(value, &of_file), 0);
                assert_int_equal(sweep_text_identify(&settings, &of_point), 0);
                assert_string_equal(of_file.text, of_point.text);
        }
}

static void assert_directory(const char *text, size_t number, const char *name) {
        scoped(planned_deinit) Planned planned = {};
        scoped(buffer_deinit) Buffer out = {};

        assert_int_equal(planned_read(&planned, text), 0);
        sweep_tree_put_directory(&out, &planned.plan, &planned.plan.points[0], number);
        assert_string_equal(out.text, name);
}

static void directories_are_named_after_settings(void **state) {
        (void)state;
        assert_directory("command: x\nsettings: {threads: 4, dtype: float32}", 7, "007__threads=4__dtype=float32");
        assert_directory("command: x\nsettings: {a: 0.5}", 12345, "12345__a=0.5");
}

static void names_of_directories_are_harmless(void **state) {
        (void)state;
        assert_directory("command: x\nsettings: {a: '../../etc/passwd'}", 1, "001__a=.__.__etc_passwd");
        assert_directory("command: x\nsettings: {a: \"x y\\n'\\\"$*\\\\\"}", 1, "001__a=x_y______");
        assert_directory("command: x\nsettings: {a: \"\xc3\xa4-\xf0\x9f\x98\x80\"}", 1, "001__a=_-_");
}

static void names_of_directories_have_a_bounded_length(void **state) {
        scoped(planned_deinit) Planned planned = {};
        scoped(buffer_deinit) Buffer text = {}, out = {};

        (void)state;
        buffer_puts(&text, "command: x\nsettings: {");
        for (int i = 0; i < 200; i++)
                buffer_printf(&text, "key%d: some_value, ", i);
        buffer_puts(&text, "z: 1}");
        assert_int_equal(planned_read(&planned, text.text), 0);
        sweep_tree_put_directory(&out, &planned.plan, &planned.plan.points[0], 1);
        assert_in_range(out.n, SWEEP_DIRECTORY_MAX - 3, SWEEP_DIRECTORY_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(exit_codes_are_whole_numbers),
                cmocka_unit_test(a_point_with_a_valid_exit_code_is_done),
                cmocka_unit_test(a_point_begins_with_its_settings_and_no_exit_code),
                cmocka_unit_test(another_points_directory_is_left_alone),
                cmocka_unit_test(two_sweeps_do_not_share_a_directory),
                cmocka_unit_test(settings_of_a_point_identify_as_the_point),
                cmocka_unit_test(directories_are_named_after_settings),
                cmocka_unit_test(names_of_directories_are_harmless),
                cmocka_unit_test(names_of_directories_have_a_bounded_length),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
