/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/cgroup/isolation.c */
/* Creates a child group in an ordinary directory and, if cgroup v2 is writable, in a real hierarchy. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cgroup/isolation.h"
#include "tree.h"

static void a_directory_outside_a_hierarchy_is_unchanged(void **state) {
        char root[64] = "/tmp/perfd-test-XXXXXX";
        scoped(closep) int fd = -1;
        ChildGroup group;

        (void)state;
        assert_non_null(mkdtemp(root));
        fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(isolation_enter_group(&group, fd, ".", "j1"), -ENOENT);
        isolation_leave_group(&group, true);
        assert_int_equal(isolation_enter_group(&group, fd, "absent", "j1"), -ENOENT);
        isolation_leave_group(&group, true);
        assert_int_equal(rmdir(root), 0);
}

/* --- real hierarchy ------------------------------------------------------------------------------- */

typedef struct Real {
        int root_fd;
        char id[32];
        CgroupContext at_first;
} Real;

static int setup(void **state) {
        Real *real = calloc(1, sizeof(*real));

        assert_non_null(real);
        real->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        snprintf(real->id, sizeof(real->id), "unit-%d", getpid());
        assert_int_equal(cgroup_context_read(&real->at_first, real->root_fd, geteuid()), 0);
        *state = real;
        return 0;
}

static int teardown(void **state) {
        Real *real = *state;

        close(real->root_fd);
        free(real);
        return 0;
}

static void skip_unless_writable(const Real *real) {
        ChildGroup group;

        if (!real->at_first.is_writable ||
            isolation_enter_group(&group, real->root_fd, real->at_first.directory, real->id) < 0)
                skip(); /* no cgroup can be made here */
        isolation_leave_group(&group, true);
}

static bool exists(const Real *real) {
        char path[CGROUP_CONTEXT_PATH_MAX + 64];
        struct stat st;

        snprintf(path, sizeof(path), "%s/perfd-%s", real->at_first.directory, real->id);
        return fstatat(real->root_fd, path, &st, 0) == 0;
}

static void assert_inside(const Real *real, bool is_inside) {
        char name[64];
        CgroupContext now;

        snprintf(name, sizeof(name), "/perfd-%s", real->id);
        assert_int_equal(cgroup_context_read(&now, real->root_fd, geteuid()), 0);
        assert_int_equal(strstr(now.directory, name) != NULL, is_inside);
        if (!is_inside)
                assert_string_equal(now.directory, real->at_first.directory);
}

static void a_child_group_is_entered_left_and_removed(void **state) {
        Real *real = *state;
        ChildGroup group;

        skip_unless_writable(real);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(isolation_enter_group(&group, real->root_fd, real->at_first.directory, real->id), 0);
                assert_inside(real, true);
                isolation_leave_group(&group, true);
                assert_inside(real, false);
                assert_false(exists(real));
                isolation_leave_group(&group, true); /* a second call is harmless */
        }
}

static void a_child_group_remains_if_not_to_be_removed(void **state) {
        Real *real = *state;
        ChildGroup group;

        skip_unless_writable(real);
        assert_int_equal(isolation_enter_group(&group, real->root_fd, real->at_first.directory, real->id), 0);
        isolation_leave_group(&group, false);
        assert_inside(real, false);
        assert_true(exists(real));

        assert_int_equal(isolation_enter_group(&group, real->root_fd, real->at_first.directory, real->id), 0);
        isolation_leave_group(&group, true);
        assert_false(exists(real));
}

static void a_child_group_remains_while_it_has_processes(void **state) {
        Real *real = *state;
        ChildGroup group, another;
        int status;
        pid_t child;

        skip_unless_writable(real);
        assert_int_equal(isolation_enter_group(&group, real->root_fd, real->at_first.directory, real->id), 0);
        child = fork();
        if (child == 0) {
                (void)pause();
                _exit(0);
        }
        isolation_leave_group(&group, true);
        assert_inside(real, false);
        assert_true(exists(real));

        /* Another job cannot use a group with processes and counters of this one. */
        assert_int_equal(isolation_enter_group(&another, real->root_fd, real->at_first.directory, real->id), -EBUSY);
        assert_inside(real, false);
        isolation_leave_group(&another, true);

        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);

        /* After the group is empty, it is created again with counters of 0. */
        assert_int_equal(isolation_enter_group(&another, real->root_fd, real->at_first.directory, real->id), 0);
        assert_inside(real, true);
        isolation_leave_group(&another, true);
        assert_false(exists(real));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_directory_outside_a_hierarchy_is_unchanged),
                cmocka_unit_test_setup_teardown(a_child_group_is_entered_left_and_removed, setup, teardown),
                cmocka_unit_test_setup_teardown(a_child_group_remains_if_not_to_be_removed, setup, teardown),
                cmocka_unit_test_setup_teardown(a_child_group_remains_while_it_has_processes, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
