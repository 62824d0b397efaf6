/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/detection/finder_rules.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finder_fixture.h"

/* --- layouts ------------------------------------------------------------------------------------ */

#define SCOPE "/system.slice/slurmstepd.scope"

static void jobs_of_slurm_are_found_in_v2(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v2");
        assert_found(&f, "42 slurm " SCOPE "/job_42, 43 slurm " SCOPE "/job_43, 44 slurm " SCOPE "/job_44");
        assert_int_equal(n_unrecognized(&f), 0);
        end(&f);
}

static void jobs_of_slurm_are_found_by_their_sluid_beside_the_others(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-sluid");
        assert_found(&f, "42 slurm " SCOPE "/job_42, 7 slurm /slurmstepd.scope/job_7, "
                         "s5K1KKYAYG5D00 slurm_sluid " SCOPE "/s5K1KKYAYG5D00, "
                         "s5K1KKYAYG5D02 slurm_sluid /slurmstepd.scope/s5K1KKYAYG5D02, "
                         "s5k1kkyayg5d01 slurm_sluid " SCOPE "/s5k1kkyayg5d01");
        end(&f);
}

static void unknown_names_are_counted_once(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-sluid");
        assert_int_equal(n_unrecognized(&f), 3); /* two names similar to a SLUID, and session-1.scope */
        make(&f, "system.slice/slurmstepd.scope/allocation_1");
        make(&f, "system.slice/slurmstepd.scope/job_42/allocation_1");
        make(&f, "system.slice/allocation_1");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(n_unrecognized(&f), 4);
        end(&f);
}

static void jobs_of_several_slurmd_do_not_clash(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-several");
        assert_found(&f, "42.cn1 slurm /system.slice/cn1_slurmstepd.scope/job_42, "
                         "42.cn2 slurm /system.slice/cn2_slurmstepd.scope/job_42");
        assert_int_equal(n_unrecognized(&f), 0);
        end(&f);
}

/* Packages that support several slurmd always name the node. */
static void a_slurmd_named_like_the_machine_needs_no_node_suffix(void **state) {
        char host[65] = "", path[160], expected[320];
        Fixture f = {};

        (void)state;
        assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
        host[strcspn(host, ".")] = '\0';
        tree_copy("slurm-v2", f.root);
        (void)snprintf(path, sizeof(path), "slurm_%s", host);
        make(&f, path);
        (void)snprintf(path, sizeof(path), "slurm_%s/uid_1", host);
        make(&f, path);
        (void)snprintf(path, sizeof(path), "slurm_%s/uid_1/job_1", host);
        make(&f, path);
        begin(&f, f.root);
        (void)snprintf(expected, sizeof(expected),
                       "1 slurm_v1 /slurm_%s/uid_1/job_1 of 1, 42 slurm " SCOPE "/job_42, 43 slurm " SCOPE
                       "/job_43, 44 slurm " SCOPE "/job_44",
                       host);
        assert_found(&f, expected);
        end(&f);
}

static void pods_of_kubelets_in_containers_are_found(void **state) {
        static const char *const paths[] = {
                ("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
                 "kubelet-kubepods-burstable-pod1_2.slice"),
                "docker/0123abc/kubepods/burstable/pod1-2",
                "docker/0123abc/kubelet/kubepods/pod1-2",
                "docker/0123abc/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice",
                "system.slice/docker-0123abc.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice",
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
                scoped(freep) char *all = NULL;
                char expected[256], command[400];
                Fixture f = {};

                tree_copy("kube-systemd", f.root);
                (void)snprintf(command, sizeof(command), "mkdir -p %s/sys/fs/cgroup/%s", f.root, paths[i]);
                assert_int_equal(system(command), 0);
                begin(&f, f.root);
                (void)snprintf(expected, sizeof(expected), "1%c2 kubernetes /%s", strstr(paths[i], "1_2") ? '_' : '-',
                               paths[i]);
                all = found(&f);
                assert_non_null(strstr(all, expected));
                assert_int_equal(n_unrecognized(&f), 0);
                end(&f);
        }
}

static void pods_are_found_with_either_driver(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "kube-systemd");
        assert_found(&f, "0a1b2c3d_1111_2222_3333_444455556666 kubernetes /kubepods.slice/kubepods-burstable.slice/"
                         "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice, "
                         "7e8f9a0b_aaaa_bbbb_cccc_ddddeeeeffff kubernetes /kubepods.slice/kubepods-besteffort.slice/"
                         "kubepods-besteffort-pod7e8f9a0b_aaaa_bbbb_cccc_ddddeeeeffff.slice, "
                         "feedface_0000_1111_2222_333344445555 kubernetes /kubepods.slice/"
                         "kubepods-podfeedface_0000_1111_2222_333344445555.slice");
        end(&f);

        f = (Fixture){};
        begin(&f, TREES "kube-cgroupfs");
        assert_found(&f, "7e8f9a0b-aaaa-bbbb-cccc-ddddeeeeffff kubernetes "
                         "/kubepods/besteffort/pod7e8f9a0b-aaaa-bbbb-cccc-ddddeeeeffff, "
                         "feedface-0000-1111-2222-333344445555 kubernetes "
                         "/kubepods/podfeedface-0000-1111-2222-333344445555");
        end(&f);
}

/* --- changes ------------------------------------------------------------------------------------ */

static void a_new_group_is_returned_once(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        free(found(&f));
        assert_found(&f, "");
        assert_false(is_readable(&f));
        make(&f, "system.slice/slurmstepd.scope/job_99");
        assert_true(is_readable(&f));
        assert_found(&f, "99 slurm " SCOPE "/job_99");
        make(&f, "system.slice/slurmstepd.scope/job_99/step_0");
        assert_found(&f, "");
        end(&f);
}

static void a_recreated_group_is_returned_again(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        free(found(&f));
        make_away(&f, "system.slice/slurmstepd.scope/job_42");
        assert_found(&f, "");
        make(&f, "system.slice/slurmstepd.scope/job_42");
        assert_found(&f, "42 slurm " SCOPE "/job_42");
        end(&f);
}

static void a_group_removed_before_it_is_returned_is_skipped(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        make_away(&f, "system.slice/slurmstepd.scope/job_42");
        make(&f, "system.slice/slurmstepd.scope/job_99");
        make_away(&f, "system.slice/slurmstepd.scope/job_99");
        assert_found(&f, "43 slurm " SCOPE "/job_43, 44 slurm " SCOPE "/job_44");
        end(&f);
}

static void directories_on_the_way_may_come_and_go(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        free(found(&f));
        make_away(&f, "system.slice");
        assert_found(&f, "");
        assert_int_equal(n_watches(&f), 2); /* the root and user.slice */
        make(&f, "system.slice");
        make(&f, "system.slice/slurmstepd.scope");
        make(&f, "system.slice/slurmstepd.scope/job_1");
        assert_found(&f, "1 slurm " SCOPE "/job_1");
        make(&f, "system.slice/slurmstepd.scope/job_2");
        assert_found(&f, "2 slurm " SCOPE "/job_2");
        end(&f);
}

static void only_directories_that_lead_to_jobs_are_watched(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v2");
        assert_int_equal(n_watches(&f), 4); /* root, system.slice, user.slice, slurmstepd.scope */
        end(&f);

        f = (Fixture){};
        begin_with(&f, TREES "slurm-v2", "");
        assert_int_equal(n_watches(&f), 0);
        assert_found(&f, "");
        end(&f);
}

static void a_link_is_not_followed(void **state) {
        char target[128], link[160];
        Fixture f = {};

        (void)state;
        tree_copy("slurm-v2", f.root);
        (void)snprintf(target, sizeof(target), "%s/sys/fs/cgroup/system.slice/slurmstepd.scope", f.root);
        (void)snprintf(link, sizeof(link), "%s/sys/fs/cgroup/linked.slice", f.root);
        assert_int_equal(symlink(target, link), 0);
        (void)snprintf(link, sizeof(link), "%s/job_99", target);
        assert_int_equal(symlink(target, link), 0);
        (void)snprintf(link, sizeof(link), "%s/sys/fs/cgroup/slurmstepd.scope", f.root);
        assert_int_equal(symlink(target, link), 0);
        begin(&f, f.root);
        assert_found(&f, "42 slurm " SCOPE "/job_42, 43 slurm " SCOPE "/job_43, 44 slurm " SCOPE "/job_44");
        end(&f);
}

/* With more events than the kernel's queue can hold, the kernel drops events and reports an overflow. */
static void lost_events_cause_a_full_scan(void **state) {
        size_t n_max, n_found = 0;
        scoped(freep) char *text = NULL;
        FinderStats stats;
        FoundGroup group;
        Fixture f = {};

        (void)state;
        assert_int_equal(file_read_at(AT_FDCWD, "/proc/sys/fs/inotify/max_queued_events", 64, &text, NULL), 0);
        n_max = strtoul(text, NULL, 10);
        tree_copy_to("/dev/shm", "slurm-v2", f.root); /* a tree on disk would take seconds */
        begin(&f, f.root);
        free(found(&f));
        for (size_t i = 0; i < n_max / 2 + 1; i++) {
                make(&f, "system.slice/x");
                unmake(&f, "system.slice/x");
        }
        make(&f, "system.slice/slurmstepd.scope/job_99");
        make_away(&f, "system.slice/slurmstepd.scope/job_43");
        while (is_readable(&f))
                assert_int_equal(finder_scan(f.finder), 0);
        while (finder_next(f.finder, &group) == 0) {
                assert_string_equal(group.job, "99");
                n_found++;
        }
        assert_int_equal(n_found, 1);
        make(&f, "system.slice/slurmstepd.scope/job_43");
        assert_found(&f, "43 slurm " SCOPE "/job_43");
        finder_stats(f.finder, &stats);
        assert_int_equal(stats.n_found, 5);
        end(&f);
}

static void the_begin_and_end_of_a_step_are_reported(void **state) {
        CgroupPlace place;
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        free(found(&f));
        make(&f, "system.slice/slurmstepd.scope/job_44/step_0");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step(f.finder, &place), 0);
        assert_string_equal(place.v2, SCOPE "/job_44");
        assert_int_equal(finder_next_step(f.finder, &place), FINDER_NONE);
        unmake(&f, "system.slice/slurmstepd.scope/job_44/step_0");
        make_away(&f, "system.slice/slurmstepd.scope/job_42/step_batch");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step(f.finder, &place), 0);
        assert_string_equal(place.v2, SCOPE "/job_44");
        assert_int_equal(finder_next_step(f.finder, &place), 0);
        assert_string_equal(place.v2, SCOPE "/job_42");
        assert_int_equal(finder_next_step(f.finder, &place), FINDER_NONE);

        make_away(&f, "system.slice/slurmstepd.scope/job_43");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step(f.finder, &place), FINDER_NONE);
        end(&f);
}

/* --- limits ------------------------------------------------------------------------------------- */

static void an_unwatched_directory_is_scanned_once_and_counted(void **state) {
        const size_t n_directories = FINDER_WATCHES_MAX + 10;
        size_t n_found = 0;
        FinderStats stats;
        FoundGroup group;
        Fixture f = {};
        char path[64];

        (void)state;
        tree_copy_to("/dev/shm", "slurm-v2", f.root);
        for (size_t i = 0; i < n_directories; i++) {
                (void)snprintf(path, sizeof(path), "d%zu", i);
                make(&f, path);
                (void)snprintf(path, sizeof(path), "d%zu/job_%zu", i, i);
                make(&f, path);
        }
        begin_with(&f, f.root, "/d*/job_{job}");
        while (finder_next(f.finder, &group) == 0)
                n_found++;
        finder_stats(f.finder, &stats);
        assert_int_equal(n_found, n_directories);
        assert_int_equal(stats.n_watches, FINDER_WATCHES_MAX);
        assert_int_equal(stats.n_not_watched, 11); /* one watch is for the root */
        end(&f);
}

/* --- several settings --------------------------------------------------------------------------- */

static void the_first_matching_setting_gets_the_job_and_others_match_below(void **state) {
        static const FinderPattern patterns[] = {
                { "service", "/system.slice/{job}.service", NULL },
                { "scope", "/system.slice/{job}.scope /system.slice/slurmstepd.scope/{job}", NULL },
                { "other", "/**/job_{job} /system.slice/s{job}.service", NULL },
        };
        Fixture f = {};

        (void)state;
        begin_at(&f, TREES "slurm-v2", patterns, N_ELEMENTS(patterns));
        assert_found(&f, "42 other " SCOPE "/job_42, 43 other " SCOPE "/job_43, 44 other " SCOPE "/job_44, "
                         "slurmd service /system.slice/slurmd.service, slurmstepd scope "
                         "/system.slice/slurmstepd.scope, sshd service /system.slice/sshd.service");
        end(&f);
}

/* --- owner -------------------------------------------------------------------------------------- */

static bool is_jobs(const char *path_job, const char *node, const char *id, size_t n_labels, JobLabel *labels) {
        FoundGroup group = { .is_sluid = path_job[0] == 's' };
        JobInfo info = { .n_labels = n_labels, .labels = labels };
        JobDescription card;
        bool is_of;

        (void)snprintf(group.path_job, sizeof(group.path_job), "%s", path_job);
        (void)snprintf(group.job, sizeof(group.job), "%s%s%s", path_job, node[0] ? "." : "", node);
        (void)snprintf(group.node, sizeof(group.node), "%s", node);
        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(job_description_make(&info, &card), 0);
        is_of = finder_group_is_of(&group, &card);
        job_description_deinit(&card);
        return is_of;
}

static void a_begun_job_is_recognized_by_its_id_or_labels(void **state) {
        JobLabel labels[] = { { "sluid", "s5K1KKYAYG5D00" }, { "slurm_job", "42" }, { "slurm_node", "cn1" } };

        (void)state;
        assert_true(is_jobs("42", "", "42", 0, NULL));
        assert_false(is_jobs("42", "", "43", 0, NULL));
        assert_true(is_jobs("42", "", "42.r1", 2, labels));
        assert_true(is_jobs("42", "cn1", "42.r1.cn1", 3, labels));
        assert_false(is_jobs("42", "cn2", "42.r1.cn1", 3, labels));
        assert_true(is_jobs("s5k1kkyayg5d00", "", "42", 3, labels));
        assert_false(is_jobs("s5k1kkyayg5d01", "", "42", 3, labels));
        assert_false(is_jobs("s5k1kkyayg5d00", "", "42", 0, NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(jobs_of_slurm_are_found_in_v2),
                cmocka_unit_test(jobs_of_slurm_are_found_by_their_sluid_beside_the_others),
                cmocka_unit_test(unknown_names_are_counted_once),
                cmocka_unit_test(jobs_of_several_slurmd_do_not_clash),
                cmocka_unit_test(a_slurmd_named_like_the_machine_needs_no_node_suffix),
                cmocka_unit_test(pods_are_found_with_either_driver),
                cmocka_unit_test(pods_of_kubelets_in_containers_are_found),
                cmocka_unit_test(a_new_group_is_returned_once),
                cmocka_unit_test(a_recreated_group_is_returned_again),
                cmocka_unit_test(a_group_removed_before_it_is_returned_is_skipped),
                cmocka_unit_test(directories_on_the_way_may_come_and_go),
                cmocka_unit_test(only_directories_that_lead_to_jobs_are_watched),
                cmocka_unit_test(a_link_is_not_followed),
                cmocka_unit_test(lost_events_cause_a_full_scan),
                cmocka_unit_test(the_begin_and_end_of_a_step_are_reported),
                cmocka_unit_test(an_unwatched_directory_is_scanned_once_and_counted),
                cmocka_unit_test(the_first_matching_setting_gets_the_job_and_others_match_below),
                cmocka_unit_test(a_begun_job_is_recognized_by_its_id_or_labels),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
