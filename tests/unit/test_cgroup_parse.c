/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/cgroup/cgroup_parse.h"
#include "sample/kernel_text.h"
#include "util/scoped.h"

static void cpus_are_counted_in_lists(void **state) {
        static const struct {
                const char *text;
                uint32_t n;
        } good[] = { { "0\n", 1 }, { "0-3,8\n", 5 }, { "0-127\n", 128 }, { "1,3,5,7\n", 4 }, { "64-64\n", 1 } };
        static const char *const bad[] = { "",    "\n", "0", "0-\n", "3-1\n", "0,\n", "a\n", "0 1\n", "0-99999999999\n",
                                           "-1\n" };
        CgroupSample sample = { .n_cpus = 77 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                assert_int_equal(cgroup_parse_file(CGROUP_FILE_CPUSET, bad[i], &sample), TEXT_MALFORMED);
                assert_int_equal(sample.n_cpus, 77);
        }
        for (size_t i = 0; i < N_ELEMENTS(good); i++) {
                assert_int_equal(cgroup_parse_file(CGROUP_FILE_CPUSET, good[i].text, &sample), 0);
                assert_int_equal(sample.n_cpus, good[i].n);
        }
}

static void idle_devices_before_a_line_are_skipped(void **state) {
        const char *p = "8:16 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n"
                        "7:0 \n"
                        "259:0 rbytes=5 wbytes=6 rios=7 wios=8 cost.usage=x use_delay=0 delay_nsec=1\n";
        CgroupIo io;

        (void)state;
        assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), 0);
        assert_int_equal(io.major, 8);
        assert_int_equal(io.minor, 0);
        assert_int_equal(io.writes, 4);
        assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), 0);
        assert_int_equal(io.major, 7);
        assert_int_equal(io.reads, 0);
        assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), 0);
        assert_int_equal(io.major, 259);
        assert_int_equal(io.write_bytes, 6);
        assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), CGROUP_TEXT_END);
}

static void invalid_disk_lines_are_refused(void **state) {
        static const char *const v2[] = { "x\n",
                                          "8:0 rbytes=1",
                                          "8:0",
                                          "8\n",
                                          "8:\n",
                                          "8:0 rbytes=\n",
                                          "8:0 rbytes=-1\n",
                                          "8:0 rbytes=1x\n",
                                          "8:0 rbytes= 1\n",
                                          "8:0x rbytes=1\n",
                                          "\n" };
        static const char *const v1[] = { "x\n", "8:0 Read", "8:0 Read 1", "8:0 Read x\n", "8:0 Read\n", "8:0\n",
                                          "Total\n", "Total 5", "\n", "8:0 Read 1 2\n" };
        CgroupIo io;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(v2); i++) {
                const char *p = v2[i];

                assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), CGROUP_TEXT_MALFORMED);
                assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_IO_STAT, &p, &io), CGROUP_TEXT_END);
        }
        for (size_t i = 0; i < N_ELEMENTS(v1); i++) {
                const char *p = v1[i];

                assert_int_equal(cgroup_parse_next_io(CGROUP_FILE_V1_IO_BYTES, &p, &io), CGROUP_TEXT_MALFORMED);
        }
}

static void v1_reports_unlimited_as_a_very_large_number(void **state) {
        static const struct {
                const char *text;
                uint64_t limit;
        } all[] = {
                { "9223372036854771712\n", CGROUP_NO_LIMIT }, /* with pages of 4 KiB */
                { "9223372036854710272\n", CGROUP_NO_LIMIT }, /* with pages of 64 KiB */
                { "9223372036854775807\n", CGROUP_NO_LIMIT }, /* kernel 3.10 */
                { "4398046511104\n", 4398046511104 },
        };
        CgroupSample sample = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(all); i++) {
                assert_int_equal(cgroup_parse_file(CGROUP_FILE_V1_MEMORY_LIMIT, all[i].text, &sample), 0);
                assert_true(sample.memory_limit_bytes == all[i].limit);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cpus_are_counted_in_lists),
                cmocka_unit_test(idle_devices_before_a_line_are_skipped),
                cmocka_unit_test(invalid_disk_lines_are_refused),
                cmocka_unit_test(v1_reports_unlimited_as_a_very_large_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
