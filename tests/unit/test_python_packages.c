/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions of an environment of Python, and their copies until it changes. */
/* tests: client/stack/stack_source.c client/stack/stack_cache.c */

#include "client/stack/stack_source.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tree.h"

#define SITE "venv/lib/python3.11/site-packages"

/* A file system below a directory, with an environment and a directory of copies. */
typedef struct Tree {
        char root[64], cache[128];
} Tree;

static void make_directory(const Tree *tree, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/%s", tree->root, path);
        assert_int_equal(file_make_dirs(full, 0755), 0);
}

static int set_up(void **state) {
        Tree *tree = calloc(1, sizeof(*tree));

        assert_non_null(tree);
        (void)snprintf(tree->root, sizeof(tree->root), "/tmp/perfd-root-XXXXXX");
        assert_non_null(mkdtemp(tree->root));
        (void)snprintf(tree->cache, sizeof(tree->cache), "%s/cache", tree->root);
        make_directory(tree, SITE);
        *state = tree;
        return 0;
}

static int tear_down(void **state) {
        Tree *tree = *state;

        tree_remove(tree->root);
        free(tree);
        return 0;
}

/* Gives the directory of packages a time of the last change so many seconds ago: what has just changed is not
 * copied. */
static void set_age(const Tree *tree, time_t seconds) {
        struct timespec now, times[2];
        char path[256];

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        times[0] = times[1] = (struct timespec){ .tv_sec = now.tv_sec - seconds };
        (void)snprintf(path, sizeof(path), "%s/" SITE, tree->root);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Writes the metadata of version 1.2, and a list of files; NULL: none. */
static void install(const Tree *tree, const char *name, const char *record) {
        char path[128], metadata[128];

        (void)snprintf(path, sizeof(path), SITE "/%s-1.2.dist-info", name);
        make_directory(tree, path);
        (void)snprintf(path, sizeof(path), SITE "/%s-1.2.dist-info/METADATA", name);
        (void)snprintf(metadata, sizeof(metadata), "Metadata-Version: 2.1\nName: %s\nVersion: 1.2\n\nVersion: 9\n",
                       name);
        tree_write(tree->root, path, metadata);
        (void)snprintf(path, sizeof(path), SITE "/%s-1.2.dist-info/RECORD", name);
        if (record)
                tree_write(tree->root, path, record);
}

/* Reads the only package. ret_hash: "" for none. */
static void read_package(const Tree *tree, const char *name, char ret_hash[static 128]) {
        scoped(closep) int fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped(stack_builder_deinit) StackBuilder stack = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *hashes;

        assert_true(fd >= 0);
        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        stack.arena = &arena;
        assert_int_equal(stack_source_read_python(fd, "/venv", tree->cache, &stack), 0);
        assert_int_equal(stack.n, 1);
        assert_string_equal(value_get_string(&stack.packages[0], "name"), name);
        assert_string_equal(value_get_string(&stack.packages[0], "version"), "1.2");
        assert_int_equal(stack.python.n, strlen("3.11"));
        hashes = value_get(&stack.packages[0], "hashes");
        (void)snprintf(ret_hash, 128, "%s", hashes ? hashes->items[0].string : "");
}

static void every_installation_of_a_wheel_has_one_hash(void **state) {
        /* printf 'own/a.so,sha256=x,1\nown/b.py,sha256=y,2\n' | sha256sum */
        static const char expected[] = "files-sha256:2370a6158460a0d391790cda5faea804fe27bff407d9818688831884b0cfb4be";
        static const char *const records[] = {
                "own/a.so,sha256=x,1\nown/b.py,sha256=y,2\n",
                "own/b.py,sha256=y,2\r\nown/a.so,sha256=x,1\r\n",
                ("../../../bin/own,sha256=s,9\nown/b.py,sha256=y,2\nown/__pycache__/b.pyc,,\nown/a.so,sha256=x,1\n"
                 "own-1.2.dist-info/INSTALLER,sha256=i,4\nown-1.2.dist-info/RECORD,,\n/etc/own,sha256=e,1"),
        };
        Tree *tree = *state;
        char hash[128];

        for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
                install(tree, "own", records[i]);
                read_package(tree, "own", hash);
                assert_string_equal(hash, expected);
        }
        install(tree, "own", "own/a.so,sha256=z,1\nown/b.py,sha256=y,2\n");
        read_package(tree, "own", hash);
        assert_string_not_equal(hash, expected);
}

static void a_package_without_hashes_has_none(void **state) {
        static const char *const records[] = {
                NULL, "", "\n\n", "own/a.so,,\n", "a\n", ",,", "own-1.2.dist-info/METADATA,sha256=x,1\n"
        };
        Tree *tree = *state;
        char hash[128];

        for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
                install(tree, "own", records[i]);
                read_package(tree, "own", hash);
                assert_string_equal(hash, "");
        }
}

static void packages_are_kept_until_the_environment_changes(void **state) {
        Tree *tree = *state;
        char first[128], second[128];

        install(tree, "own", "own/a.so,sha256=x,1\n");
        set_age(tree, 60);
        read_package(tree, "own", first);
        install(tree, "own", "own/a.so,sha256=y,1\n"); /* in place, which no installer does */
        read_package(tree, "own", second);
        assert_string_equal(second, first);

        set_age(tree, 30);
        read_package(tree, "own", second);
        assert_string_not_equal(second, first);
}

static void a_prefix_without_packages_is_reported(void **state) {
        Tree *tree = *state;
        scoped(closep) int fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped(stack_builder_deinit) StackBuilder stack = {};

        assert_int_equal(stack_source_read_python(fd, "/", tree->cache, &stack), PYTHON_PACKAGES_NONE);
        assert_int_equal(stack_source_read_python(fd, "/absent", NULL, &stack), PYTHON_PACKAGES_NONE);
        assert_int_equal(stack.n, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_installation_of_a_wheel_has_one_hash),
                TEST(a_package_without_hashes_has_none),
                TEST(packages_are_kept_until_the_environment_changes),
                TEST(a_prefix_without_packages_is_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
