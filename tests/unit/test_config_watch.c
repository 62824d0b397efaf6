/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config_watch.h"
#include "util/clock.h"
#include "util/scoped.h"

/* tests: daemon/config_files.c daemon/config_watch.c */

#define WAIT_NS (20 * NS_PER_S)

typedef struct Tree {
        char directory[32], conf[48], drop_ins[56], one[64], two[64];
} Tree;

static void write_file(const char *path, const char *text) {
        scoped(fclosep) FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
}

static int make_tree(void **state) {
        Tree *tree = calloc(1, sizeof(*tree));

        assert_non_null(tree);
        strcpy(tree->directory, "/tmp/perfd-config-XXXXXX");
        assert_non_null(mkdtemp(tree->directory));
        (void)snprintf(tree->conf, sizeof(tree->conf), "%s/perfd.conf", tree->directory);
        (void)snprintf(tree->drop_ins, sizeof(tree->drop_ins), "%s.d", tree->conf);
        (void)snprintf(tree->one, sizeof(tree->one), "%s/1.conf", tree->drop_ins);
        (void)snprintf(tree->two, sizeof(tree->two), "%s/2.conf", tree->drop_ins);
        assert_int_equal(mkdir(tree->drop_ins, 0700), 0);
        write_file(tree->conf, "[http]\n");
        write_file(tree->one, "[store]\n");
        *state = tree;
        return 0;
}

static int remove_tree(void **state) {
        Tree *tree = *state;

        (void)unlink(tree->conf);
        (void)unlink(tree->one);
        (void)unlink(tree->two);
        (void)rmdir(tree->drop_ins);
        assert_int_equal(rmdir(tree->directory), 0);
        free(tree);
        return 0;
}

static void add(ConfigFiles *files, const char *path, const char *content) {
        config_files_add(files, hash_text(config_files_begin(path), content));
}

static ConfigFiles files_of(const Tree *tree) {
        ConfigFiles files = {};

        add(&files, tree->conf, "[http]\n");
        add(&files, tree->one, "[store]\n");
        return files;
}

static void the_edited_file_is_named(void **state) {
        const Tree *tree = *state;
        const ConfigFiles files = files_of(tree);
        char found[CONFIG_PATH_MAX];

        assert_false(config_files_find_edited(&files, tree->conf, false, found));
        write_file(tree->one, "[store]\n"); /* again */
        assert_false(config_files_find_edited(&files, tree->conf, false, found));
        write_file(tree->one, "[store]\nmax_size = 1G\n");
        assert_true(config_files_find_edited(&files, tree->conf, false, found));
        assert_string_equal(found, tree->one);

        write_file(tree->one, "[store]\n");
        write_file(tree->two, "");
        assert_true(config_files_find_edited(&files, tree->conf, false, found));
        assert_string_equal(found, tree->two);
        assert_int_equal(unlink(tree->two), 0);

        assert_int_equal(unlink(tree->one), 0);
        assert_true(config_files_find_edited(&files, tree->conf, false, found));
        assert_string_equal(found, tree->conf);
}

static void a_file_that_is_gone_was_edited_unless_it_is_optional(void **state) {
        const Tree *tree = *state;
        ConfigFiles files = {};
        char found[CONFIG_PATH_MAX];

        add(&files, tree->one, "[store]\n");
        assert_int_equal(unlink(tree->conf), 0);
        assert_false(config_files_find_edited(&files, tree->conf, true, found));
        assert_true(config_files_find_edited(&files, tree->conf, false, found));
        assert_string_equal(found, tree->conf);
        write_file(tree->conf, "");
        assert_true(config_files_find_edited(&files, tree->conf, true, found));
        assert_string_equal(found, tree->conf);
}

static void files_beyond_the_limit_are_compared_together(void **state) {
        const Tree *tree = *state;
        char path[CONFIG_PATH_MAX], found[CONFIG_PATH_MAX];
        ConfigFiles files = {};

        add(&files, tree->conf, "[http]\n");
        assert_int_equal(unlink(tree->one), 0);
        for (unsigned i = 0; i < CONFIG_FILES_MAX + 10; i++) {
                (void)snprintf(path, sizeof(path), "%s/%03u.conf", tree->drop_ins, i);
                write_file(path, "[store]\n");
                add(&files, path, "[store]\n");
        }
        assert_false(config_files_find_edited(&files, tree->conf, false, found));
        write_file(path, "[http]\n");
        assert_true(config_files_find_edited(&files, tree->conf, false, found));
        for (unsigned i = 0; i < CONFIG_FILES_MAX + 10; i++) {
                (void)snprintf(path, sizeof(path), "%s/%03u.conf", tree->drop_ins, i);
                assert_int_equal(unlink(path), 0);
        }
}

static void wait_until_edited(ConfigWatch *watch, const char *expected) {
        uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
        const char *edited;

        do {
                (void)usleep(1000);
                edited = config_watch_get(watch);
        } while (strcmp(edited, expected) != 0 && clock_monotonic_ns() < end_ns);
        assert_string_equal(edited, expected);
}

static void the_thread_notices_an_edit_until_the_files_are_read_again(void **state) {
        const Tree *tree = *state;
        ConfigFiles files = files_of(tree);
        ConfigWatch watch;

        write_file(tree->one, "");
        config_watch_init(&watch, tree->conf, false, &files);
        wait_until_edited(&watch, tree->one);

        files = (ConfigFiles){};
        add(&files, tree->conf, "[http]\n");
        add(&files, tree->one, "");
        config_watch_set(&watch, &files);
        assert_string_equal(config_watch_get(&watch), "");

        /* What was read is not what is there: a comparison with the former files does not count. */
        add(&files, tree->two, "");
        config_watch_set(&watch, &files);
        wait_until_edited(&watch, tree->conf);
        config_watch_deinit(&watch);
        config_watch_deinit(&watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, remove_tree)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_edited_file_is_named),
                TEST(a_file_that_is_gone_was_edited_unless_it_is_optional),
                TEST(files_beyond_the_limit_are_compared_together),
                TEST(the_thread_notices_an_edit_until_the_files_are_read_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
