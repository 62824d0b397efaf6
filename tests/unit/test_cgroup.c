/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/sample/cgroup/cgroup_parse.c daemon/sample/cgroup/cgroup_devices.c
 * daemon/sample/cgroup/cgroup_tree.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "cgroup_place.h"
#include "sample/cgroup/cgroup.h"
#include "tree.h"
#include "util/clock.h"

#define NOW (100 * NS_PER_S)
#define PART(part) (1U << CGROUP_##part)
#define ALL ((1U << N_CGROUP_PARTS) - 1)

/* A root, a process in it, and the group of the process. */
typedef struct Bench {
        CgroupTree *tree;
        CgroupPlace place;
        Cgroup *cgroup;
} Bench;

static void bench_end(Bench *bench) {
        cgroup_free(bench->cgroup);
        cgroup_tree_free(bench->tree);
}

static int bench_open(Bench *bench, const char *root, int32_t pid) {
        *bench = (Bench){};
        assert_int_equal(cgroup_tree_new(&bench->tree, root), 0);
        assert_int_equal(cgroup_tree_find_process(bench->tree, pid, &bench->place), 0);
        return cgroup_open(&bench->cgroup, bench->tree, &bench->place);
}

/* Returns a sample of a process's group. */
static CgroupSample sample_of(const char *root, int32_t pid) {
        CgroupSample sample = {};
        Bench bench;

        assert_int_equal(bench_open(&bench, root, pid), 0);
        assert_int_equal(cgroup_read(bench.cgroup, NOW, &sample), 0);
        assert_int_equal(sample.boottime_ns, NOW);
        bench_end(&bench);
        return sample;
}

/* Returns a sample of a group in which one file was replaced. */
static CgroupSample sample_with(const char *tree, const char *file, const char *text) {
        CgroupSample sample;
        char root[64];

        tree_copy(tree, root);
        tree_write(root, file, text);
        sample = sample_of(root, 100);
        tree_remove(root);
        return sample;
}

/* --- v2 ----------------------------------------------------------------------------------------- */

#define JOB "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/"

static void v2_has_every_part(void **state) {
        CgroupSample s = sample_of(TREES "cgroup-v2", 100);

        (void)state;
        assert_int_equal(s.have, ALL);
        assert_int_equal(s.usage_us, 123456789);
        assert_int_equal(s.user_us, 100000000);
        assert_int_equal(s.system_us, 23456789);
        assert_int_equal(s.n_periods, 5000);
        assert_int_equal(s.n_throttled, 250);
        assert_int_equal(s.quota_us, 150000);
        assert_int_equal(s.period_us, 100000);
        assert_int_equal(s.n_cpus, 5);
        assert_int_equal(s.memory_bytes, 1073741824);
        assert_int_equal(s.memory_peak_bytes, 2147483648);
        assert_int_equal(s.memory_limit_bytes, 4294967296);
        assert_int_equal(s.n_memory_high, 2);
        assert_int_equal(s.n_memory_max, 3);
        assert_int_equal(s.n_oom, 4);
        assert_int_equal(s.n_oom_kill, 5);
        assert_true(s.anon_bytes == 104857600 && s.file_bytes == 943718400 && s.kernel_bytes == 20971520 &&
                    s.shmem_bytes == 4194304);
        assert_int_equal(s.n_pids, 17);
        assert_int_equal(s.psi_cpu_some_us, 111);
        assert_int_equal(s.psi_memory_some_us, 222);
        assert_int_equal(s.psi_memory_full_us, 22);
        assert_true(s.psi_io_some_us == 333 && s.psi_io_full_us == 33 && s.psi_irq_full_us == 444);
        assert_true(s.throttled_us == 7654321 && s.throttled_local_us == 8654321);
}

static void stacked_disks_are_counted_once_at_the_lowest_level(void **state) {
        CgroupSample s = sample_of(TREES "cgroup-v2", 100);

        (void)state;
        /*
         * Counts sda, nvme0n1, and dm-9, whose disk counted nothing; not dm-0 on a partition of sda, dm-1 on dm-0, or
         * loop0.
         */
        assert_int_equal(s.read_bytes, 1000000 + 3000 + 70000);
        assert_int_equal(s.write_bytes, 2000000 + 4000);
        assert_int_equal(s.reads, 100 + 3 + 7);
        assert_int_equal(s.writes, 200 + 4);

        /* Only dm-1 of its stack is listed. */
        s = sample_with("cgroup-v2", JOB "io.stat", "253:1 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n");
        assert_int_equal(s.read_bytes, 5);
        /* sda is listed, but counted nothing. */
        s = sample_with("cgroup-v2", JOB "io.stat",
                        "8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n"
                        "253:1 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n");
        assert_int_equal(s.read_bytes, 5);
        /* A disk that is missing from sysfs. */
        s = sample_with("cgroup-v2", JOB "io.stat", "252:7 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n");
        assert_int_equal(s.write_bytes, 6);
        s = sample_with("cgroup-v2", JOB "io.stat", "");
        assert_int_equal(s.have, ALL);
        assert_int_equal(s.read_bytes, 0);
}

static void lines_without_a_device_or_cut_short_are_skipped(void **state) {
        CgroupSample s;

        (void)state;
        s = sample_with("cgroup-v2", JOB "io.stat",
                        "(unknown) rbytes=7000 wbytes=1 rios=1 wios=2 dbytes=0 dios=0\n"
                        "252:7 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n"
                        "252:8 rbytes=5 wbytes=6 rios=1 wi");
        assert_int_equal(s.have, ALL);
        assert_true(s.read_bytes == 5 && s.write_bytes == 6 && s.reads == 1 && s.writes == 2);
        s = sample_with("cgroup-v2", JOB "io.stat", "(unknown) rbytes=7000 wbytes=1 rios=1 wios=2 dbytes=0 dios=0\n");
        assert_int_equal(s.have, ALL & ~PART(IO));
}

/* Each counter returns after a reading of 0, leaps, and is slightly less once. */
static void counters_of_a_group_are_believed_as_far_as_they_can_be(void **state) {
        static const char *const texts[] = { "0", "900000000000000000", "123456000" };
        char root[64], text[512];
        Bench bench;

        (void)state;
        tree_copy("cgroup-v2", root);
        assert_int_equal(bench_open(&bench, root, 100), 0);
        for (size_t i = 0; i < 2 * N_ELEMENTS(texts) + 1; i++) {
                const char *value = i % 2 ? texts[i / 2] : "123456789";
                CgroupSample s;

                (void)snprintf(text, sizeof(text),
                               "usage_usec %s\nuser_usec %s\nsystem_usec 5\nnr_periods 5\nnr_throttled 2\n"
                               "throttled_usec %s\n",
                               value, value, value);
                tree_write(root, JOB "cpu.stat", text);
                (void)snprintf(text, sizeof(text), "8:0 rbytes=%s wbytes=1 rios=1 wios=2 dbytes=0 dios=0\n", value);
                tree_write(root, JOB "io.stat", text);
                (void)snprintf(text, sizeof(text), "low 0\nhigh %s\nmax %s\noom 0\noom_kill %s\n", value, value, value);
                tree_write(root, JOB "memory.events", text);
                assert_int_equal(cgroup_read(bench.cgroup, NOW + i * 200000000, &s), 0);
                assert_true(s.usage_us == 123456789 && s.user_us == 123456789 && s.system_us == 5);
                assert_true(s.read_bytes == 123456789 && s.n_oom_kill == 123456789 && s.n_memory_high == 123456789);
        }
        bench_end(&bench);
        tree_remove(root);
}

static void a_group_without_controllers_has_the_parts_that_need_none(void **state) {
        CgroupSample s = sample_of(TREES "cgroup-v2", 101);

        (void)state;
        assert_int_equal(s.have, PART(CPU));
        assert_int_equal(s.usage_us, 30);
        assert_int_equal(s.quota_us, 0);
}

static void max_means_unlimited(void **state) {
        CgroupSample s;

        (void)state;
        s = sample_with("cgroup-v2", JOB "memory.max", "max\n");
        assert_int_equal(s.have, ALL);
        assert_true(s.memory_limit_bytes == CGROUP_NO_LIMIT);
        s = sample_with("cgroup-v2", JOB "cpu.max", "max 100000\n");
        assert_int_equal(s.have, ALL);
        assert_true(s.quota_us == CGROUP_NO_LIMIT);
        assert_int_equal(s.period_us, 100000);
}

static void a_malformed_file_makes_only_its_own_part_absent(void **state) {
        static const struct {
                const char *file;
                uint32_t lacking;
        } all[] = {
                { "cpu.stat", PART(CPU) | PART(THROTTLING) }, { "cpu.max", PART(CPU_LIMIT) },
                { "cpuset.cpus.effective", PART(CPUSET) },    { "memory.current", PART(MEMORY) },
                { "memory.peak", PART(MEMORY_PEAK) },         { "memory.max", PART(MEMORY_LIMIT) },
                { "memory.events", PART(MEMORY_EVENTS) },     { "io.stat", PART(IO) },
                { "pids.current", PART(PIDS) },               { "cpu.pressure", PART(PSI_CPU) },
                { "memory.pressure", PART(PSI_MEMORY) },      { "io.pressure", PART(PSI_IO) }, { "irq.pressure", PART(PSI_IRQ) },
                { "cpu.stat.local", PART(THROTTLING_LOCAL) },
                { "memory.stat", PART(MEMORY_STAT) | PART(MEMORY_KERNEL) },
        };
        static const char *const texts[] = { "x\n", "-1\n", "17", "18446744073709551616\n" };
        char path[128];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(all); i++)
                for (size_t k = 0; k < N_ELEMENTS(texts); k++) {
                        (void)snprintf(path, sizeof(path), JOB "%s", all[i].file);
                        assert_int_equal(sample_with("cgroup-v2", path, texts[k]).have, ALL & ~all[i].lacking);
                }
}

static void files_stay_open_and_are_read_again(void **state) {
        CgroupSample s;
        char root[64];
        Bench bench;

        (void)state;
        tree_copy("cgroup-v2", root);
        assert_int_equal(bench_open(&bench, root, 100), 0);
        assert_true(cgroup_events_fd(bench.cgroup) >= 0);
        assert_true(cgroup_is_populated(bench.cgroup));

        tree_write(root, JOB "memory.current", "12345\n");
        tree_write(root, JOB "cgroup.events", "populated 0\nfrozen 0\n");
        assert_int_equal(cgroup_read(bench.cgroup, NOW, &s), 0);
        assert_int_equal(s.memory_bytes, 12345);
        assert_false(cgroup_is_populated(bench.cgroup));
        bench_end(&bench);
        tree_remove(root);
}

/* --- v1 and mixed ------------------------------------------------------------------------------- */

static void v1_has_the_same_values_in_other_units(void **state) {
        CgroupSample s = sample_of(TREES "cgroup-v1", 100);

        (void)state;
        assert_int_equal(s.have, ALL & ~(PART(PSI_CPU) | PART(PSI_MEMORY) | PART(PSI_IO) | PART(PSI_IRQ) |
                                         PART(THROTTLING_LOCAL) | PART(MEMORY_KERNEL)));
        assert_true(s.anon_bytes == 104857600 && s.file_bytes == 943718400 && s.shmem_bytes == 4194304);
        assert_int_equal(s.usage_us, 98765432);
        assert_int_equal(s.user_us, 80000000);
        assert_int_equal(s.system_us, 18760000);
        assert_int_equal(s.n_periods, 600);
        assert_int_equal(s.n_throttled, 30);
        assert_int_equal(s.throttled_us, 4000000);
        assert_int_equal(s.quota_us, 200000);
        assert_int_equal(s.period_us, 100000);
        assert_int_equal(s.n_cpus, 4);
        assert_int_equal(s.memory_bytes, 50000);
        assert_int_equal(s.memory_peak_bytes, 90000);
        assert_true(s.memory_limit_bytes == CGROUP_NO_LIMIT);
        assert_int_equal(s.n_memory_high, 0);
        assert_int_equal(s.n_memory_max, 13);
        assert_int_equal(s.n_oom_kill, 2);
        /* Includes the groups below. */
        assert_int_equal(s.read_bytes, 4196);
        assert_int_equal(s.write_bytes, 8392);
        assert_int_equal(s.reads, 11);
        assert_int_equal(s.writes, 22);
        assert_int_equal(s.n_pids, 99);
}

static void a_part_with_one_of_two_files_is_absent(void **state) {
        static const struct {
                const char *file;
                uint32_t lacking;
        } all[] = {
                { "cpu,cpuacct/slurm/uid_1000/job_42/cpuacct.usage", PART(CPU) },
                { "cpu,cpuacct/slurm/uid_1000/job_42/cpuacct.stat", PART(CPU) },
                { "cpu,cpuacct/slurm/uid_1000/job_42/cpu.cfs_quota_us", PART(CPU_LIMIT) },
                { "cpu,cpuacct/slurm/uid_1000/job_42/cpu.cfs_period_us", PART(CPU_LIMIT) },
                { "memory/slurm/uid_1000/job_42/memory.oom_control", PART(MEMORY_EVENTS) },
                { "memory/slurm/uid_1000/job_42/memory.failcnt", PART(MEMORY_EVENTS) },
                { "blkio/slurm/uid_1000/job_42/blkio.throttle.io_serviced_recursive", PART(IO) },
        };
        uint32_t have = sample_of(TREES "cgroup-v1", 100).have;
        char path[256];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(all); i++) {
                char root[64];

                (void)snprintf(path, sizeof(path), "sys/fs/cgroup/%s", all[i].file);
                assert_int_equal(sample_with("cgroup-v1", path, "x\n").have, have & ~all[i].lacking);

                /* The non-recursive files of blkio are the alternative. */
                if (all[i].lacking == PART(IO))
                        continue;
                tree_copy("cgroup-v1", root);
                (void)snprintf(path, sizeof(path), "%s/sys/fs/cgroup/%s", root, all[i].file);
                assert_int_equal(unlink(path), 0);
                assert_int_equal(sample_of(root, 100).have, have & ~all[i].lacking);
                tree_remove(root);
        }
}

static void hierarchies_without_a_group_of_the_job_are_skipped(void **state) {
        CgroupSample s;
        CgroupPlace service;
        Bench bench;

        (void)state;
        /* A process whose groups are all the root, except in memory. */
        s = sample_of(TREES "cgroup-v1", 101);
        assert_int_equal(s.have, PART(MEMORY) | PART(PIDS));

        assert_int_equal(bench_open(&bench, TREES "cgroup-v1", 100), 0);
        assert_int_equal(cgroup_tree_find_process(bench.tree, 101, &service), 0);
        place_without(&bench.place, &service);
        assert_string_equal(bench.place.pids, "");
        assert_string_equal(bench.place.memory, "/slurm/uid_1000/job_42");
        cgroup_free(bench.cgroup);
        bench.cgroup = NULL;
        assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &bench.place), 0);
        assert_int_equal(cgroup_read(bench.cgroup, NOW, &s), 0);
        assert_int_equal(s.have & PART(PIDS), 0);
        assert_int_equal(s.have & PART(MEMORY), PART(MEMORY));
        assert_int_equal(cgroup_events_fd(bench.cgroup), -1);
        assert_true(cgroup_is_populated(bench.cgroup));

        place_without(&service, &service);
        assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &service), CGROUP_GONE);
        bench_end(&bench);
}

static void a_mixed_layout_reads_cpu_time_from_the_jobs_own_group(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        /* A job with its own group in v2, in the root of cpuacct. */
        s = sample_of(TREES "cgroup-mixed", 100);
        assert_int_equal(s.have, PART(CPU) | PART(PSI_CPU) | PART(PSI_MEMORY) | PART(PSI_IO) | PART(MEMORY) |
                                         PART(MEMORY_PEAK) | PART(MEMORY_LIMIT));
        assert_int_equal(s.usage_us, 1000);
        assert_int_equal(s.memory_limit_bytes, 1048576);

        /* In v2 the process is in a group of a service, whose CPU time and pressure are not those of the job. */
        s = sample_of(TREES "cgroup-mixed", 101);
        assert_int_equal(s.have, PART(CPU) | PART(THROTTLING) | PART(CPU_LIMIT) | PART(MEMORY) | PART(MEMORY_PEAK) |
                                         PART(MEMORY_LIMIT));
        assert_int_equal(s.usage_us, 2000);
        assert_true(s.quota_us == CGROUP_NO_LIMIT);

        /* The group of cpuacct contains that of v2. */
        s = sample_of(TREES "cgroup-mixed", 102);
        assert_int_equal(s.usage_us, 1000);
        assert_int_equal(s.have & (PART(CPU) | PART(PSI_IO)), PART(CPU) | PART(PSI_IO));

        /* A group in memory only. */
        assert_int_equal(bench_open(&bench, TREES "cgroup-mixed", 103), 0);
        assert_int_equal(cgroup_read(bench.cgroup, NOW, &s), 0);
        assert_int_equal(s.have, PART(MEMORY) | PART(MEMORY_PEAK) | PART(MEMORY_LIMIT));
        bench_end(&bench);
}

/* --- trees and places --------------------------------------------------------------------------- */

static void assert_hierarchies(const char *root, int32_t pid, bool has_v2, bool has_v1) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        CgroupPlace place = {};

        assert_int_equal(cgroup_tree_new(&tree, root), 0);
        assert_int_equal(cgroup_tree_find_process(tree, pid, &place) == 0, has_v2 || has_v1);
        assert_int_equal(place.v2[0] != '\0', has_v2);
        assert_int_equal(place.memory[0] != '\0', has_v1);
}

static void layouts_are_distinguished_by_their_mounts(void **state) {
        (void)state;
        assert_hierarchies(TREES "cgroup-v2", 100, true, false);
        assert_hierarchies(TREES "cgroup-v1", 100, false, true);
        assert_hierarchies(TREES "cgroup-mixed", 102, true, true);
        assert_hierarchies(TREES "small", 1, false, false);
        assert_int_equal(cgroup_tree_new(&(CgroupTree *){ NULL }, TREES "nowhere"), -ENOENT);
}

static void places_are_taken_from_the_kernel_by_hierarchy(void **state) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL, *v2 = NULL;
        CgroupPlace place;

        (void)state;
        assert_int_equal(cgroup_tree_new(&tree, TREES "cgroup-v1"), 0);
        assert_int_equal(cgroup_tree_find_process(tree, 100, &place), 0);
        assert_string_equal(place.v2, "");
        assert_string_equal(place.cpu, "/slurm/uid_1000/job_42");
        assert_string_equal(place.cpuacct, "/slurm/uid_1000/job_42");
        assert_string_equal(place.pids, "/system.slice/slurmd.service");

        assert_int_equal(cgroup_tree_new(&v2, TREES "cgroup-v2"), 0);
        assert_int_equal(cgroup_tree_find_process(v2, 100, &place), 0);
        assert_string_equal(place.v2, "/system.slice/slurmstepd.scope/job_42");
        assert_string_equal(place.memory, "");
        assert_int_equal(cgroup_tree_find_process(v2, 999, &place), CGROUP_GONE);
        assert_int_equal(cgroup_tree_find_process(v2, 0, &place), CGROUP_GONE);
        assert_int_equal(cgroup_tree_find_process(v2, -1, &place), CGROUP_GONE);
        assert_int_equal(cgroup_tree_find_process(v2, 103, &place), CGROUP_MALFORMED);
}

static int open_in_v2(const char *path) {
        scoped(cgroup_tree_freep) CgroupTree *tree = NULL;
        scoped(cgroup_freep) Cgroup *cgroup = NULL;
        CgroupPlace place = {};

        assert_int_equal(cgroup_tree_new(&tree, TREES "cgroup-v2"), 0);
        assert_true(strlen(path) < sizeof(place.v2));
        memcpy(place.v2, path, strlen(path) + 1);
        return cgroup_open(&cgroup, tree, &place);
}

static void only_groups_beneath_the_mount_are_opened(void **state) {
        char deep[CGROUP_PATH_MAX];

        (void)state;
        assert_int_equal(open_in_v2("/user.slice/run"), 0);
        assert_int_equal(open_in_v2("user.slice/run"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/user.slice/../user.slice/run"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/user.slice/./run"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/.."), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/../../../../proc"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/link/slurmstepd.scope/job_42"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/link"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/user.slice/run/cpu.stat"), CGROUP_MALFORMED);
        assert_int_equal(open_in_v2("/user.slice/gone"), CGROUP_GONE);
        assert_int_equal(open_in_v2("/user.slice"), CGROUP_GONE); /* no file in it is readable */
        assert_int_equal(open_in_v2("/"), CGROUP_GONE);
        assert_int_equal(open_in_v2(""), CGROUP_GONE);

        memset(deep, 'a', sizeof(deep) - 1);
        deep[0] = '/';
        deep[sizeof(deep) - 1] = '\0';
        assert_int_equal(open_in_v2(deep), CGROUP_MALFORMED); /* longer than the maximum of a name */
}

static void a_process_whose_group_was_removed_or_is_the_root_has_none(void **state) {
        Bench bench;

        (void)state;
        assert_int_equal(bench_open(&bench, TREES "cgroup-v2", 104), CGROUP_GONE);
        bench_end(&bench);
        assert_int_equal(bench_open(&bench, TREES "cgroup-v2", 102), CGROUP_GONE);
        bench_end(&bench);
}

/* A container sees its own part of a hierarchy, but the kernel reports whole paths. */
static void the_mounted_part_of_a_hierarchy_is_removed_from_paths(void **state) {
        CgroupSample s;
        CgroupPlace place;
        char root[64];
        Bench bench;

        (void)state;
        tree_copy("cgroup-v2", root);
        tree_write(root, "proc/self/mountinfo",
                   "23 27 0:22 / /sys rw - sysfs sysfs rw\n"
                   "29 23 0:26 /system.slice /sys/fs/cgroup/system.slice rw - cgroup2  rw\n");
        tree_write(root, "sys/fs/cgroup/system.slice/cgroup.procs", "");
        assert_int_equal(bench_open(&bench, root, 100), 0);
        assert_int_equal(cgroup_read(bench.cgroup, NOW, &s), 0);
        assert_int_equal(s.n_pids, 17);
        assert_int_equal(cgroup_tree_find_process(bench.tree, 101, &place), CGROUP_MALFORMED);
        bench_end(&bench);

        /*
         * A whole hierarchy is preferred, whatever its position in the list; a mount point that no longer exists is
         * ignored.
         */
        tree_write(root, "proc/self/mountinfo",
                   "29 23 0:26 /system.slice /sys/fs/cgroup/system.slice rw - cgroup2 cgroup2 rw\n"
                   "30 23 0:26 / /sys/fs/covered rw - cgroup2 cgroup2 rw\n"
                   "31 23 0:26 /../.. /sys/fs/outside rw - cgroup2 cgroup2 rw\n"
                   "32 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_int_equal(bench_open(&bench, root, 101), 0);
        bench_end(&bench);
        tree_remove(root);
}

static void an_invalid_line_of_proc_pid_cgroup_makes_the_place_malformed(void **state) {
        static const char *const texts[] = {
                "0\n", "x::/a\n", "0:/a\n", "0::/a", "0::a\n", "0::/a\n:\n", "0::/a/..\n"
        };
        CgroupPlace place;
        char root[64];

        (void)state;
        tree_copy("cgroup-v2", root);
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(cgroup_tree_freep) CgroupTree *tree = NULL;

                tree_write(root, "proc/100/cgroup", texts[i]);
                assert_int_equal(cgroup_tree_new(&tree, root), 0);
                assert_int_equal(cgroup_tree_find_process(tree, 100, &place), CGROUP_MALFORMED);
        }
        tree_remove(root);
}

static void every_part_has_a_name(void **state) {
        (void)state;
        for (CgroupPart part = 0; part < N_CGROUP_PARTS; part++) {
                assert_non_null(cgroup_part_names[part]);
                for (CgroupPart other = 0; other < part; other++)
                        assert_string_not_equal(cgroup_part_names[part], cgroup_part_names[other]);
        }
        assert_string_equal(cgroup_part_names[CGROUP_CPU_LIMIT], "cpu_limit");
}

/* --- names -------------------------------------------------------------------------------------- */

static void a_group_is_named_after_its_main_hierarchy(void **state) {
        static const struct {
                const char *tree, *name; /* NULL: none */
                int32_t pid;
        } cases[] = {
                { "cgroup-v2", "/system.slice/slurmstepd.scope/job_42", 100 },
                { "cgroup-v1", "cpuacct:/slurm/uid_1000/job_42", 100 },
                { "cgroup-mixed", "/jobs/a", 100 },
                { "cgroup-mixed", "cpuacct:/slurm/job_1", 101 },
                { "cgroup-mixed", "/jobs/a", 102 },
                { "cgroup-mixed", "memory:/agent/a", 103 },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                char name[CGROUP_NAME_MAX], root[64];
                Bench bench;

                (void)snprintf(root, sizeof(root), TREES "%s", cases[i].tree);
                assert_int_equal(bench_open(&bench, root, cases[i].pid), 0);
                assert_int_equal(cgroup_tree_place_name(&bench.place, name), 0);
                assert_string_equal(name, cases[i].name);
                bench_end(&bench);
        }

        assert_int_equal(cgroup_tree_place_name(&(CgroupPlace){}, (char[CGROUP_NAME_MAX]){}), CGROUP_GONE);
        assert_int_equal(cgroup_tree_place_name(&(CgroupPlace){ .v2 = "/", .memory = "/" }, (char[CGROUP_NAME_MAX]){}),
                         CGROUP_GONE);
}

/* Hierarchies without such a group are ignored, except the one in the name. */
static void a_name_is_converted_back_to_its_group(void **state) {
        static const char *const names[] = { "cpuacct:/slurm/job_1", "/jobs/a", "memory:/agent/a" };
        static const uint64_t usage_us[] = { 2000, 1000, 0 };
        char name[CGROUP_NAME_MAX];
        CgroupSample s;
        Bench bench;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                bench = (Bench){};
                assert_int_equal(cgroup_tree_new(&bench.tree, TREES "cgroup-mixed"), 0);
                assert_int_equal(cgroup_tree_place_from_name(names[i], &bench.place), 0);
                assert_int_equal(cgroup_tree_place_name(&bench.place, name), 0);
                assert_string_equal(name, names[i]);
                assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &bench.place), 0);
                assert_int_equal(cgroup_read(bench.cgroup, NOW, &s), 0);
                assert_int_equal(s.usage_us, usage_us[i]);
                assert_int_equal(s.have & PART(MEMORY), PART(MEMORY));
                bench_end(&bench);
        }

        bench = (Bench){};
        assert_int_equal(cgroup_tree_new(&bench.tree, TREES "cgroup-mixed"), 0);
        assert_int_equal(cgroup_tree_place_from_name("/jobs/b", &bench.place), 0);
        assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &bench.place), CGROUP_GONE);
        /* Such a group exists in memory, but not in v2. */
        assert_int_equal(cgroup_tree_place_from_name("/slurm/job_1", &bench.place), 0);
        assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &bench.place), CGROUP_GONE);
        bench_end(&bench);
}

static void an_invalid_group_name_is_refused(void **state) {
        static const char *const names[] = {
                "",
                "/",
                "a",
                "a/b",
                ":",
                ":/a",
                "cpuacct",
                "cpuacct:",
                "cpuacct:/",
                "cpuacct:a",
                "cpu:cpuacct:/a",
                "cpuacct:/a/../b",
                "systemd:/a",
                "name=systemd:/a",
                "/..",
                "/../a",
                "/a/..",
                "/a/./b",
                "/a//b",
                "//a",
                "/a/",
                "cpuacct/a:/b",
        };
        char long_name[CGROUP_PATH_MAX + 1];
        CgroupPlace place, before;

        (void)state;
        memset(&place, 0x5a, sizeof(place));
        before = place;
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                assert_int_equal(cgroup_tree_place_from_name(names[i], &place), CGROUP_MALFORMED);

        memset(long_name, '/', 1);
        memset(long_name + 1, 'a', CGROUP_PATH_MAX - 1);
        long_name[CGROUP_PATH_MAX] = '\0';
        assert_int_equal(cgroup_tree_place_from_name(long_name, &place), CGROUP_MALFORMED);
        assert_memory_equal(&place, &before, sizeof(place));
        long_name[CGROUP_PATH_MAX - 1] = '\0';
        assert_int_equal(cgroup_tree_place_from_name(long_name, &place), 0);
        assert_string_equal(place.v2, long_name);
}

static void names_lead_up_to_the_root(void **state) {
        char v2[] = "/a/b.slice/c:/d", v1[] = "cpuacct:/slurm/job_1";

        (void)state;
        assert_true(cgroup_tree_name_parent(v2));
        assert_string_equal(v2, "/a/b.slice/c:");
        assert_true(cgroup_tree_name_parent(v2));
        assert_true(cgroup_tree_name_parent(v2));
        assert_string_equal(v2, "/a");
        assert_true(cgroup_tree_name_parent(v2));
        assert_string_equal(v2, "/");
        assert_false(cgroup_tree_name_parent(v2));
        assert_string_equal(v2, "/");

        assert_true(cgroup_tree_name_parent(v1));
        assert_string_equal(v1, "cpuacct:/slurm");
        assert_true(cgroup_tree_name_parent(v1));
        assert_string_equal(v1, "cpuacct:/");
        assert_false(cgroup_tree_name_parent(v1));
        assert_string_equal(v1, "cpuacct:/");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(v2_has_every_part),
                cmocka_unit_test(stacked_disks_are_counted_once_at_the_lowest_level),
                cmocka_unit_test(lines_without_a_device_or_cut_short_are_skipped),
                cmocka_unit_test(counters_of_a_group_are_believed_as_far_as_they_can_be),
                cmocka_unit_test(a_group_without_controllers_has_the_parts_that_need_none),
                cmocka_unit_test(max_means_unlimited),
                cmocka_unit_test(a_malformed_file_makes_only_its_own_part_absent),
                cmocka_unit_test(files_stay_open_and_are_read_again),
                cmocka_unit_test(v1_has_the_same_values_in_other_units),
                cmocka_unit_test(a_part_with_one_of_two_files_is_absent),
                cmocka_unit_test(hierarchies_without_a_group_of_the_job_are_skipped),
                cmocka_unit_test(a_mixed_layout_reads_cpu_time_from_the_jobs_own_group),
                cmocka_unit_test(layouts_are_distinguished_by_their_mounts),
                cmocka_unit_test(places_are_taken_from_the_kernel_by_hierarchy),
                cmocka_unit_test(only_groups_beneath_the_mount_are_opened),
                cmocka_unit_test(a_process_whose_group_was_removed_or_is_the_root_has_none),
                cmocka_unit_test(the_mounted_part_of_a_hierarchy_is_removed_from_paths),
                cmocka_unit_test(an_invalid_line_of_proc_pid_cgroup_makes_the_place_malformed),
                cmocka_unit_test(every_part_has_a_name),
                cmocka_unit_test(a_group_is_named_after_its_main_hierarchy),
                cmocka_unit_test(a_name_is_converted_back_to_its_group),
                cmocka_unit_test(an_invalid_group_name_is_refused),
                cmocka_unit_test(names_lead_up_to_the_root),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
