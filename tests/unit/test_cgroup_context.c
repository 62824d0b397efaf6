/* SPDX-License-Identifier: Apache-2.0 */
/* The position of a process in control groups, read from trees of several kinds of machines. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "client/cgroup/cgroup_context.h"
#include "client/wire/user.h"
#include "tree.h"

#define SLICE "/user.slice/user-1000.slice"
#define SESSION SLICE "/session-2.scope"
#define V2 "sys/fs/cgroup"

typedef struct Root {
        char path[64];
        int fd;
} Root;

static int setup(void **state) {
        Root *root = calloc(1, sizeof(*root));

        assert_non_null(root);
        snprintf(root->path, sizeof(root->path), "/tmp/perfd-test-XXXXXX");
        assert_non_null(mkdtemp(root->path));
        root->fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(root->fd >= 0);
        *state = root;
        return 0;
}

static int teardown(void **state) {
        Root *root = *state;

        close(root->fd);
        tree_remove(root->path);
        free(root);
        return 0;
}

/* Writes a file of the tree, and creates its parent directories. */
static void put(const Root *root, const char *path, const char *text) {
        char full[512], *slash;

        snprintf(full, sizeof(full), "%s/%s", root->path, path);
        slash = strrchr(full, '/');
        *slash = '\0';
        assert_int_equal(file_make_dirs(full, 0755), 0);
        tree_write(root->path, path, text);
}

static void read_all(const Root *root, uint32_t uid, CgroupContext *ret) {
        assert_int_equal(cgroup_context_read(ret, root->fd, uid), 0);
}

/* A machine with cgroup v2 only; this process is in a session. */
static void put_session(const Root *root) {
        put(root, "proc/self/cgroup", "0::" SESSION "\n");
        put(root, "proc/1/cgroup", "0::/init.scope\n");
        put(root, "run/systemd/system/x", "");
        put(root, V2 "/cgroup.controllers", "cpu io memory pids\n");
        put(root, V2 SESSION "/cgroup.procs", "");
        put(root, V2 SESSION "/memory.max", "max\n");
        put(root, V2 SESSION "/memory.high", "max\n");
        put(root, V2 SESSION "/cpu.max", "max 100000\n");
        put(root, V2 SESSION "/cpuset.cpus", "\n");
        put(root, V2 SESSION "/io.max", "");
        put(root, V2 SESSION "/pids.max", "max\n");
}

static void a_session_without_limits(void **state) {
        CgroupContext s;

        put_session(*state);
        read_all(*state, 1000, &s);
        assert_true(s.has_systemd);
        assert_true(s.has_system_manager);
        assert_string_equal(s.unit, SESSION);
        assert_int_equal(s.scope.manager, SCOPE_MANAGER_USER);
        assert_false(s.is_apart);
        assert_false(s.is_limited);
        assert_true(s.tasks_max == UINT64_MAX);
        assert_string_equal(s.directory, V2 SESSION);
        assert_false(s.is_delegated);
        assert_int_equal(s.is_own, geteuid() == 1000);
}

static void each_limit_is_detected(void **state) {
        static const char *const files[][2] = {
                { "memory.max", "1073741824\n" }, { "memory.high", "0\n" },   { "memory.swap.max", "0\n" },      { "cpu.max", "200000 100000\n" },
                { "cpuset.cpus", "0-3\n" },       { "cpuset.mems", "0\n" }, { "io.max", "8:0 rbps=1048576\n" },
        };
        CgroupContext s;

        for (size_t i = 0; i < N_ELEMENTS(files); i++) {
                char path[256];

                put_session(*state);
                snprintf(path, sizeof(path), V2 SESSION "/%s", files[i][0]);
                put(*state, path, files[i][1]);
                read_all(*state, 1000, &s);
                assert_true(s.is_limited);
                put(*state, path, "");
                read_all(*state, 1000, &s);
                assert_false(s.is_limited);
        }
}

static void limits_of_slices_that_stay_above_do_not_matter(void **state) {
        CgroupContext s;

        put_session(*state);
        put(*state, V2 SLICE "/memory.max", "1073741824\n");
        put(*state, V2 "/user.slice/memory.max", "1073741824\n");
        read_all(*state, 1000, &s);
        assert_false(s.is_limited);
}

static void other_limits_are_detected(void **state) {
        const Root *root = *state;
        CgroupContext s;

        /* With sudo, the process leaves the user's manager as well as its scope. */
        put_session(root);
        put(root, "proc/self/cgroup", "0::" SLICE "/user@1000.service/app.slice/x.scope\n");
        put(root, V2 SLICE "/user@1000.service/app.slice/x.scope/cgroup.procs", "");
        put(root, V2 SLICE "/user@1000.service/memory.max", "1073741824\n");
        read_all(root, 0, &s);
        assert_true(s.is_limited);
        read_all(root, 1000, &s);
        assert_false(s.is_limited);
}

static void the_task_limit_is_reported(void **state) {
        CgroupContext s;

        put_session(*state);
        put(*state, V2 SESSION "/pids.max", "100\n");
        read_all(*state, 1000, &s);
        assert_true(s.tasks_max == 100);
        assert_false(s.is_limited);
}

static void a_user_may_linger(void **state) {
        char name[128], path[256];
        CgroupContext s;

        put_session(*state);
        read_all(*state, geteuid(), &s);
        assert_false(s.has_linger);

        user_name_find(geteuid(), name, sizeof(name));
        snprintf(path, sizeof(path), "var/lib/systemd/linger/%s", name);
        put(*state, path, "");
        read_all(*state, geteuid(), &s);
        assert_true(s.has_linger);
}

static void a_container_that_sees_the_machines_systemd_is_not_managed_by_it(void **state) {
        static const char *const places[] = { "0::/\n", "0::/../../init.scope\n", "" };
        CgroupContext s;

        put_session(*state);
        put(*state, "proc/self/cgroup", "0::/\n");
        for (size_t i = 0; i < N_ELEMENTS(places); i++) {
                put(*state, "proc/1/cgroup", places[i]);
                read_all(*state, 0, &s);
                assert_true(s.has_systemd);
                assert_false(s.has_system_manager);
        }
}

static void without_systemd_there_is_just_a_group(void **state) {
        const Root *root = *state;
        CgroupContext s;

        put(root, "proc/self/cgroup", "0::/docker/0123\n");
        put(root, V2 "/cgroup.controllers", "cpu\n");
        put(root, V2 "/docker/0123/cgroup.procs", "");
        read_all(root, geteuid(), &s);
        assert_false(s.has_systemd);
        assert_string_equal(s.directory, V2 "/docker/0123");
        assert_true(s.is_own);
        assert_true(s.is_writable);

        read_all(root, geteuid() + 1, &s);
        assert_false(s.is_own);
}

static void a_group_without_its_file_cannot_be_entered(void **state) {
        const Root *root = *state;
        CgroupContext s;

        put(root, "proc/self/cgroup", "0::/docker/0123\n");
        put(root, V2 "/cgroup.controllers", "cpu\n");
        put(root, V2 "/docker/0123/cgroup.threads", "");
        read_all(root, geteuid(), &s);
        assert_false(s.is_own);
        assert_false(s.is_writable);
}

static void delegation_is_read_from_an_attribute(void **state) {
        const Root *root = *state;
        char path[256];
        CgroupContext s;

        put_session(root);
        snprintf(path, sizeof(path), "%s/" V2 SESSION, root->path);
        if (setxattr(path, "user.delegate", "0", 1, 0) < 0 && errno == ENOTSUP)
                skip(); /* this file system has no extended attributes of users */
        read_all(root, 1000, &s);
        assert_false(s.is_delegated);
        assert_int_equal(setxattr(path, "user.delegate", "1", 1, 0), 0);
        read_all(root, 1000, &s);
        assert_true(s.is_delegated);
}

static void a_group_outside_the_namespace_is_ignored(void **state) {
        static const char *const places[] = { "0::/../x\n", "0::/..\n", "0::/not/mounted/here\n" };
        const Root *root = *state;
        CgroupContext s;

        put(root, V2 "/cgroup.controllers", "cpu\n");
        for (size_t i = 0; i < N_ELEMENTS(places); i++) {
                put(root, "proc/self/cgroup", places[i]);
                read_all(root, 0, &s);
                assert_string_equal(s.directory, "");
                assert_false(s.is_writable);
        }
}

/* Debian 10, or RHEL 9 with both versions: systemd has a hierarchy of its own, and v2 exists next to v1. */
static void mixed_hierarchies_are_read_in_both(void **state) {
        const Root *root = *state;
        CgroupContext s;

        put(root, "proc/self/cgroup",
            "5:memory:" SESSION "\n4:cpu,cpuacct:/user.slice\n1:name=systemd:" SESSION "\n0::" SESSION "\n");
        put(root, "run/systemd/system/x", "");
        put(root, "sys/fs/cgroup/unified/cgroup.controllers", "");
        put(root, "sys/fs/cgroup/unified" SESSION "/cgroup.procs", "");
        put(root, "sys/fs/cgroup/memory" SESSION "/memory.limit_in_bytes", "9223372036854771712\n");
        /* a limit of a parent group remains */
        put(root, "sys/fs/cgroup/cpu/user.slice/cpu.cfs_quota_us", "100000\n");
        read_all(root, 0, &s);
        assert_string_equal(s.unit, SESSION);
        assert_string_equal(s.directory, "sys/fs/cgroup/unified" SESSION);
        assert_false(s.is_apart);
        assert_false(s.is_limited);

        put(root, "sys/fs/cgroup/memory" SESSION "/memory.limit_in_bytes", "1073741824\n");
        read_all(root, 0, &s);
        assert_true(s.is_limited);
}

static void quotas_and_task_limits_of_version_1_are_detected(void **state) {
        const Root *root = *state;
        CgroupContext s;

        put(root, "proc/self/cgroup", "4:cpu,cpuacct:" SESSION "\n3:pids:" SESSION "\n1:name=systemd:" SESSION "\n");
        put(root, "sys/fs/cgroup/cpu" SESSION "/cpu.cfs_quota_us", "-1\n");
        put(root, "sys/fs/cgroup/pids" SESSION "/pids.max", "77\n");
        read_all(root, 0, &s);
        assert_string_equal(s.directory, "");
        assert_false(s.is_limited);
        assert_true(s.tasks_max == 77);

        put(root, "sys/fs/cgroup/cpu" SESSION "/cpu.cfs_quota_us", "50000\n");
        read_all(root, 0, &s);
        assert_true(s.is_limited);
}

/* pam_slurm_adopt moves a session into the job's groups, but not in systemd's hierarchy. */
static void groups_of_a_scheduler_in_version_1_are_detected(void **state) {
        CgroupContext s;

        put(*state, "proc/self/cgroup", "5:memory:/slurm/uid_1000/job_42/step_extern\n1:name=systemd:" SESSION "\n");
        read_all(*state, 1000, &s);
        assert_true(s.is_apart);
        put(*state, "proc/self/cgroup",
            "5:memory:/user.slice/user-1000.slice/session-22.scope\n1:name=systemd:" SESSION "\n");
        read_all(*state, 1000, &s);
        assert_true(s.is_apart);
        put(*state, "proc/self/cgroup",
            "6:freezer:/\n5:memory:/user.slice\n1:name=systemd:" SESSION "\n2:name=other:/x\n");
        read_all(*state, 1000, &s);
        assert_false(s.is_apart);
}

/* Some machines mount a hierarchy of that name for old containers; with v2 only, systemd does not use it. */
static void a_hierarchy_named_systemd_may_not_be_systemds(void **state) {
        CgroupContext s;

        put_session(*state);
        put(*state, "proc/self/cgroup", "1:name=systemd:/\n0::" SESSION "\n");
        read_all(*state, 1000, &s);
        assert_string_equal(s.unit, SESSION);
}

static void malformed_texts_allow_nothing(void **state) {
        static char longest[5000];
        const char *const texts[] = { "", "0::\n", "x", "0::relative\n", "::::\n", longest };
        CgroupContext s;

        snprintf(longest, sizeof(longest), "0::/user.slice/%04000d\n", 0);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                put(*state, V2 "/cgroup.controllers", "");
                put(*state, "proc/self/cgroup", texts[i]);
                read_all(*state, 0, &s);
                assert_int_equal(s.scope.manager, SCOPE_MANAGER_NONE);
                assert_string_equal(s.directory, "");
        }
}

static void without_control_groups_it_is_an_error(void **state) {
        const Root *root = *state;
        CgroupContext s;

        assert_int_equal(cgroup_context_read(&s, root->fd, 0), -ENOENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                TEST(a_session_without_limits),
                TEST(each_limit_is_detected),
                TEST(limits_of_slices_that_stay_above_do_not_matter),
                TEST(other_limits_are_detected),
                TEST(the_task_limit_is_reported),
                TEST(a_user_may_linger),
                TEST(a_container_that_sees_the_machines_systemd_is_not_managed_by_it),
                TEST(without_systemd_there_is_just_a_group),
                TEST(a_group_without_its_file_cannot_be_entered),
                TEST(delegation_is_read_from_an_attribute),
                TEST(a_group_outside_the_namespace_is_ignored),
                TEST(mixed_hierarchies_are_read_in_both),
                TEST(quotas_and_task_limits_of_version_1_are_detected),
                TEST(groups_of_a_scheduler_in_version_1_are_detected),
                TEST(a_hierarchy_named_systemd_may_not_be_systemds),
                TEST(malformed_texts_allow_nothing),
                TEST(without_control_groups_it_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
