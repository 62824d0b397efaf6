/* SPDX-License-Identifier: Apache-2.0 */
/* RunLimits on the command line, and the values written to the kernel. */

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

#include "client/cgroup/limits.h"
#include "util/file.h"

static void limits_are_quantities(void **state) {
        char error[LIMITS_ERROR_MAX];
        RunLimits limits;

        (void)state;
        assert_true(limits_parse("cpu=500m,memory=4Gi", &limits, error));
        assert_true(limits.cpus == 0.5 && limits.memory_bytes == UINT64_C(4) << 30);
        assert_true(limits_parse("memory=256M", &limits, error));
        assert_true(limits.cpus == 0 && limits.memory_bytes == 256 << 20);
}

static void other_limits_are_refused(void **state) {
        static const char *const wrong[] = {
                "",       "cpu",      "cpu=",   "cpu=0",       "cpu=-1",          "cpu=x",
                "cpus=1", "memory=1", "cpu=1,", "cpu=1,cpu=2", "memory=9999999T", "cpu=1 memory=4Gi"
        };
        char error[LIMITS_ERROR_MAX];
        RunLimits limits;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                assert_false(limits_parse(wrong[i], &limits, error));
                assert_non_null(strstr(error, "expects cpu=, memory="));
        }
        assert_false(limits_parse("cpu=1,memory=4GB", &limits, error));
        assert_string_equal(error, "memory=4GB: 'GB' is not a unit: use K, M, G or T (powers of 1024)");
        assert_false(limits_parse("memory=9e99", &limits, error));
        assert_string_equal(error, "memory=9e99: 'e99' is not a unit: use K, M, G or T (powers of 1024)");
        assert_false(limits_parse("cpu=2cores", &limits, error));
        assert_string_equal(error, "cpu=2cores: 'cores' is not a unit: use m for thousandths of a CPU, or none");
}

static void the_kernel_gets_them_and_what_is_missing_is_named(void **state) {
        char root[] = "/tmp/perfd-test-XXXXXX", command[64];
        scoped(closep) int fd = -1;
        scoped(freep) char *cpu = NULL, *memory = NULL, *swap = NULL;
        const char *file = NULL;

        (void)state;
        assert_non_null(mkdtemp(root));
        fd = open(root, O_RDONLY | O_DIRECTORY);
        (void)snprintf(command, sizeof(command), "cd %s && touch memory.max memory.swap.max", root);
        assert_int_equal(system(command), 0);

        assert_int_equal(limits_write(&(RunLimits){ .cpus = 1.5, .memory_bytes = 1 << 30 }, fd, &file), -ENOENT);
        assert_string_equal(file, "cpu.max");
        assert_int_equal(file_read_at(fd, "memory.max", 64, &memory, NULL), 0);
        assert_string_equal(memory, "1073741824\n");
        assert_int_equal(file_read_at(fd, "memory.swap.max", 64, &swap, NULL), 0);
        assert_string_equal(swap, "0\n");

        (void)snprintf(command, sizeof(command), "touch %s/cpu.max", root);
        assert_int_equal(system(command), 0);
        assert_int_equal(limits_write(&(RunLimits){ .cpus = 1.5 }, fd, &file), 0);
        assert_int_equal(file_read_at(fd, "cpu.max", 64, &cpu, NULL), 0);
        assert_string_equal(cpu, "150000 100000\n");
        (void)snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

static void processes_that_were_killed_for_memory_are_counted(void **state) {
        (void)state;
        assert_int_equal(limits_parse_kills("low 0\nhigh 0\nmax 33\noom 2\noom_kill 7\noom_group_kill 0\n"), 7);
        assert_int_equal(limits_parse_kills("oom 2\noom_kill x\n"), 0);
        assert_int_equal(limits_parse_kills(""), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(limits_are_quantities),
                cmocka_unit_test(other_limits_are_refused),
                cmocka_unit_test(processes_that_were_killed_for_memory_are_counted),
                cmocka_unit_test(the_kernel_gets_them_and_what_is_missing_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
