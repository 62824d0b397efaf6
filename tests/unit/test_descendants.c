/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/run/child.c */
/* Descendants of a process, in a generated /proc and in the real one. */

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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/run/child.h"
#include "tree.h"

static int setup(void **state) {
        char *root = calloc(1, 64);

        assert_non_null(root);
        snprintf(root, 64, "/tmp/perfd-test-XXXXXX");
        assert_non_null(mkdtemp(root));
        *state = root;
        return 0;
}

static int teardown(void **state) {
        tree_remove(*state);
        free(*state);
        return 0;
}

static void put(const char *root, const char *name, const char *stat) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", root, name);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof(path), "%s/stat", name);
        tree_write(root, path, stat);
}

/* Each process used `ticks` as user, one as system, and two and three for its children. */
static void put_process(const char *root, int pid, int parent, char state, unsigned ticks) {
        char name[16], stat[256];

        snprintf(name, sizeof(name), "%d", pid);
        snprintf(stat, sizeof(stat), "%d (a) b (c) %c %d 1 1 34816 -1 4194560 10 20 30 40 %u 1 2 3 20 0 1 0 100 0 0\n",
                 pid, state, parent, ticks);
        put(root, name, stat);
}

static Descendants read_below(const char *root, pid_t pid, pid_t except) {
        scoped(closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        Descendants below;

        assert_int_equal(child_read_descendants(fd, pid, except, &below), 0);
        return below;
}

static void all_descendants_are_counted_and_no_others(void **state) {
        Descendants below;

        put_process(*state, 1, 0, 'S', 1000);
        put_process(*state, 900, 1, 'S', 1000);
        put_process(*state, 901, 900, 'R', 10);
        put_process(*state, 17, 901, 'S', 20); /* pids are reused after a wrap */
        put_process(*state, 902, 17, 'T', 30);
        put_process(*state, 903, 1, 'S', 1000);
        below = read_below(*state, 900, 0);
        assert_int_equal(below.n_living, 3);
        assert_int_equal(below.user_ticks, 60 + 3 * 2);
        assert_int_equal(below.system_ticks, 3 * 1 + 3 * 3);
}

static void one_descendant_can_be_excluded(void **state) {
        put_process(*state, 900, 1, 'S', 1000);
        put_process(*state, 901, 900, 'R', 10);
        put_process(*state, 902, 901, 'R', 10);
        put_process(*state, 903, 900, 'R', 30);
        assert_int_equal(read_below(*state, 900, 901).n_living, 1);
        assert_int_equal(read_below(*state, 900, 901).user_ticks, 32);
}

static void zombies_are_not_running_but_their_cpu_time_is_counted(void **state) {
        Descendants below;

        put_process(*state, 900, 1, 'S', 1000);
        put_process(*state, 901, 900, 'Z', 10);
        below = read_below(*state, 900, 0);
        assert_int_equal(below.n_living, 0);
        assert_int_equal(below.user_ticks, 12);
}

static void entries_of_proc_that_are_no_process_are_skipped(void **state) {
        put_process(*state, 900, 1, 'S', 1000);
        put(*state, "sys", "900 (x) S 900 1 1 1 1 1 1 1 1 1 1 1 1 1");
        put(*state, "901", "");
        put(*state, "902", "902 (x");
        put(*state, "903", "903 (x) S 900 1");
        put(*state, "99999999999", "1 (x) S 900 1 1 1 1 1 1 1 1 1 1 1 1 1");
        put_process(*state, 904, 900, 'S', 1);
        assert_int_equal(read_below(*state, 900, 0).n_living, 1);
}

static void without_proc_it_is_an_error(void **state) {
        Descendants below;

        (void)state;
        assert_int_equal(child_read_descendants(-1, 1, 0, &below), -EBADF);
}

static void the_kernels_own_text_is_understood(void **state) {
        pid_t child = fork();
        int status;

        (void)state;
        assert_true(child >= 0);
        if (child == 0) {
                (void)pause();
                _exit(0);
        }

        assert_int_equal(read_below("/proc", getpid(), 0).n_living, 1);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(read_below("/proc", getpid(), 0).n_living, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                TEST(all_descendants_are_counted_and_no_others),
                TEST(one_descendant_can_be_excluded),
                TEST(zombies_are_not_running_but_their_cpu_time_is_counted),
                TEST(entries_of_proc_that_are_no_process_are_skipped),
                TEST(without_proc_it_is_an_error),
                TEST(the_kernels_own_text_is_understood),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
