/* SPDX-License-Identifier: Apache-2.0 */
/*
 * These tests create and remove groups in the machine's hierarchies, and are skipped without permission.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "cgroup_place.h"
#include "sample/cgroup/cgroup.h"
#include "util/clock.h"

#define NOW (100 * NS_PER_S)
#define PART(part) (1U << CGROUP_##part)

/* A group in one of the machine's hierarchies, with a process in it. */
typedef struct Live {
        char directory[128];
        pid_t pid;
        int to, from; /* pipes: closing `to` ends the process; it writes its CPU time to `from` */
} Live;

#define LIVE_CPU_NS (300 * NS_PER_MS)

static uint64_t process_cpu_ns(void) {
        struct timespec ts;

        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
        return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static bool write_to(const char *directory, const char *file, const char *text) {
        scoped(closep) int fd = -1;
        char path[256];

        (void)snprintf(path, sizeof(path), "%s/%s", directory, file);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Runs in the child: enters the group, uses CPU time, reports it, and waits. */
static void be_busy(const char *directory, int in, int out) {
        uint64_t begin_ns, used_ns = 0;
        char c;

        begin_ns = process_cpu_ns();
        if (write_to(directory, "cgroup.procs", "0"))
                while (used_ns < LIVE_CPU_NS)
                        used_ns = process_cpu_ns() - begin_ns;
        if (write(out, &used_ns, sizeof(used_ns)) == sizeof(used_ns))
                (void)!read(in, &c, 1);
        _exit(0);
}

/* Returns false without permission. */
static bool live_make(Live *live, const char *mount) {
        int to[2], from[2];

        (void)snprintf(live->directory, sizeof(live->directory), "%s/perfd-test-%d", mount, (int)getpid());
        if (mkdir(live->directory, 0755) < 0)
                return false;

        assert_int_equal(pipe2(to, O_CLOEXEC), 0);
        assert_int_equal(pipe2(from, O_CLOEXEC), 0);
        live->pid = fork();
        if (live->pid == 0) {
                close(to[1]);
                be_busy(live->directory, to[0], from[1]);
        }
        close(to[0]);
        close(from[1]);
        live->to = to[1];
        live->from = from[0];
        return true;
}

/* Returns the CPU time in nanoseconds that the process used in the group; 0 if it could not enter. */
static uint64_t live_wait(const Live *live) {
        uint64_t used_ns = 0;

        assert_int_equal(read(live->from, &used_ns, sizeof(used_ns)), sizeof(used_ns));
        return used_ns;
}

static void live_end(Live *live) {
        close(live->to);
        close(live->from);
        assert_int_equal(waitpid(live->pid, NULL, 0), live->pid);
}

/* A group may remain for a short time after its last process. */
static void live_remove(const Live *live) {
        uint64_t deadline_ns = clock_boottime_ns() + 5 * NS_PER_S;

        while (rmdir(live->directory) < 0) {
                assert_int_equal(errno, EBUSY);
                assert_true(clock_boottime_ns() < deadline_ns);
                (void)poll(NULL, 0, 1);
        }
}

static void assert_used(const CgroupSample *sample, uint64_t used_ns) {
        uint64_t used_us = used_ns / 1000, tolerance_us = used_us / 100 > 10000 ? used_us / 100 : 10000;

        assert_int_equal(sample->have & PART(CPU), PART(CPU));
        assert_in_range(sample->usage_us, used_us - tolerance_us, used_us + tolerance_us);
        /* v1 counts each of these in whole ticks */
        assert_in_range(sample->user_us + sample->system_us, used_us - 3 * tolerance_us, used_us + 3 * tolerance_us);
}

static void assert_empties(const Cgroup *cgroup) {
        struct pollfd pollfd = { .fd = cgroup_events_fd(cgroup), .events = POLLPRI };
        uint64_t deadline_ns = clock_boottime_ns() + 5 * NS_PER_S;

        while (cgroup_is_populated(cgroup)) {
                assert_true(clock_boottime_ns() < deadline_ns);
                assert_true(poll(&pollfd, 1, 5000) > 0);
        }
}

/* skip() leaves a test without running its scoped destructors: a test owns nothing before it. */
static const char *v2_mount(void) {
        if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
                return "/sys/fs/cgroup";
        return access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0 ? "/sys/fs/cgroup/unified" : NULL;
}

static void usage_of_a_real_group_of_v2_is_what_its_process_used(void **state) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        CgroupPlace place, own;
        CgroupSample sample;
        uint64_t used_ns;
        Live live;

        (void)state;
        if (!v2_mount() || !live_make(&live, v2_mount()))
                skip(); /* no cgroup can be made here */

        assert_int_equal(cgroup_tree_new(&tree, "/"), 0);
        used_ns = live_wait(&live);
        assert_int_equal(cgroup_tree_find_process(tree, live.pid, &place), 0);
        assert_int_equal(cgroup_tree_find_process(tree, getpid(), &own), 0);
        place_without(&place, &own);
        assert_true(used_ns >= LIVE_CPU_NS);
        assert_int_equal(cgroup_open(&cgroup, tree, &place), 0);
        assert_true(cgroup_is_populated(cgroup));
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), 0);
        assert_used(&sample, used_ns);
        if (cgroup_sample_has(&sample, CGROUP_MEMORY_PEAK))
                assert_true(sample.memory_peak_bytes >= sample.memory_bytes && sample.memory_peak_bytes > 0);
        if (cgroup_sample_has(&sample, CGROUP_PIDS))
                assert_int_equal(sample.n_pids, 1);

        live_end(&live);
        assert_empties(cgroup);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), 0);
        live_remove(&live);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), CGROUP_GONE);
        assert_false(cgroup_is_populated(cgroup));
        assert_int_equal(cgroup_tree_find_process(tree, live.pid, &place), CGROUP_GONE);
}

static void usage_of_a_real_group_of_v1_is_what_its_process_used(void **state) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        CgroupPlace place, own;
        CgroupSample sample;
        uint64_t used_ns;
        Live live;

        (void)state;
        if (!live_make(&live, "/sys/fs/cgroup/cpuacct"))
                skip(); /* no cgroup can be made here */

        assert_int_equal(cgroup_tree_new(&tree, "/"), 0);
        used_ns = live_wait(&live);
        assert_true(used_ns >= LIVE_CPU_NS);
        assert_int_equal(cgroup_tree_find_process(tree, live.pid, &place), 0);
        assert_int_equal(cgroup_tree_find_process(tree, getpid(), &own), 0);
        place_without(&place, &own);
        assert_int_equal(cgroup_open(&cgroup, tree, &place), 0);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), 0);
        assert_used(&sample, used_ns);
        assert_true(cgroup_is_populated(cgroup));

        live_end(&live);
        live_remove(&live);
        assert_int_equal(cgroup_read(cgroup, clock_boottime_ns(), &sample), CGROUP_GONE);
        assert_false(cgroup_is_populated(cgroup));
}

/* If v1 has the controllers, none can be enabled in v2: their parts are always missing. */
static void controllers_that_are_off_leave_their_parts_out_and_the_group_stays(void **state) {
        const uint32_t parts = PART(MEMORY) | PART(PIDS);
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        char parent[128], child[192];
        CgroupPlace place = {};
        CgroupSample sample;
        bool can_switch;

        (void)state;
        if (!v2_mount())
                skip(); /* no cgroup can be made here */
        (void)snprintf(parent, sizeof(parent), "%s/perfd-test-%d", v2_mount(), (int)getpid());
        (void)snprintf(child, sizeof(child), "%s/child", parent);
        if (mkdir(parent, 0755) < 0)
                skip(); /* no cgroup can be made here */
        can_switch = write_to(parent, "cgroup.subtree_control", "+memory +pids");

        assert_int_equal(cgroup_tree_new(&tree, "/"), 0);
        assert_int_equal(mkdir(child, 0755), 0);
        (void)snprintf(place.v2, sizeof(place.v2), "/perfd-test-%d/child", (int)getpid());
        assert_int_equal(cgroup_open(&cgroup, tree, &place), 0);
        assert_int_equal(cgroup_read(cgroup, NOW, &sample), 0);
        assert_int_equal(sample.have & (parts | PART(CPU)), (can_switch ? parts : 0) | PART(CPU));
        if (can_switch) {
                assert_true(write_to(parent, "cgroup.subtree_control", "-memory"));
                assert_int_equal(cgroup_read(cgroup, NOW, &sample), 0);
                assert_int_equal(sample.have & (parts | PART(CPU)), PART(PIDS) | PART(CPU));
                assert_int_equal(cgroup_read(cgroup, NOW, &sample), 0);
        }

        assert_int_equal(rmdir(child) | rmdir(parent), 0);
        assert_int_equal(cgroup_read(cgroup, NOW, &sample), CGROUP_GONE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(usage_of_a_real_group_of_v2_is_what_its_process_used),
                cmocka_unit_test(usage_of_a_real_group_of_v1_is_what_its_process_used),
                cmocka_unit_test(controllers_that_are_off_leave_their_parts_out_and_the_group_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
