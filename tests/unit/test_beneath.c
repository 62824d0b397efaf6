/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "tree.h"
#include "util/beneath.h"

static void walking_and_opening_beneath_agree(void **state) {
        static const char *const paths[] = {
                "",
                ".",
                "system.slice",
                "system.slice/slurmstepd.scope/job_42",
                "nowhere",
                "link",
                "link/slurmstepd.scope",
                "..",
                "system.slice/..",
                "/",
                "/proc",
                "cgroup.procs",
                "system.slice/nowhere/x",
                "user.slice//run/",
        };
        scoped(closep) int dir_fd = open(TREES "cgroup-v2/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
                scoped(closep) int opened = -1, walked = -1;
                struct stat a, b;
                int r;

                r = beneath_open(dir_fd, paths[i], true, &opened);
                /* openat2() checks only the end of the path, the fallback each component */
                if (strcmp(paths[i], "system.slice/..") != 0)
                        assert_int_equal(beneath_walk(dir_fd, paths[i], true, &walked), r);
                else
                        assert_int_equal(beneath_walk(dir_fd, paths[i], true, &walked), BENEATH_OUTSIDE);
                if (walked < 0)
                        continue;
                assert_int_equal(fstat(opened, &a) | fstat(walked, &b), 0);
                assert_int_equal(a.st_ino, b.st_ino);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(walking_and_opening_beneath_agree),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
