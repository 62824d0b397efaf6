/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of parent groups, intervals of reading, and counters that a kernel lacks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "sample/cgroup/cgroup.h"
#include "tree.h"
#include "util/clock.h"

#define NOW (1000 * NS_PER_S)
#define PART(part) (1U << CGROUP_##part)
#define CPU_V1 "sys/fs/cgroup/cpu,cpuacct/slurm/"
#define BLKIO_V1 "sys/fs/cgroup/blkio/"
#define MEMORY_V1 "sys/fs/cgroup/memory/slurm/"
#define SLICE "sys/fs/cgroup/system.slice/"
#define JOB SLICE "slurmstepd.scope/job_42/"

/* A copy of a tree, and the group of process 100 in it. */
typedef struct Bench {
        char root[64];
        CgroupTree *tree;
        CgroupPlace place;
        Cgroup *cgroup;
} Bench;

static void bench_begin(Bench *bench, const char *tree, int32_t pid) {
        *bench = (Bench){};
        tree_copy(tree, bench->root);
        assert_int_equal(cgroup_tree_new(&bench->tree, bench->root), 0);
        assert_int_equal(cgroup_tree_find_process(bench->tree, pid, &bench->place), 0);
        assert_int_equal(cgroup_open(&bench->cgroup, bench->tree, &bench->place), 0);
}

static void bench_end(Bench *bench) {
        cgroup_free(bench->cgroup);
        cgroup_tree_free(bench->tree);
        tree_remove(bench->root);
}

static CgroupSample read_whole(const Bench *bench) {
        CgroupSample sample;

        assert_int_equal(cgroup_read(bench->cgroup, NOW, &sample), 0);
        return sample;
}

static CgroupSample glance(const Bench *bench, uint64_t boottime_ns) {
        CgroupSample sample;

        assert_int_equal(cgroup_refresh(bench->cgroup, boottime_ns, &sample), 0);
        assert_int_equal(sample.boottime_ns, boottime_ns);
        return sample;
}

/* --- limits ------------------------------------------------------------------------------------- */

static void the_least_limit_up_to_the_root_counts(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        /* The group's own limits: 1.5 CPUs and 4 GiB. */
        bench_begin(&bench, "cgroup-v2", 100);
        tree_write(bench.root, SLICE "slurmstepd.scope/memory.max", "max\n");
        tree_write(bench.root, SLICE "memory.max", "3000000\n");
        tree_write(bench.root, SLICE "slurmstepd.scope/cpu.max", "50000 200000\n");
        tree_write(bench.root, SLICE "cpu.max", "max 100000\n");
        s = read_whole(&bench);
        assert_int_equal(s.have, (1U << N_CGROUP_PARTS) - 1);
        assert_int_equal(s.memory_limit_bytes, 3000000);
        assert_int_equal(s.quota_us, 50000);
        assert_int_equal(s.period_us, 200000);
        assert_int_equal(s.n_cpus, 5);

        /*
         * A quota of 1.75 CPUs above is higher, although both of its numbers are lower; the group's own limit is
         * lower than any.
         */
        tree_write(bench.root, SLICE "slurmstepd.scope/cpu.max", "17500 10000\n");
        tree_write(bench.root, JOB "memory.max", "max\n");
        s = read_whole(&bench);
        assert_int_equal(s.quota_us, 150000);
        assert_int_equal(s.memory_limit_bytes, 3000000);
        tree_write(bench.root, JOB "cpu.max", "max 100000\n");
        s = read_whole(&bench);
        assert_int_equal(s.quota_us, 17500);

        /* In a container, the mount may be part of a hierarchy: then the mounted group has limits, too. */
        tree_write(bench.root, "sys/fs/cgroup/memory.max", "2000000\n");
        s = read_whole(&bench);
        assert_int_equal(s.memory_limit_bytes, 2000000);
        bench_end(&bench);
}

static void a_group_without_controllers_has_the_limits_of_its_parents(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        bench_begin(&bench, "cgroup-v2", 101);
        assert_int_equal(read_whole(&bench).have, PART(CPU));

        tree_write(bench.root, "sys/fs/cgroup/user.slice/memory.max", "7000000\n");
        tree_write(bench.root, "sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-2\n");
        /* Limits outside the mount do not apply. */
        tree_write(bench.root, "sys/fs/cpu.max", "1 1000\n");
        s = read_whole(&bench);
        assert_int_equal(s.have, PART(CPU) | PART(MEMORY_LIMIT) | PART(CPUSET));
        assert_int_equal(s.memory_limit_bytes, 7000000);
        assert_int_equal(s.n_cpus, 3);
        bench_end(&bench);
}

static void v1_has_limits_by_hierarchy(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        /* The group's own limits: 2 CPUs, and unlimited memory. */
        bench_begin(&bench, "cgroup-v1", 100);
        tree_write(bench.root, CPU_V1 "uid_1000/cpu.cfs_quota_us", "-1\n");
        tree_write(bench.root, CPU_V1 "uid_1000/cpu.cfs_period_us", "100000\n");
        tree_write(bench.root, CPU_V1 "cpu.cfs_quota_us", "70000\n");
        tree_write(bench.root, CPU_V1 "cpu.cfs_period_us", "100000\n");
        tree_write(bench.root, MEMORY_V1 "uid_1000/memory.limit_in_bytes", "5000000\n");
        tree_write(bench.root, MEMORY_V1 "memory.limit_in_bytes", "9223372036854771712\n");
        s = read_whole(&bench);
        assert_int_equal(s.quota_us, 70000);
        assert_int_equal(s.memory_limit_bytes, 5000000);
        bench_end(&bench);
}

/* --- unsupported counters ----------------------------------------------------------------------- */

/* Returns the I/O part of a v1 group whose own files are empty, with this text in the root group. */
static uint32_t io_of(const char *root_text) {
        uint32_t have;
        Bench bench;

        bench_begin(&bench, "cgroup-v1", 100);
        cgroup_free(bench.cgroup);
        tree_write(bench.root, BLKIO_V1 "slurm/uid_1000/job_42/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
        tree_write(bench.root, BLKIO_V1 "slurm/uid_1000/job_42/blkio.throttle.io_serviced_recursive", "Total 0\n");
        tree_write(bench.root, BLKIO_V1 "blkio.throttle.io_service_bytes_recursive", root_text);
        assert_int_equal(cgroup_open(&bench.cgroup, bench.tree, &bench.place), 0);
        have = read_whole(&bench).have;
        bench_end(&bench);
        return have & PART(IO);
}

static void io_that_v1_does_not_count_is_absent_instead_of_zero(void **state) {
        (void)state;
        assert_int_equal(io_of("259:0 Read 0\n259:0 Write 0\n259:0 Total 0\nTotal 0\n"), 0);
        assert_int_equal(io_of("Total 0\n"), 0);
        assert_int_equal(io_of("8:0 Read 0\n8:0 Write 0\n259:0 Read 4096\n259:0 Write 0\nTotal 4096\n"), PART(IO));
        assert_int_equal(io_of("8:0 Read 0\n8:0 Write 512\nTotal 512\n"), PART(IO));
}

/* --- intervals ---------------------------------------------------------------------------------- */

static void a_refresh_reads_counters_and_skips_expensive_files(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        bench_begin(&bench, "cgroup-v2", 100);
        (void)read_whole(&bench);
        tree_write(bench.root, JOB "memory.current", "12345\n");
        tree_write(bench.root, JOB "pids.current", "9\n");
        tree_write(bench.root, JOB "memory.max", "54321\n");
        tree_write(bench.root, JOB "io.pressure",
                   "some avg10=0.00 avg60=0.00 avg300=0.00 total=999\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
                   "total=99\n");
        tree_write(bench.root, JOB "memory.events", "low 0\nhigh 7\nmax 0\noom 0\noom_kill 0\n");
        s = glance(&bench, NOW + 1);
        assert_int_equal(s.have, (1U << N_CGROUP_PARTS) - 1);
        assert_int_equal(s.memory_bytes, 12345);
        assert_int_equal(s.n_pids, 9);
        assert_int_equal(s.memory_limit_bytes, 4294967296);
        assert_int_equal(s.psi_io_some_us, 333);
        assert_int_equal(s.n_memory_high, 2);

        assert_int_equal(read_whole(&bench).psi_io_some_us, 999);
        s = glance(&bench, NOW + 2);
        assert_int_equal(s.psi_io_some_us, 999);
        assert_int_equal(s.psi_io_full_us, 99);
        assert_int_equal(s.n_memory_high, 7);
        assert_int_equal(s.memory_limit_bytes, 54321);
        bench_end(&bench);
}

static void memory_in_use_is_not_read_if_the_kernels_peak_suffices(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        bench_begin(&bench, "cgroup-v2", 100);
        cgroup_trust_peak(bench.cgroup, true);
        (void)read_whole(&bench);
        tree_write(bench.root, JOB "memory.current", "12345\n");
        tree_write(bench.root, JOB "memory.peak", "9999999999\n");
        s = glance(&bench, NOW + 1);
        assert_int_equal(s.have, (1U << N_CGROUP_PARTS) - 1);
        assert_int_equal(s.memory_bytes, 1073741824);
        assert_int_equal(s.memory_peak_bytes, 9999999999);
        assert_int_equal(read_whole(&bench).memory_bytes, 12345);

        cgroup_trust_peak(bench.cgroup, false);
        tree_write(bench.root, JOB "memory.current", "54321\n");
        assert_int_equal(glance(&bench, NOW + 1).memory_bytes, 54321);
        bench_end(&bench);
}

/* The values are read at the first refresh after an interval, whenever in the interval the last one was. */
static void expensive_files_are_read_again_after_their_interval(void **state) {
        CgroupSample s;
        Bench bench;

        (void)state;
        bench_begin(&bench, "cgroup-v2", 100);
        (void)read_whole(&bench);
        tree_write(bench.root, JOB "memory.max", "54321\n");
        tree_write(bench.root, JOB "memory.events", "low 0\nhigh 7\nmax 0\noom 0\noom_kill 0\n");
        tree_write(bench.root, JOB "memory.stat", "anon 4096\nfile 8192\nkernel 0\nshmem 0\n");
        s = glance(&bench, NOW + 1);
        assert_int_not_equal(s.anon_bytes, 4096);
        assert_true(s.memory_stat_ns == NOW);
        s = glance(&bench, NOW + CGROUP_SELDOM_NS);
        assert_int_equal(s.n_memory_high, 7);
        assert_int_equal(s.anon_bytes, 4096);
        assert_true(s.memory_stat_ns == NOW + CGROUP_SELDOM_NS);
        s = glance(&bench, NOW + CGROUP_LIMITS_NS);
        assert_int_equal(s.memory_limit_bytes, 54321);

        /* In any ten consecutive seconds, one refresh reads the expensive files. */
        tree_write(bench.root, JOB "memory.events", "low 0\nhigh 100\nmax 0\noom 0\noom_kill 0\n");
        assert_int_equal(cgroup_read(bench.cgroup, NOW + CGROUP_LIMITS_NS, &s), 0);
        for (uint64_t i = 1; i <= 60; i++) {
                char text[96];

                (void)snprintf(text, sizeof(text), "low 0\nhigh %llu\nmax 0\noom 0\noom_kill 0\n",
                               (unsigned long long)(100 + i));
                tree_write(bench.root, JOB "memory.events", text);
                s = glance(&bench, NOW + CGROUP_LIMITS_NS + i * NS_PER_S);
                assert_true(s.n_memory_high + 10 > 100 + i);
        }
        bench_end(&bench);
}

/* Spreads the load on a node with many jobs that began at the same time. */
static void expensive_reads_of_groups_opened_together_are_spread(void **state) {
        Cgroup *groups[60];
        unsigned n[10] = {};
        Bench bench;

        (void)state;
        bench_begin(&bench, "cgroup-v2", 100);
        for (size_t i = 0; i < N_ELEMENTS(groups); i++) {
                CgroupSample s;

                assert_int_equal(cgroup_open(&groups[i], bench.tree, &bench.place), 0);
                assert_int_equal(cgroup_read(groups[i], NOW, &s), 0);
        }
        for (uint64_t second = 0; second < N_ELEMENTS(n); second++) {
                char text[96];

                (void)snprintf(text, sizeof(text), "low 0\nhigh %llu\nmax 0\noom 0\noom_kill 0\n",
                               (unsigned long long)(100 + second));
                tree_write(bench.root, JOB "memory.events", text);
                for (size_t i = 0; i < N_ELEMENTS(groups); i++) {
                        CgroupSample s;

                        assert_int_equal(cgroup_refresh(groups[i], NOW + (second + 1) * NS_PER_S, &s), 0);
                        n[second] += s.n_memory_high == 100 + second;
                }
        }
        for (size_t second = 0; second < N_ELEMENTS(n); second++)
                assert_int_equal(n[second], N_ELEMENTS(groups) / N_ELEMENTS(n));

        for (size_t i = 0; i < N_ELEMENTS(groups); i++)
                cgroup_free(groups[i]);
        bench_end(&bench);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_least_limit_up_to_the_root_counts),
                cmocka_unit_test(a_group_without_controllers_has_the_limits_of_its_parents),
                cmocka_unit_test(v1_has_limits_by_hierarchy),
                cmocka_unit_test(io_that_v1_does_not_count_is_absent_instead_of_zero),
                cmocka_unit_test(a_refresh_reads_counters_and_skips_expensive_files),
                cmocka_unit_test(memory_in_use_is_not_read_if_the_kernels_peak_suffices),
                cmocka_unit_test(expensive_files_are_read_again_after_their_interval),
                cmocka_unit_test(expensive_reads_of_groups_opened_together_are_spread),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
