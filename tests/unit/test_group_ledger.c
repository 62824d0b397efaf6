/* SPDX-License-Identifier: Apache-2.0 */
/* Usage of process groups, from readings of a generated /proc, and the members of a control group. */

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
#include <unistd.h>

#include "client/processes/group_ledger.h"
#include "tree.h"

typedef struct Tree {
        char root[64];
        int fd;
        pid_t pids[2 * LEDGER_ENDED_MAX];
        GroupLedger ledger;
} Tree;

static int setup(void **state) {
        Tree *tree = calloc(1, sizeof(*tree));

        assert_non_null(tree);
        snprintf(tree->root, sizeof(tree->root), "/tmp/perfd-test-XXXXXX");
        assert_non_null(mkdtemp(tree->root));
        tree->fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(tree->fd >= 0);
        tree->ledger.proc_fd = tree->fd;
        *state = tree;
        return 0;
}

static int teardown(void **state) {
        Tree *tree = *state;

        group_ledger_deinit(&tree->ledger);
        tree_remove(tree->root);
        close(tree->fd);
        free(tree);
        return 0;
}

/* A process: its ticks, those of its children, and bytes. state 'E': the I/O cannot be read. */
typedef struct Planted {
        int pid, parent, group;
        char state;
        unsigned own, waited, bytes, start;
} Planted;

static void put_file(Tree *tree, int pid, const char *name, const char *text) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%d", tree->root, pid);
        (void)mkdir(path, 0755);
        snprintf(path, sizeof(path), "%d/%s", pid, name);
        tree_write(tree->root, path, text);
}

static void put(Tree *tree, Planted p) {
        char text[512], path[128];

        snprintf(path, sizeof(path), "%s/%d/io", tree->root, p.pid);
        (void)unlink(path);
        snprintf(text, sizeof(text), "%d (a) b %d) %c %d %d 1 34816 -1 4194560 10 20 30 40 %u 0 %u 0 20 0 1 0 %u 999 3 0\n", p.pid,
                 p.pid, p.state == 'E' ? 'S' : p.state, p.parent, p.group, p.own, p.waited, p.start);
        put_file(tree, p.pid, "stat", text);
        snprintf(text, sizeof(text), "rchar: 1\nwchar: 2\nread_bytes: %u\nwrite_bytes: %u\ncancelled_write_bytes: 9\n", p.bytes,
                 2 * p.bytes);
        put_file(tree, p.pid, "io", text);
        if (p.state == 'E') {
                assert_int_equal(unlink(path), 0);
                assert_int_equal(symlink("io", path), 0); /* ELOOP, also for root */
        }
}

static void end(const Tree *tree, int pid) {
        static const char *const names[] = { "stat", "io", "environ" };
        char path[128];

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                snprintf(path, sizeof(path), "%s/%d/%s", tree->root, pid, names[i]);
                (void)unlink(path);
        }
        snprintf(path, sizeof(path), "%s/%d", tree->root, pid);
        assert_int_equal(rmdir(path), 0);
}

/* Reads the processes of the tree whose state is not Z: the list of a control group lacks these. */
static void read_all(Tree *tree) {
        CgroupMembers members = { .pids = tree->pids };
        scoped(closedirp) DIR *list = file_open_list(tree->fd, ".");
        struct dirent *entry;

        assert_non_null(list);
        while ((entry = readdir(list))) {
                ProcessUsage usage;
                pid_t pid = (pid_t)atoi(entry->d_name);

                if (pid > 0 && process_usage_read(tree->fd, pid, USAGE_STAT, &usage) == 0 && !usage.is_zombie)
                        members.pids[members.n++] = pid;
        }
        assert_int_equal(group_ledger_update(&tree->ledger, &members), 0);
}

/* The newest group of this number. */
static const LedgerGroup *group(const Tree *tree, pid_t id) {
        for (size_t i = tree->ledger.n_groups; i-- > 0;)
                if (tree->ledger.groups[i]->id == id)
                        return tree->ledger.groups[i];
        fail_msg("no group %d", (int)id);
        return NULL;
}

static void assert_group(const Tree *tree, pid_t id, unsigned n, unsigned ticks, unsigned bytes) {
        const LedgerGroup *found = group(tree, id);

        assert_int_equal(found->n_processes, n);
        assert_int_equal(found->total[USAGE_CPU], ticks);
        assert_int_equal(found->total[USAGE_READ], bytes);
        assert_int_equal(found->total[USAGE_WRITTEN], 2 * bytes);
}

static void groups_are_told_apart(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'R', 7, 0, 10, 2 });
        put(tree, (Planted){ 20, 1, 20, 'S', 1, 0, 1, 3 });
        put(tree, (Planted){ 31, 1, 30, 'S', 4, 2, 5, 3 });
        put_file(tree, 10, "environ", "PATH=/bin");
        put_file(tree, 11, "environ", "A=1");
        put_file(tree, 20, "environ", "MY_RANK=9");
        read_all(tree);
        assert_group(tree, 10, 2, 12, 110);
        assert_group(tree, 20, 1, 1, 1);
        assert_group(tree, 30, 1, 6, 5);
        assert_string_equal(group(tree, 10)->name, "a) b 10");
        assert_true(group(tree, 10)->has_leader);
        assert_string_equal(group(tree, 30)->name, "a) b 31");
        assert_false(group(tree, 30)->has_leader);
        assert_int_equal(group(tree, 10)->rss_bytes, 6 * sysconf(_SC_PAGESIZE));
        assert_int_equal(group(tree, 20)->rank.rank, -1);
}

static void ranks_are_those_of_the_environment(void **state) {
        Tree *tree = *state;

        for (int pid = 10; pid <= 13; pid++)
                put(tree, (Planted){ pid, 1, pid < 12 ? 10 : pid, 'S', 0, 0, 0, 1 });
        tree_write(tree->root, "10/environ", "");
        put_file(tree, 11, "environ", "SLURM_PROCID=9");
        put_file(tree, 12, "environ", "RANK=x");
        read_all(tree);
        assert_int_equal(group(tree, 10)->rank.rank, 9);
        assert_int_equal(group(tree, 10)->rank.local_rank, -1);
        assert_int_equal(group(tree, 12)->rank.rank, -1);

        /* the leader runs another program now */
        put_file(tree, 12, "environ", "LOCAL_RANK=3");
        put(tree, (Planted){ 14, 10, 10, 'S', 0, 0, 0, 1 });
        put_file(tree, 14, "environ", "RANK=4");
        read_all(tree);
        assert_int_equal(group(tree, 12)->rank.local_rank, 3);
        assert_true(group(tree, 10)->has_ranks);
        assert_false(group(tree, 12)->has_ranks);
}

static void a_child_that_is_waited_for_counts_once(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'R', 20, 0, 10, 2 });
        read_all(tree);
        assert_group(tree, 10, 2, 25, 110);

        /* it used 3 ticks and 4 bytes more before it ended, and a child that was never seen used 6 ticks */
        end(tree, 11);
        put(tree, (Planted){ 10, 1, 10, 'S', 5, 23 + 6, 114, 1 });
        read_all(tree);
        assert_group(tree, 10, 1, 34, 114);
        read_all(tree);
        assert_group(tree, 10, 1, 34, 114);
}

static void a_child_that_nobody_waits_for_keeps_its_usage(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'R', 20, 0, 10, 2 });
        read_all(tree);
        end(tree, 11);
        read_all(tree);
        assert_group(tree, 10, 1, 25, 110);
        end(tree, 10);
        read_all(tree);
        assert_group(tree, 10, 0, 25, 110);
        assert_true(group(tree, 10)->is_ended);
}

static void a_zombie_counts_until_its_parent_waits(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'R', 20, 0, 10, 2 });
        read_all(tree);
        put(tree, (Planted){ 11, 10, 10, 'Z', 22, 0, 12, 2 });
        for (int i = 0; i < 3; i++) {
                read_all(tree);
                assert_group(tree, 10, 1, 27, 112);
        }
        end(tree, 11);
        put(tree, (Planted){ 10, 1, 10, 'S', 5, 22, 112, 1 });
        read_all(tree);
        assert_group(tree, 10, 1, 27, 112);
}

static void a_child_of_another_group_keeps_its_usage_there(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 20, 10, 20, 'R', 50, 0, 10, 2 });
        put(tree, (Planted){ 21, 20, 20, 'R', 7, 0, 1, 2 });
        read_all(tree);
        end(tree, 20);
        end(tree, 21);
        put(tree, (Planted){ 10, 1, 10, 'S', 5, 57, 111, 1 });
        read_all(tree);
        assert_group(tree, 20, 0, 57, 11);
        assert_group(tree, 10, 1, 5, 100);

        /* the number is used again */
        put(tree, (Planted){ 20, 10, 20, 'R', 2, 0, 0, 9 });
        read_all(tree);
        assert_int_equal(tree->ledger.n_groups, 3);
        assert_group(tree, 20, 1, 2, 0);
}

static void an_orphan_counts_once_whoever_waits(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 9, 1, 9, 'S', 0, 0, 0, 1 });
        put(tree, (Planted){ 13, 9, 13, 'S', 1, 0, 0, 1 });
        put(tree, (Planted){ 12, 13, 13, 'S', 1, 0, 0, 1 });
        put(tree, (Planted){ 11, 12, 13, 'R', 10, 0, 10, 1 });
        put(tree, (Planted){ 10, 11, 13, 'R', 100, 0, 1000, 1 });
        read_all(tree);
        assert_group(tree, 13, 4, 112, 1010);

        /* 11 used a tick and 10 two ticks more; 12 waits for 11, and 9, a subreaper, for 10 */
        end(tree, 10);
        end(tree, 11);
        put(tree, (Planted){ 9, 1, 9, 'S', 0, 102, 1000, 1 });
        put(tree, (Planted){ 12, 13, 13, 'S', 1, 11, 10, 1 });
        read_all(tree);
        assert_group(tree, 13, 2, 112, 1010);
        assert_group(tree, 9, 1, 3, 0);
        read_all(tree);
        assert_group(tree, 13, 2, 112, 1010);
        assert_group(tree, 9, 1, 3, 0);
}

static void a_process_that_changes_its_group_takes_nothing_along(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'R', 20, 0, 10, 2 });
        read_all(tree);
        put(tree, (Planted){ 11, 10, 11, 'R', 24, 0, 11, 2 });
        read_all(tree);
        assert_group(tree, 10, 1, 25, 110);
        assert_group(tree, 11, 1, 4, 1);
}

static void unreadable_io_is_not_zero(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put(tree, (Planted){ 11, 10, 10, 'E', 20, 0, 10, 2 });
        put(tree, (Planted){ 20, 1, 20, 'S', 1, 0, 50, 1 });
        read_all(tree);
        assert_int_equal(group(tree, 10)->io_error, ELOOP);
        assert_int_equal(group(tree, 10)->total[USAGE_CPU], 25);
        assert_int_equal(group(tree, 20)->io_error, 0);

        /* what it did stays unknown; a process that hides its count later has not done less */
        end(tree, 11);
        put(tree, (Planted){ 20, 1, 20, 'E', 1, 0, 0, 1 });
        read_all(tree);
        assert_int_equal(group(tree, 10)->lost_error, ELOOP);
        assert_int_equal(group(tree, 20)->io_error, ELOOP);
        assert_group(tree, 20, 1, 1, 50);
        put(tree, (Planted){ 20, 1, 20, 'S', 1, 0, 60, 1 });
        read_all(tree);
        assert_group(tree, 20, 1, 1, 60);
}

static void ended_groups_are_bounded(void **state) {
        uint64_t total = 0;
        Tree *tree = *state;

        for (int i = 0; i < 3; i++) {
                for (int pid = 1000; pid < 1500; pid++)
                        put(tree, (Planted){ pid, 1, pid, 'S', 1, 0, 1, (unsigned)i });
                read_all(tree);
                for (int pid = 1000; pid < 1500; pid++)
                        end(tree, pid);
                read_all(tree);
        }
        read_all(tree);
        assert_in_range(tree->ledger.n_groups, 1, LEDGER_ENDED_MAX);
        assert_int_equal(tree->ledger.groups[0]->id, LEDGER_GROUP_SUM);
        for (size_t i = 0; i < tree->ledger.n_groups; i++) {
                assert_true(tree->ledger.groups[i]->is_ended);
                total += tree->ledger.groups[i]->total[USAGE_CPU];
        }
        assert_int_equal(total, 1500);
}

static void pages_are_read_on_request(void **state) {
        Tree *tree = *state;

        put(tree, (Planted){ 10, 1, 10, 'S', 5, 0, 100, 1 });
        put_file(tree, 10, "smaps_rollup", "5500-7fff ---p 00000000 00:00 0    [rollup]\nRss: 40 kB\nPss:                  30 kB\n"
                                           "Pss_Dirty: 9 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 6 kB\nPrivate_Hugetlb: 1 kB\n");
        read_all(tree);
        assert_int_equal(group(tree, 10)->pages_error, ENODATA);
        tree->ledger.reads_pages = true;
        read_all(tree);
        assert_int_equal(group(tree, 10)->pages_error, 0);
        assert_int_equal(group(tree, 10)->pss_bytes, 30 * 1024);
        assert_int_equal(group(tree, 10)->private_bytes, 10 * 1024);
        put_file(tree, 10, "smaps_rollup", "Rss: 40 kB\n");
        read_all(tree);
        assert_int_equal(group(tree, 10)->pages_error, ENOTSUP);
}

static void members_of_a_group_and_those_below_are_found(void **state) {
        scoped(cgroup_members_deinit) CgroupMembers members = {};
        scoped(closep) int fd = -1;
        Tree *tree = *state;
        char command[512];

        snprintf(command, sizeof(command),
                 "cd %s && mkdir -p sys/fs/cgroup/unified/job/a/b sys/fs/cgroup/cpuacct/job && cd sys/fs/cgroup && "
                 "printf '1\\n2\\n0\\n' > unified/job/cgroup.procs && : > unified/job/a/cgroup.procs && "
                 "echo 30 > unified/job/a/b/cgroup.procs && echo 7 > cpuacct/job/cgroup.procs && ln -s job unified/link", tree->root);
        assert_int_equal(system(command), 0);
        fd = cgroup_members_open(tree->fd, "/job");
        assert_true(fd >= 0);
        assert_int_equal(cgroup_members_read(fd, &members), 0);
        assert_int_equal(members.n, 3);
        assert_int_equal(members.pids[0] + members.pids[1] + members.pids[2], 33);
        close(fd);
        fd = cgroup_members_open(tree->fd, "cpuacct:/job");
        assert_int_equal(cgroup_members_read(fd, &members), 0);
        assert_int_equal(members.n, 1);
        assert_int_equal(members.pids[0], 7);

        assert_int_equal(cgroup_members_open(tree->fd, "/none"), -ENOENT);
        assert_int_equal(cgroup_members_open(tree->fd, "/link"), -ENOENT);
        assert_int_equal(cgroup_members_open(tree->fd, "/"), -EINVAL);
        snprintf(command, sizeof(command), "rm %s/sys/fs/cgroup/cpuacct/job/cgroup.procs", tree->root);
        assert_int_equal(system(command), 0);
        assert_int_equal(cgroup_members_read(fd, &members), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(groups_are_told_apart),
                TEST(ranks_are_those_of_the_environment),
                TEST(a_child_that_is_waited_for_counts_once),
                TEST(a_child_that_nobody_waits_for_keeps_its_usage),
                TEST(a_zombie_counts_until_its_parent_waits),
                TEST(a_child_of_another_group_keeps_its_usage_there),
                TEST(an_orphan_counts_once_whoever_waits),
                TEST(a_process_that_changes_its_group_takes_nothing_along),
                TEST(unreadable_io_is_not_zero),
                TEST(ended_groups_are_bounded),
                TEST(pages_are_read_on_request),
                TEST(members_of_a_group_and_those_below_are_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
