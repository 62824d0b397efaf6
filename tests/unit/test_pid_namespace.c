/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample/host/pid_namespace.h"

static void a_process_of_the_own_namespace_keeps_its_pid(void **state) {
        int32_t found = 0;

        (void)state;
        assert_int_equal(pid_namespace_find(getpid(), getpid(), &found), 0);
        assert_int_equal(found, getpid());
        assert_int_equal(pid_namespace_find(getpid(), getppid(), &found), 0);
        assert_int_equal(found, getppid());
        /* the caller finds that it does not exist */
        assert_int_equal(pid_namespace_find(getpid(), INT32_MAX, &found), 0);
        assert_int_equal(found, INT32_MAX);
        assert_int_equal(pid_namespace_find(0, getpid(), &found), PID_NAMESPACE_OTHER);
}

static void a_lack_of_descriptors_is_no_hidden_process(void **state) {
        struct rlimit limit, none = {};
        int32_t found = 0;

        (void)state;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        none.rlim_max = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(pid_namespace_find(getpid(), getpid(), &found), -EMFILE);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Process 1 of a new namespace, with a child; both end with the pipe. */
static pid_t start_inner(int *ret_fd) {
        int fds[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid > 0) {
                close(fds[0]);
                *ret_fd = fds[1];
                return pid;
        }
        close(fds[1]);
        if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
                _exit(77);
        pid = fork();
        if (pid == 0) {
                (void)!fork();
                _exit(read(fds[0], &c, 1) < 0);
        }
        _exit(pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
}

/* Reads the children of a process. Returns the first, or 0. */
static pid_t child_of(pid_t pid) {
        char path[64], text[64] = "";
        FILE *file;
        pid_t child;

        (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
        file = fopen(path, "r");
        assert_non_null(file);
        child = fgets(text, sizeof(text), file) ? (pid_t)strtol(text, NULL, 10) : 0;
        (void)fclose(file);
        return child;
}

static void a_pid_of_another_namespace_is_translated_near_the_peer(void **state) {
        int32_t found = 0;
        int fd, status;
        pid_t outer = start_inner(&fd), init = 0, child = 0;

        (void)state;
        while (waitpid(outer, &status, WNOHANG) == 0 && child == 0) {
                init = child_of(outer);
                child = init > 0 ? child_of(init) : 0;
        }
        if (child == 0) {
                close(fd);
                print_message("no PID namespace can be made here\n");
                skip(); /* needs the right to make a PID namespace */
        }
        assert_int_equal(pid_namespace_find(init, 1, &found), 0);
        assert_int_equal(found, init);
        assert_int_equal(pid_namespace_find(init, 2, &found), 0);
        assert_int_equal(found, child);
        assert_int_equal(pid_namespace_find(child, 1, &found), 0);
        assert_int_equal(found, init);
        assert_int_equal(pid_namespace_find(child, getpid(), &found), PID_NAMESPACE_OTHER);
        close(fd);
        assert_int_equal(waitpid(outer, &status, 0), outer);
        assert_int_equal(status, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_process_of_the_own_namespace_keeps_its_pid),
                cmocka_unit_test(a_lack_of_descriptors_is_no_hidden_process),
                cmocka_unit_test(a_pid_of_another_namespace_is_translated_near_the_peer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
