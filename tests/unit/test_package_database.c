/* SPDX-License-Identifier: Apache-2.0 */
/* Installed packages of dpkg and rpm, and their copies until the database changes. */
/* tests: client/stack/package_database.c client/stack/stack_cache.c */

#include "client/stack/package_database.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "client/stack/stack_cache.h"
#include "tree.h"
#include "util/buffer.h"

#define STATUS                                                                                                         \
        "Package: bash\nEssential: yes\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2.15-2+b2\n\n"   \
        "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"                        \
        "Package: libc6\nStatus: hold ok installed\nVersion: 2.36-9\nArchitecture: amd64\nDescription: a\n Status: "   \
        "b\n\n"                                                                                                        \
        "Package: bad\xff\nStatus: install ok installed\nVersion: 1\n\n"

/* A system below a directory: a root, a directory of programs, and a directory of copies. */
typedef struct Node {
        char root[64], path[256], cache[128];
        char *kept_path; /* PATH of the test */
} Node;

static void make_directory(const Node *node, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/%s", node->root, path);
        assert_int_equal(file_make_dirs(full, 0755), 0);
}

static int set_up(void **state) {
        Node *node = calloc(1, sizeof(*node));

        assert_non_null(node);
        (void)snprintf(node->root, sizeof(node->root), "/tmp/perfd-root-XXXXXX");
        assert_non_null(mkdtemp(node->root));
        make_directory(node, "var/lib/dpkg");
        make_directory(node, "var/lib/rpm");
        make_directory(node, "bin");
        (void)snprintf(node->cache, sizeof(node->cache), "%s/home/cache/node", node->root);
        node->kept_path = strdup(getenv("PATH"));
        (void)snprintf(node->path, sizeof(node->path), "%s/bin:/usr/bin:/bin", node->root);
        assert_int_equal(setenv("PATH", node->path, 1), 0);
        *state = node;
        return 0;
}

static int tear_down(void **state) {
        Node *node = *state;

        assert_int_equal(setenv("PATH", node->kept_path, 1), 0);
        tree_remove(node->root);
        free(node->kept_path);
        free(node);
        return 0;
}

/* Gives a file a time of the last change so many seconds ago: a database that has just changed is not copied. */
static void set_age(const Node *node, const char *path, time_t seconds) {
        struct timespec now, times[2];
        char full[256];

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        times[0] = times[1] = (struct timespec){ .tv_sec = now.tv_sec - seconds };
        (void)snprintf(full, sizeof(full), "%s/%s", node->root, path);
        assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static void put_packages(const StackBuilder *stack, Buffer *out) {
        static const char *const keys[] = { "name", "kind", "version", "source", "build" };

        buffer_puts(out, "");
        for (size_t i = 0; i < stack->n; i++)
                for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
                        buffer_printf(out, "%s%s", value_get_string(&stack->packages[i], keys[k]) ?: "-",
                                      k < 4 ? " " : "\n");
}

/* Reads a database. packages: expected lines, in the order of the database; NULL: not compared. Returns the outcome. */
static int read_packages(const Node *node, const char *word, const char *packages) {
        scoped(closep) int fd = open(node->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped(stack_builder_deinit) StackBuilder stack = {};
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        int r;

        assert_true(fd >= 0);
        assert_int_equal(arena_init(&arena, 16 << 20), 0);
        stack.arena = &arena;
        r = package_database_read(word, fd, node->cache, &stack);
        put_packages(&stack, &text);
        if (packages)
                assert_string_equal(text.text, packages);
        return r;
}

/* --- dpkg ------------------------------------------------------------------------------------------- */

#define BOTH "bash dpkg 5.2.15-2+b2 - amd64\nlibc6 dpkg 2.36-9 - amd64\n"

static void installed_packages_of_dpkg_are_listed(void **state) {
        const Node *node = *state;

        assert_int_equal(read_packages(node, "dpkg", ""), PACKAGE_DATABASE_NONE);
        tree_write(node->root, "var/lib/dpkg/status", STATUS);
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
}

/* Replaces a package in the copy, so that a test sees whether the copy is read. */
static void mark_copy(const Node *node, const char *word, const char *from, const char *to) {
        scoped(freep) char *text = NULL;
        char path[256], *at;

        (void)snprintf(path, sizeof(path), "%s/%s", node->cache, word);
        assert_int_equal(file_read_at(AT_FDCWD, path, 1 << 20, &text, NULL), 0);
        at = strstr(text, from);
        assert_non_null(at);
        memcpy(at, to, strlen(to));
        assert_int_equal(file_replace(path, text, strlen(text), 0600, false), 0);
}

static void a_list_is_kept_until_the_database_changes(void **state) {
        const Node *node = *state;

        tree_write(node->root, "var/lib/dpkg/status", STATUS);
        set_age(node, "var/lib/dpkg/status", 60);
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
        mark_copy(node, "dpkg", "bash", "kept");
        assert_int_equal(read_packages(node, "dpkg", "kept dpkg 5.2.15-2+b2 - amd64\nlibc6 dpkg 2.36-9 - amd64\n"), 0);

        set_age(node, "var/lib/dpkg/status", 30);
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
}

static void a_database_that_has_just_changed_is_not_copied(void **state) {
        const Node *node = *state;
        struct stat st;

        tree_write(node->root, "var/lib/dpkg/status", STATUS);
        set_age(node, "var/lib/dpkg/status", -60); /* in the future */
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
        assert_int_equal(stat(node->cache, &st), -1);
}

static void a_copy_that_is_cut_or_not_ours_is_not_read(void **state) {
        const Node *node = *state;
        scoped(freep) char *text = NULL;
        char path[256];
        size_t n_all;

        tree_write(node->root, "var/lib/dpkg/status", STATUS);
        set_age(node, "var/lib/dpkg/status", 60);
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
        (void)snprintf(path, sizeof(path), "%s/dpkg", node->cache);
        assert_int_equal(file_read_at(AT_FDCWD, path, 1 << 20, &text, &n_all), 0);
        for (size_t n = 0; n < n_all; n++) {
                assert_int_equal(file_replace(path, text, n, 0600, false), 0);
                assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
        }
        for (size_t n = 0; n < n_all; n++) {
                char kept = text[n];

                text[n] = '\n';
                assert_int_equal(file_replace(path, text, n_all, 0600, false), 0);
                text[n] = kept;
                assert_int_equal(read_packages(node, "dpkg", NULL), 0);
        }

        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("/dev/zero", path), 0);
        assert_int_equal(read_packages(node, "dpkg", BOTH), 0);
}

static int add_package(void *userdata, StackBuilder *stack) {
        stack_builder_add(stack, userdata);
        return 0;
}

static void packages_that_do_not_fit_a_line_are_not_copied(void **state) {
        const Node *node = *state;
        const DraftPackage package = { .name = stack_builder_slice("a\tb"), .kind = "dpkg" };
        scoped(stack_builder_deinit) StackBuilder stack = {};
        scoped(arena_deinit) Arena arena = {};
        scoped(stack_cache_stamp_deinit) StackStamp stamp = {};
        StackCacheEntry entry = { .directory = node->cache, .name = "dpkg", .kind = "dpkg", .stamp = &stamp };
        char path[256];

        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        stack.arena = &arena;
        stack_cache_stamp_init(&stamp, "stamp");
        (void)snprintf(path, sizeof(path), "%s/dpkg", node->cache);
        assert_int_equal(stack_cache_get(&entry, add_package, (void *)&package, &stack), 0);
        assert_int_equal(access(path, F_OK), -1);
        entry.directory = "/proc/none";
        assert_int_equal(stack_cache_get(&entry, add_package, (void *)&package, &stack), 0);
        entry.directory = NULL;
        assert_int_equal(stack_cache_get(&entry, add_package, (void *)&package, &stack), 0);
        assert_int_equal(stack.n, 3);
}

/* --- rpm -------------------------------------------------------------------------------------------- */

static void write_program(const Node *node, const char *text) {
        char path[256];

        tree_write(node->root, "bin/rpm", text);
        (void)snprintf(path, sizeof(path), "%s/bin/rpm", node->root);
        assert_int_equal(chmod(path, 0755), 0);
}

static void the_list_of_rpm_is_read(void **state) {
        const Node *node = *state;

        write_program(
                node,
                "#!/bin/sh\n"
                "[ \"$1 $3 $4 $HOME\" = '--dbpath -qa --queryformat /' ] || exit 1\n"
                "printf 'bash\\t5.1.8-9.el9\\tRed Hat, Inc.\\tx86_64\\n'\n"
                "printf 'kernel\\t5.14.0-1.el9\\t(none)\\tx86_64\\nkernel\\t1:5.14.0-2.el9\\t(none)\\tx86_64\\n'\n"
                "printf 'gpg-pubkey\\tfd431d51-4ae0493b\\t(none)\\t(none)\\n'\n"
                "echo \"${2#*/var/lib/}\tmissing\"\n");
        assert_int_equal(read_packages(node, "rpm", ""), PACKAGE_DATABASE_NONE);
        tree_write(node->root, "var/lib/rpm/Packages", "");
        assert_int_equal(read_packages(node, "rpm",
                                       "bash rpm 5.1.8-9.el9 Red Hat, Inc. x86_64\n"
                                       "kernel rpm 5.14.0-1.el9 - x86_64\n"
                                       "kernel rpm 1:5.14.0-2.el9 - x86_64\n"
                                       "rpm rpm missing - -\n"), 0);
}

static void the_log_of_a_database_is_a_part_of_its_state(void **state) {
        const Node *node = *state;

        write_program(node, "#!/bin/sh\nprintf 'bash\\t5\\t(none)\\tx86_64\\n'\n");
        tree_write(node->root, "var/lib/rpm/rpmdb.sqlite", "");
        set_age(node, "var/lib/rpm/rpmdb.sqlite", 60);
        assert_int_equal(read_packages(node, "rpm", "bash rpm 5 - x86_64\n"), 0);
        mark_copy(node, "rpm", "bash", "kept");
        tree_write(node->root, "var/lib/rpm/rpmdb.sqlite-wal", ""); /* as a reader leaves it */
        assert_int_equal(read_packages(node, "rpm", "kept rpm 5 - x86_64\n"), 0);
        tree_write(node->root, "var/lib/rpm/rpmdb.sqlite-wal", "change");
        assert_int_equal(read_packages(node, "rpm", "bash rpm 5 - x86_64\n"), 0);
}

static void a_database_that_rpm_cannot_list_is_an_error(void **state) {
        const Node *node = *state;

        tree_write(node->root, "var/lib/rpm/Packages", "");
        write_program(node, "#!/bin/sh\necho 'error: cannot open Packages database' >&2\nexit 1\n");
        assert_int_equal(read_packages(node, "rpm", ""), PACKAGE_DATABASE_FAILED);
        write_program(node, "#!/bin/sh\nkill -9 $$\n");
        assert_int_equal(read_packages(node, "rpm", ""), PACKAGE_DATABASE_FAILED);
        assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
        assert_int_equal(read_packages(node, "rpm", ""), PACKAGE_DATABASE_FAILED);
}

/* Makes a package with rpmbuild, and a database of rpm with the package. */
static void install_real_package(const Node *node) {
        char command[1024];

        tree_write(node->root, "own.spec",
                   "Name: own\nVersion: 1.2\nRelease: 3\nEpoch: 4\nSummary: Own\nLicense: none\nVendor: Own, "
                   "Inc.\nBuildArch: noarch\n"
                   "%description\n%files\n");
        (void)snprintf(command, sizeof(command),
                       "cd %s && export HOME=%s && { rpmbuild -bb --define \"_topdir $HOME/build\" own.spec &&"
                       " rpm --dbpath $HOME/var/lib/rpm --initdb &&"
                       " rpm --dbpath $HOME/var/lib/rpm -i --justdb --nodeps build/RPMS/noarch/*.rpm; } >log 2>&1 ||"
                       " { cat log; exit 1; }",
                       node->root, node->root);
        assert_int_equal(system(command), 0);
}

static void a_real_database_of_rpm_is_read(void **state) {
        const Node *node = *state;

        if (access("/usr/bin/rpmbuild", X_OK) < 0)
                skip(); /* rpmbuild is not there (make interop-deps) */
        install_real_package(node);
        assert_int_equal(read_packages(node, "rpm", "own rpm 4:1.2-3 Own, Inc. noarch\n"), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(installed_packages_of_dpkg_are_listed),
                TEST(a_list_is_kept_until_the_database_changes),
                TEST(a_database_that_has_just_changed_is_not_copied),
                TEST(a_copy_that_is_cut_or_not_ours_is_not_read),
                TEST(packages_that_do_not_fit_a_line_are_not_copied),
                TEST(the_list_of_rpm_is_read),
                TEST(the_log_of_a_database_is_a_part_of_its_state),
                TEST(a_database_that_rpm_cannot_list_is_an_error),
                TEST(a_real_database_of_rpm_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
