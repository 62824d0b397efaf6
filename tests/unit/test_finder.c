#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "sample/cgroup.h"
#include "sample/finder.h"
#include "tree.h"
#include "util/buffer.h"

typedef struct Fixture {
        char root[64]; /* "": a tree that is not changed */
        CgroupTree *tree;
        Finder *finder;
} Fixture;

static void begin_at(Fixture *f, const char *root, const FinderPattern *patterns, size_t n) {
        assert_int_equal(cgroup_tree_new(&f->tree, root), 0);
        assert_int_equal(finder_new(&f->finder, f->tree, patterns, n), 0);
        assert_int_equal(finder_scan(f->finder), 0);
}

/* With the patterns that perfd has when nobody configures any. */
static void begin(Fixture *f, const char *root) {
        FinderPattern patterns[CONFIG_PATTERNS_MAX];
        Config config;

        config_defaults(&config);
        begin_at(f, root, patterns, config_patterns(&config, patterns));
}

/* On a copy of the tree. */
static void begin_copy(Fixture *f, const char *tree) {
        tree_copy(tree, f->root);
        begin(f, f->root);
}

static void begin_with(Fixture *f, const char *root, const char *text) {
        const FinderPattern pattern = { "other", text, NULL };

        begin_at(f, root, &pattern, 1);
}

static void end(Fixture *f) {
        finder_free(f->finder);
        cgroup_tree_free(f->tree);
        if (f->root[0])
                tree_remove(f->root);
}

static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

static void make(const Fixture *f, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(mkdir(full, 0755), 0);
}

static void make_away(const Fixture *f, const char *path) {
        char command[300];

        (void)snprintf(command, sizeof(command), "rm -r %s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(system(command), 0);
}

static void unmake(const Fixture *f, const char *path) {
        char full[256];

        (void)snprintf(full, sizeof(full), "%s/sys/fs/cgroup/%s", f->root, path);
        assert_int_equal(rmdir(full), 0);
}

/* The same without the job that is in one hierarchy only. */
static void begin_copy_of_v1(Fixture *f) {
        tree_copy("slurm-v1", f->root);
        make_away(f, "memory/slurm/uid_1000/job_45");
        begin(f, f->root);
}

/* All that is handed out now, sorted: "job pattern path [of UID], …". Caller frees. */
static char *found(Fixture *f) {
        char said[64][CGROUP_PATH_MAX + 256];
        scoped(buffer_deinit) Buffer all = {};
        FoundGroup group;
        size_t n = 0;

        assert_int_equal(finder_scan(f->finder), 0);
        while (finder_next(f->finder, &group) == 0) {
                const char *path = group.place.v2[0] ? group.place.v2 : group.place.memory;

                assert_true(n < 64);
                (void)snprintf(said[n], sizeof(said[n]), "%s %s %s", group.job, group.pattern, path);
                if (group.has_uid)
                        (void)snprintf(said[n] + strlen(said[n]), 32, " of %u", group.uid);
                n++;
        }
        qsort(said, n, sizeof(said[0]), compare);
        for (size_t i = 0; i < n; i++)
                buffer_printf(&all, "%s%s", i > 0 ? ", " : "", said[i]);
        return buffer_take(&all);
}

static void assert_found(Fixture *f, const char *expected) {
        scoped(freep) char *all = found(f);

        assert_string_equal(all, expected);
}

static uint64_t n_unrecognized(const Fixture *f) {
        FinderStats stats;

        finder_stats(f->finder, &stats);
        return stats.n_unrecognized;
}

static size_t n_watches(const Fixture *f) {
        FinderStats stats;

        finder_stats(f->finder, &stats);
        assert_int_equal(stats.n_not_watched, 0);
        return stats.n_watches;
}

static bool is_readable(const Fixture *f) {
        struct pollfd pollfd = { .fd = finder_fd(f->finder), .events = POLLIN };

        return poll(&pollfd, 1, 0) == 1;
}

static void await_change(const Fixture *f) {
        struct pollfd pollfd = { .fd = finder_fd(f->finder), .events = POLLIN };

        assert_int_equal(poll(&pollfd, 1, 10 * (int)FINDER_WAIT_MS), 1);
}

/* Takes what there is until the next group is handed out. */
static FoundGroup await_group(Fixture *f) {
        FoundGroup group;

        while (finder_next(f->finder, &group) == FINDER_NONE) {
                await_change(f);
                assert_int_equal(finder_scan(f->finder), 0);
        }
        return group;
}

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

static void names_nobody_knows_are_counted_once(void **state) {
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-sluid");
        assert_int_equal(n_unrecognized(&f), 3); /* two that are almost a SLUID, and session-1.scope */
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

/* Packages of Slurm that can do with several name the node always. */
static void a_slurmd_named_like_the_machine_is_the_only_one(void **state) {
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
        (void)snprintf(expected, sizeof(expected), "1 slurm_v1 /slurm_%s/uid_1/job_1 of 1, 42 slurm " SCOPE "/job_42, 43 slurm " SCOPE
                       "/job_43, 44 slurm " SCOPE "/job_44", host);
        assert_found(&f, expected);
        end(&f);
}

static void jobs_of_slurm_are_found_in_v1_with_their_uid(void **state) {
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v1");
        assert_found(&f, "42 slurm_v1 /slurm/uid_1000/job_42 of 1000, 42.cn2 slurm_v1 /slurm_cn2/uid_1002/job_42 of 1002, "
                         "43 slurm_v1 /slurm/uid_1000/job_43 of 1000, 44 slurm_v1 /slurm/uid_1001/job_44 of 1001");
        assert_string_equal(await_group(&f).job, "45");
        assert_int_equal(n_unrecognized(&f), 1); /* "leftover", which is in three hierarchies */
        end(&f);
}

static void a_job_of_v1_is_in_the_hierarchies_that_have_it(void **state) {
        FoundGroup group;
        Fixture f = {};

        (void)state;
        begin(&f, TREES "slurm-v1");
        while (finder_next(f.finder, &group) == 0) {
                bool is_everywhere = strcmp(group.job, "42") == 0 || strcmp(group.job, "43") == 0 || strcmp(group.job, "44") == 0;

                assert_string_equal(group.place.v2, "");
                assert_string_equal(group.place.pids, "");
                assert_string_equal(group.place.cpuacct, is_everywhere ? group.place.memory : "");
                assert_string_equal(group.place.cpu, is_everywhere ? group.place.memory : "");
                assert_string_equal(group.place.cpuset, is_everywhere ? group.place.memory : "");
                assert_int_equal(group.place.memory[0], '/');
        }
        end(&f);
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
        assert_found(&f, "7e8f9a0b-aaaa-bbbb-cccc-ddddeeeeffff kubernetes /kubepods/besteffort/pod7e8f9a0b-aaaa-bbbb-cccc-ddddeeeeffff, "
                         "feedface-0000-1111-2222-333344445555 kubernetes /kubepods/podfeedface-0000-1111-2222-333344445555");
        end(&f);
}

/* --- changes ------------------------------------------------------------------------------------ */

static void a_new_group_is_handed_out_once(void **state) {
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

static void a_group_made_anew_is_handed_out_again(void **state) {
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

static void a_group_that_is_gone_before_it_is_asked_for_is_not_handed_out(void **state) {
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

/* As Slurm does it between the steps of a job. */
static void a_job_made_anew_in_all_hierarchies_is_handed_out_once_more(void **state) {
        static const char *const groups[] = { "cpu,cpuacct/slurm/uid_1001/job_44", "memory/slurm/uid_1001/job_44",
                                              "cpuset/slurm/uid_1001/job_44" };
        Fixture f = {};

        (void)state;
        tree_copy_to("/dev/shm", "slurm-v1", f.root); /* as in cgroupfs, no inode's number comes twice */
        begin(&f, f.root);
        free(found(&f));
        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                make_away(&f, groups[i]);
        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                make(&f, groups[i]);
        assert_found(&f, "44 slurm_v1 /slurm/uid_1001/job_44 of 1001");
        end(&f);
}

/* Its other hierarchy has it still: what was waited for, or is to be handed out, is not lost. */
static void a_job_that_is_gone_from_one_hierarchy_is_handed_out_from_another(void **state) {
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

/* More events than the kernel keeps: it drops what is beyond, and says so. */
static void lost_events_are_made_good_by_reading_all_again(void **state) {
        size_t n_max, n_found = 0;
        scoped(freep) char *text = NULL;
        FinderStats stats;
        FoundGroup group;
        Fixture f = {};

        (void)state;
        assert_int_equal(file_read_at(AT_FDCWD, "/proc/sys/fs/inotify/max_queued_events", 64, &text, NULL), 0);
        n_max = strtoul(text, NULL, 10);
        tree_copy_to("/dev/shm", "slurm-v2", f.root); /* the disk would take seconds */
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

static void the_end_of_a_step_is_told_of(void **state) {
        CgroupPlace place;
        Fixture f = {};

        (void)state;
        begin_copy(&f, "slurm-v2");
        free(found(&f));
        make(&f, "system.slice/slurmstepd.scope/job_44/step_0");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step_end(f.finder, &place), FINDER_NONE);
        unmake(&f, "system.slice/slurmstepd.scope/job_44/step_0");
        make_away(&f, "system.slice/slurmstepd.scope/job_42/step_batch");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step_end(f.finder, &place), 0);
        assert_string_equal(place.v2, SCOPE "/job_44");
        assert_int_equal(finder_next_step_end(f.finder, &place), 0);
        assert_string_equal(place.v2, SCOPE "/job_42");
        assert_int_equal(finder_next_step_end(f.finder, &place), FINDER_NONE);

        make_away(&f, "system.slice/slurmstepd.scope/job_43");
        assert_int_equal(finder_scan(f.finder), 0);
        assert_int_equal(finder_next_step_end(f.finder, &place), FINDER_NONE);
        end(&f);
}

/* --- limits ------------------------------------------------------------------------------------- */

static void what_cannot_be_watched_is_read_once_and_counted(void **state) {
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
        assert_int_equal(stats.n_not_watched, 11); /* one of the watches is the root's */
        end(&f);
}

/* --- several settings --------------------------------------------------------------------------- */

static void the_first_setting_that_matches_has_it_and_others_go_on_below(void **state) {
        static const FinderPattern patterns[] = {
                { "service", "/system.slice/{job}.service", NULL },
                { "scope", "/system.slice/{job}.scope /system.slice/slurmstepd.scope/{job}", NULL },
                { "other", "/**/job_{job} /system.slice/s{job}.service", NULL },
        };
        Fixture f = {};

        (void)state;
        begin_at(&f, TREES "slurm-v2", patterns, N_ELEMENTS(patterns));
        assert_found(&f, "42 other " SCOPE "/job_42, 43 other " SCOPE "/job_43, 44 other " SCOPE "/job_44, "
                         "slurmd service /system.slice/slurmd.service, slurmstepd scope /system.slice/slurmstepd.scope, "
                         "sshd service /system.slice/sshd.service");
        end(&f);
}

/* --- who it is ---------------------------------------------------------------------------------- */

static bool is_of(const char *path_job, const char *node, const char *id, size_t n_labels, JobLabel *labels) {
        FoundGroup group = { .is_sluid = path_job[0] == 's' };
        JobInfo info = { .n_labels = n_labels, .labels = labels };

        (void)snprintf(group.path_job, sizeof(group.path_job), "%s", path_job);
        (void)snprintf(group.job, sizeof(group.job), "%s%s%s", path_job, node[0] ? "." : "", node);
        (void)snprintf(group.node, sizeof(group.node), "%s", node);
        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        return found_group_is_of(&group, &info);
}

static void an_announced_job_is_known_by_its_id_or_its_labels(void **state) {
        JobLabel labels[] = { { "sluid", "s5K1KKYAYG5D00" }, { "slurm_job", "42" }, { "slurm_node", "cn1" } };

        (void)state;
        assert_true(is_of("42", "", "42", 0, NULL));
        assert_false(is_of("42", "", "43", 0, NULL));
        assert_true(is_of("42", "", "42.r1", 2, labels));
        assert_true(is_of("42", "cn1", "42.r1.cn1", 3, labels));
        assert_false(is_of("42", "cn2", "42.r1.cn1", 3, labels));
        assert_true(is_of("s5k1kkyayg5d00", "", "42", 3, labels));
        assert_false(is_of("s5k1kkyayg5d01", "", "42", 3, labels));
        assert_false(is_of("s5k1kkyayg5d00", "", "42", 0, NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(jobs_of_slurm_are_found_in_v2),
                cmocka_unit_test(jobs_of_slurm_are_found_by_their_sluid_beside_the_others),
                cmocka_unit_test(names_nobody_knows_are_counted_once),
                cmocka_unit_test(jobs_of_several_slurmd_do_not_clash),
                cmocka_unit_test(a_slurmd_named_like_the_machine_is_the_only_one),
                cmocka_unit_test(jobs_of_slurm_are_found_in_v1_with_their_uid),
                cmocka_unit_test(a_job_of_v1_is_in_the_hierarchies_that_have_it),
                cmocka_unit_test(pods_are_found_with_either_driver),
                cmocka_unit_test(a_new_group_is_handed_out_once),
                cmocka_unit_test(a_group_made_anew_is_handed_out_again),
                cmocka_unit_test(a_group_that_is_gone_before_it_is_asked_for_is_not_handed_out),
                cmocka_unit_test(directories_on_the_way_may_come_and_go),
                cmocka_unit_test(only_directories_that_lead_to_jobs_are_watched),
                cmocka_unit_test(a_job_is_waited_for_in_all_hierarchies_of_its_kind),
                cmocka_unit_test(a_job_is_not_waited_for_for_ever),
                cmocka_unit_test(a_job_made_anew_in_all_hierarchies_is_handed_out_once_more),
                cmocka_unit_test(a_job_that_is_gone_from_one_hierarchy_is_handed_out_from_another),
                cmocka_unit_test(a_link_is_not_followed),
                cmocka_unit_test(lost_events_are_made_good_by_reading_all_again),
                cmocka_unit_test(the_end_of_a_step_is_told_of),
                cmocka_unit_test(what_cannot_be_watched_is_read_once_and_counted),
                cmocka_unit_test(the_first_setting_that_matches_has_it_and_others_go_on_below),
                cmocka_unit_test(an_announced_job_is_known_by_its_id_or_its_labels),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
