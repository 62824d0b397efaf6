/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchies of cgroup v1, in which the groups of a job are created one after the other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finder_fixture.h"

static void jobs_of_slurm_are_found_in_v1_with_their_uid(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v1");
        assert_found(&f,
                     "42 slurm_v1 /slurm/uid_1000/job_42 of 1000, 42.cn2 slurm_v1 /slurm_cn2/uid_1002/job_42 of 1002, "
                     "43 slurm_v1 /slurm/uid_1000/job_43 of 1000, 44 slurm_v1 /slurm/uid_1001/job_44 of 1001");
        assert_string_equal(await_group(&f).job, "45");
        assert_int_equal(n_unrecognized(&f), 1); /* "leftover", which exists in three hierarchies */
        end(&f);
}

static void a_job_of_v1_is_in_the_hierarchies_that_have_it(void **state) {
        FoundGroup group;
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v1");
        while (finder_next(f.finder, &group) == 0) {
                bool is_everywhere = strcmp(group.job, "42") == 0 || strcmp(group.job, "43") == 0 ||
                                     strcmp(group.job, "44") == 0;

                assert_string_equal(group.place.v2, "");
                assert_int_equal(group.owner_uid, getuid());
                assert_string_equal(group.place.pids, "");
                assert_string_equal(group.place.cpuacct, is_everywhere ? group.place.memory : "");
                assert_string_equal(group.place.cpu, is_everywhere ? group.place.memory : "");
                assert_string_equal(group.place.cpuset, is_everywhere ? group.place.memory : "");
                assert_int_equal(group.place.memory[0], '/');
        }
        end(&f);
}

static void a_job_is_waited_for_in_all_hierarchies_of_its_kind(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy_of_v1(&f);
        free(found(&f));
        make(&f, "memory/slurm/uid_1000/job_99");
        assert_found(&f, "");
        make(&f, "cpu,cpuacct/slurm/uid_1000/job_99");
        assert_found(&f, "");
        make(&f, "cpuset/slurm/uid_1000/job_99");
        assert_found(&f, "99 slurm_v1 /slurm/uid_1000/job_99 of 1000");
        end(&f);
}

static void a_job_is_not_waited_for_for_ever(void **state) {
        FoundGroup group;
        Fixture f = {};

        (void)state;
        begin_copy_of_v1(&f);
        free(found(&f));
        make(&f, "memory/slurm/uid_1000/job_99");
        make(&f, "cpuset/slurm/uid_1000/job_99");
        make(&f, "memory/slurm/uid_1000/job_98");
        make_away(&f, "memory/slurm/uid_1000/job_98");
        group = await_group(&f);
        assert_string_equal(group.job, "99");
        assert_string_equal(group.place.cpuacct, "");
        assert_string_equal(group.place.cpuset, group.place.memory);
        assert_found(&f, "");
        assert_false(is_readable(&f));
        end(&f);
}

/* Slurm does this between the steps of a job. */
static void a_job_recreated_in_all_hierarchies_is_returned_again(void **state) {
        static const char *const groups[] = { "cpu,cpuacct/slurm/uid_1001/job_44", "memory/slurm/uid_1001/job_44",
                                              "cpuset/slurm/uid_1001/job_44" };
        Fixture f = {};

        (void)state;
        tree_copy_to("/dev/shm", "slurm-v1", f.root); /* as in cgroupfs, inode numbers are not reused */
        begin(&f, f.root);
        free(found(&f));
        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                make_away(&f, groups[i]);
        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                make(&f, groups[i]);
        assert_found(&f, "44 slurm_v1 /slurm/uid_1001/job_44 of 1001");
        end(&f);
}

/* The other hierarchy still has the group: it must still be returned. */
static void a_job_removed_from_one_hierarchy_is_returned_from_another(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy_of_v1(&f);
        make_away(&f, "cpu,cpuacct/slurm/uid_1001/job_44");
        assert_int_equal(finder_scan(f.finder), 0);
        for (FoundGroup group; finder_next(f.finder, &group) == 0;)
                assert_string_not_equal(group.job, "44");
        assert_string_equal(await_group(&f).job, "44");
        assert_found(&f, "");
        end(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(jobs_of_slurm_are_found_in_v1_with_their_uid),
                cmocka_unit_test(a_job_of_v1_is_in_the_hierarchies_that_have_it),
                cmocka_unit_test(a_job_is_waited_for_in_all_hierarchies_of_its_kind),
                cmocka_unit_test(a_job_is_not_waited_for_for_ever),
                cmocka_unit_test(a_job_recreated_in_all_hierarchies_is_returned_again),
                cmocka_unit_test(a_job_removed_from_one_hierarchy_is_returned_from_another),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
