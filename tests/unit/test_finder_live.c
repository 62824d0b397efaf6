/* SPDX-License-Identifier: Apache-2.0 */
/*
 * These tests create and remove groups in the machine's hierarchies, and check the kernel's notifications. They are
 * skipped without permission to create groups.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample/cgroup/cgroup.h"
#include "sample/detection/finder.h"
#include "util/clock.h"

typedef struct Live {
        char name[48];
        CgroupTree *tree;
        Finder *finder;
} Live;

/* skip() leaves a test without running its scoped destructors: a test owns nothing before it. */
static const char *v2_mount(void) {
        if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
                return "/sys/fs/cgroup";
        return access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0 ? "/sys/fs/cgroup/unified" : NULL;
}

/* Returns the test's directory in a hierarchy, with `below` appended. */
static const char *path_of(const Live *live, const char *mount, const char *below) {
        static char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s%s", mount, live->name, below);
        return path;
}

static bool can_make(Live *live, const char *mount) {
        (void)snprintf(live->name, sizeof(live->name), "perfd-test-finder-%d", (int)getpid());
        return mount && mkdir(path_of(live, mount, ""), 0755) == 0;
}

static void make(const Live *live, const char *mount, const char *below) {
        assert_int_equal(mkdir(path_of(live, mount, below), 0755), 0);
}

/* A group may be busy for a short time after its last process has ended. */
static void unmake(const Live *live, const char *mount, const char *below) {
        uint64_t deadline_ns = clock_boottime_ns() + 5 * NS_PER_S;

        while (rmdir(path_of(live, mount, below)) < 0) {
                assert_int_equal(errno, EBUSY);
                assert_true(clock_boottime_ns() < deadline_ns);
                (void)poll(NULL, 0, 1);
        }
}

static void begin(Live *live) {
        FinderPattern pattern = { .name = "test" };
        char text[128];

        (void)snprintf(text, sizeof(text), "/%s/jobs/job_{job}", live->name);
        pattern.text = text;
        assert_int_equal(cgroup_tree_new(&live->tree, "/"), 0);
        assert_int_equal(finder_new(&live->finder, live->tree, &pattern, 1), 0);
        assert_int_equal(finder_scan(live->finder), 0);
}

static void end(Live *live) {
        finder_free(live->finder);
        cgroup_tree_free(live->tree);
}

/* Waits for a notification of the kernel, and returns the group found. */
static FoundGroup await(const Live *live) {
        struct pollfd pollfd = { .fd = finder_fd(live->finder), .events = POLLIN };
        FoundGroup group;
        int r;

        do {
                assert_int_equal(poll(&pollfd, 1, 5000), 1);
                assert_int_equal(finder_scan(live->finder), 0);
                r = finder_next(live->finder, &group);
        } while (r == FINDER_NONE);
        assert_int_equal(r, 0);
        return group;
}

static void assert_nothing_more(const Live *live) {
        FoundGroup group;

        assert_int_equal(finder_scan(live->finder), 0);
        assert_int_equal(finder_next(live->finder, &group), FINDER_NONE);
}

static void the_kernel_reports_groups_of_v2(void **state) {
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        const char *mount = v2_mount();
        CgroupSample sample;
        FoundGroup group;
        Live live = {};

        (void)state;
        if (!can_make(&live, mount))
                skip(); /* no cgroup can be made here */

        begin(&live);
        assert_nothing_more(&live);
        make(&live, mount, "/jobs");
        make(&live, mount, "/jobs/job_1");
        group = await(&live);
        assert_string_equal(group.job, "1");
        assert_nothing_more(&live);
        assert_int_equal(cgroup_open(&cgroup, live.tree, &group.place), 0);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), 0);

        make(&live, mount, "/jobs/job_2");
        group = await(&live);
        assert_string_equal(group.job, "2");
        unmake(&live, mount, "/jobs/job_1");
        unmake(&live, mount, "/jobs/job_2");
        assert_nothing_more(&live);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), CGROUP_GONE);
        unmake(&live, mount, "/jobs");
        unmake(&live, mount, "");
        assert_nothing_more(&live);
        end(&live);
}

/*
 * The group is removed and created again between two scans: its inode number differs, since the kernel does not reuse
 * them.
 */
static void a_recreated_group_is_another_group(void **state) {
        const char *mount = v2_mount();
        FoundGroup group;
        Live live = {};

        (void)state;
        if (!can_make(&live, mount))
                skip(); /* no cgroup can be made here */

        make(&live, mount, "/jobs");
        make(&live, mount, "/jobs/job_1");
        begin(&live);
        assert_int_equal(finder_next(live.finder, &group), 0);
        unmake(&live, mount, "/jobs/job_1");
        make(&live, mount, "/jobs/job_1");
        group = await(&live);
        assert_string_equal(group.job, "1");

        unmake(&live, mount, "/jobs/job_1");
        unmake(&live, mount, "/jobs");
        make(&live, mount, "/jobs");
        make(&live, mount, "/jobs/job_1");
        group = await(&live);
        assert_string_equal(group.job, "1");
        assert_nothing_more(&live);
        unmake(&live, mount, "/jobs/job_1");
        unmake(&live, mount, "/jobs");
        unmake(&live, mount, "");
        end(&live);
}

static void the_kernel_reports_groups_of_v1(void **state) {
        static const char memory[] = "/sys/fs/cgroup/memory", cpuacct[] = "/sys/fs/cgroup/cpuacct";
        FoundGroup group;
        Live live = {};

        (void)state;
        if (!can_make(&live, memory))
                skip(); /* no cgroup can be made here */
        make(&live, cpuacct, "");

        begin(&live);
        make(&live, memory, "/jobs");
        make(&live, memory, "/jobs/job_1");
        assert_nothing_more(&live);
        make(&live, cpuacct, "/jobs");
        make(&live, cpuacct, "/jobs/job_1");
        group = await(&live);
        assert_string_equal(group.place.cpuacct, group.place.memory);
        assert_string_equal(group.place.v2, "");
        assert_nothing_more(&live);

        for (size_t i = 0; i < 2; i++) {
                unmake(&live, i > 0 ? memory : cpuacct, "/jobs/job_1");
                unmake(&live, i > 0 ? memory : cpuacct, "/jobs");
                unmake(&live, i > 0 ? memory : cpuacct, "");
        }
        end(&live);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_kernel_reports_groups_of_v2),
                cmocka_unit_test(a_recreated_group_is_another_group),
                cmocka_unit_test(the_kernel_reports_groups_of_v1),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
