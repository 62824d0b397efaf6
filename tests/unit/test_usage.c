/* SPDX-License-Identifier: Apache-2.0 */
#include "usage_samples.h"

static void totals_are_the_counts_between_begin_and_end(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += 10 * SECOND;
        now.usage_us += 25000000;
        now.user_us += 20000000;
        now.system_us += 5000000;
        now.throttled_us += 300000;
        now.n_memory_high += 1;
        now.n_oom_kill += 2;
        now.read_bytes += 7 * MIB;
        now.write_bytes += 9 * MIB;
        now.reads += 11;
        now.writes += 13;
        now.psi_cpu_some_us += 1500000;
        now.psi_memory_some_us += 250000;
        now.psi_memory_full_us += 125000;
        now.psi_io_some_us += 500000;
        now.psi_io_full_us += 1;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_SECONDS, 25, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_USER, 20, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_SYSTEM, 5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 2.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_GIVEN, 8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_RATIO, 0.3125, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 55, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MAX, 2.5, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_THROTTLED, 0.3, QUALITY_EXACT);
        assert_usage(&set, USAGE_MEMORY_HIGH, 1, QUALITY_EXACT);
        assert_usage(&set, USAGE_OOM_KILLS, 2, QUALITY_EXACT);
        assert_usage(&set, USAGE_READ_BYTES, 7.0 * MIB, QUALITY_EXACT);
        assert_usage(&set, USAGE_WRITE_BYTES, 9.0 * MIB, QUALITY_EXACT);
        assert_usage(&set, USAGE_READS, 11, QUALITY_EXACT);
        assert_usage(&set, USAGE_WRITES, 13, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_CPU_SOME, 1.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_MEMORY_SOME, 0.25, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_MEMORY_FULL, 0.125, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_IO_SOME, 0.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_IO_FULL, 1e-6, QUALITY_EXACT);
}

static void a_job_of_50_ms_is_exact_and_has_no_peak_of_cpu(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += 50 * MS;
        now.usage_us += 43210;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_SECONDS, 0.04321, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 0.8642, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_RATIO, 0.108025, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 0.35679, QUALITY_EXACT);
        assert_absent(&set, USAGE_CPU_MAX, QUALITY_TOO_SHORT);
}

static void all_counts_of_a_group_created_for_the_job_belong_to_the_job(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.usage_us = 7000; /* before the first sample */
        now.write_bytes = 4096;
        usage_begin(&usage, &now, true);
        now.boottime_ns += 50 * MS;
        now.usage_us += 13000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_SECONDS, 0.02, QUALITY_EXACT);
        assert_usage(&set, USAGE_WRITE_BYTES, 4096, QUALITY_EXACT);
}

static void use_before_the_first_sample_is_excluded_from_rates(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, true); /* seven CPU seconds, over an unknown time */
        now.boottime_ns += 2 * SECOND;
        now.usage_us += 1000000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_SECONDS, 8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 0.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MAX, 0.5, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_CPU_RATIO, 0.5 / NODE_CPUS, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 2 * NODE_CPUS - 1, QUALITY_EXACT);
}

static void the_peak_is_not_below_the_mean(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND; /* idle */
        usage_advance(&usage, &now);
        now.boottime_ns += 50 * MS; /* too short an interval on its own, with high use of many CPUs */
        now.usage_us += 400000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_true(set.value[USAGE_CPU_MEAN] > 0.3);
        assert_usage(&set, USAGE_CPU_MAX, set.value[USAGE_CPU_MEAN], QUALITY_SAMPLED);
}

static void a_cut_usage_is_a_lower_bound(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.have &= ~(1U << CGROUP_IO);
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        usage_cut(&set);

        assert_int_equal(set.quality[USAGE_CPU_SECONDS], QUALITY_SAMPLED);
        assert_int_equal(set.quality[USAGE_CPU_GIVEN], QUALITY_EXACT);
        assert_absent(&set, USAGE_WRITE_BYTES, QUALITY_NOT_ENABLED);
}

static void without_elapsed_time_there_are_no_rates(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.quota_us = 200000;
        usage_begin(&usage, &now, false);
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_SECONDS, 0, QUALITY_EXACT);
        assert_usage(&set, USAGE_READ_BYTES, 0, QUALITY_EXACT);
        assert_absent(&set, USAGE_CPU_MEAN, QUALITY_TOO_SHORT);
        assert_absent(&set, USAGE_CPU_RATIO, QUALITY_TOO_SHORT);
        assert_absent(&set, USAGE_CPU_UNUSED, QUALITY_TOO_SHORT);
        assert_absent(&set, USAGE_CPU_MAX, QUALITY_TOO_SHORT);
        assert_absent(&set, USAGE_THROTTLED_RATIO, QUALITY_TOO_SHORT);
        assert_usage(&set, USAGE_MEMORY_PEAK, 100.0 * MIB, QUALITY_SAMPLED);
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                assert_true(isfinite(set.value[metric]));
}

/* Samples in between do not affect totals. */
static void counters_that_decreased_add_nothing_and_restart(void **state) {
        static const uint64_t steps[] = { 7500000, 8000000, 200000, 700000, 100, 300100 };
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
                now.boottime_ns += SECOND;
                now.usage_us = steps[i];
                now.write_bytes += MIB;
                usage_advance(&usage, &now);
        }
        set = metrics_of(&usage);

        /* 7.0 → 8.0, 0.2 → 0.7, 0.0001 → 0.3001 */
        assert_usage(&set, USAGE_CPU_SECONDS, 1.8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 0.3, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MAX, 0.5, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_WRITE_BYTES, 6.0 * MIB, QUALITY_EXACT);
}

static void the_peak_of_cpu_is_of_intervals_that_are_long_enough(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        /* Two intervals of 50 ms, the first of which would be 4 CPUs, are merged to one of 100 ms with 2.5. */
        now.boottime_ns += 50 * MS;
        now.usage_us += 200000;
        usage_advance(&usage, &now);
        now.boottime_ns += 50 * MS;
        now.usage_us += 50000;
        usage_advance(&usage, &now);
        /* A sample without this part, then one with it: 1 CPU over both seconds. */
        now.boottime_ns += SECOND;
        without(&now, CGROUP_CPU);
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.have = ALL;
        now.usage_us += 2000000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_MAX, 2.5, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_CPU_SECONDS, 2.25, QUALITY_EXACT);
}

static void an_older_sample_changes_nothing(void **state) {
        CgroupSample now = sample_of_all();
        Usage usage, before;

        (void)state;
        usage_begin(&usage, &now, false);
        before = usage;
        now.boottime_ns--;
        now.usage_us += 1000;
        now.memory_bytes *= 2;
        usage_advance(&usage, &now);
        assert_memory_equal(&usage, &before, sizeof(usage));
}

static double given(uint64_t quota_us, uint32_t n_cpus, uint32_t have, uint32_t n_node_cpus) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        now.have = have;
        now.quota_us = quota_us;
        now.n_cpus = n_cpus;
        usage_begin(&usage, &now, false);
        usage_metrics(&usage, n_node_cpus, NODE_MEMORY, &set);
        if (n_node_cpus == 0)
                assert_absent(&set, USAGE_CPU_GIVEN, QUALITY_UNKNOWN_SOURCE);
        return set.value[USAGE_CPU_GIVEN];
}

static void allocated_cpus_are_the_minimum_of_node_cpuset_and_quota(void **state) {
        (void)state;
        assert_true(given(CGROUP_NO_LIMIT, 128, ALL, 8) == 8);
        assert_true(given(CGROUP_NO_LIMIT, 4, ALL, 8) == 4);
        assert_true(given(150000, 4, ALL, 8) == 1.5);
        assert_true(given(600000, 4, ALL, 8) == 4);
        assert_true(given(1600000, 128, ALL, 8) == 8);
        assert_true(given(150000, 4, ALL & ~(1U << CGROUP_CPU_LIMIT), 8) == 4);
        assert_true(given(150000, 1, ALL & ~(1U << CGROUP_CPUSET), 8) == 1.5);
        assert_true(given(150000, 4, 1U << CGROUP_CPU, 8) == 8);
        assert_true(given(150000, 4, ALL, 0) == 0);
}

static void utilization_is_relative_to_the_allocated_cpus(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.quota_us = 150000;
        usage_begin(&usage, &now, false);
        now.boottime_ns += 20 * SECOND;
        now.usage_us += 24000000;
        now.n_periods += 200;
        now.n_throttled += 30;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        /* 24 s of 20 s × 1.5 */
        assert_usage(&set, USAGE_CPU_RATIO, 0.8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 6, QUALITY_EXACT);
        assert_usage(&set, USAGE_THROTTLED_RATIO, 0.15, QUALITY_EXACT);

        /* A burst exceeds the allocation; then there is no unused time. */
        now.usage_us += 12000000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_RATIO, 1.2, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 0, QUALITY_EXACT);
}

static void without_a_quota_nothing_is_throttled(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_THROTTLED_RATIO, 0, QUALITY_EXACT);
}

static void a_quota_of_a_group_above_throttles_unseen(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.quota_us = 150000;
        now.n_periods = now.n_throttled = now.throttled_us = 0;
        usage_begin(&usage, &now, true);
        now.boottime_ns += 50 * MS;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_THROTTLED_RATIO, QUALITY_TOO_SHORT);
        assert_usage(&set, USAGE_THROTTLED, 0, QUALITY_EXACT);

        now.boottime_ns += 150 * MS;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_THROTTLED_RATIO, QUALITY_UNKNOWN_SOURCE);
        assert_absent(&set, USAGE_THROTTLED, QUALITY_UNKNOWN_SOURCE);
        assert_usage(&set, USAGE_CPU_GIVEN, 1.5, QUALITY_EXACT);

        /* The group has its own quota, but no period has ended since the start. */
        now.n_periods = now.n_throttled = 7;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_THROTTLED_RATIO, QUALITY_TOO_SHORT);
        assert_usage(&set, USAGE_THROTTLED, 0, QUALITY_EXACT);
}

static void the_peak_of_a_group_made_for_the_job_is_the_kernels(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, true);
        now.boottime_ns += SECOND;
        now.memory_bytes = 300 * MIB;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_MEMORY_PEAK, 500.0 * MIB, QUALITY_EXACT);
        assert_usage(&set, USAGE_MEMORY_RATIO, 500.0 * MIB / NODE_MEMORY, QUALITY_EXACT);
        /* Events since the creation of the group belong to the job as well. */
        assert_usage(&set, USAGE_OOM_KILLS, 6, QUALITY_EXACT);
        assert_usage(&set, USAGE_MEMORY_HIGH, 3, QUALITY_EXACT);
}

static void parts_of_the_memory_have_a_peak_and_a_mean_over_time(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.anon_bytes = now.kernel_bytes = now.shmem_bytes = 0;
        now.file_bytes = 900 * MIB;
        usage_begin(&usage, &now, true);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_MEMORY_ANON_MEAN, QUALITY_TOO_SHORT);
        now.boottime_ns += SECOND;
        now.anon_bytes = 100 * MIB;
        now.kernel_bytes = 10 * MIB;
        now.shmem_bytes = 1 * MIB;
        usage_advance(&usage, &now);
        now.boottime_ns += 3 * SECOND;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.anon_bytes = 0;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_ANON_PEAK, 100.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_ANON_MEAN, 80.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_FILE_PEAK, 900.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_FILE_MEAN, 900.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_KERNEL_MEAN, 9.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_SHMEM_PEAK, 1.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_MEMORY_UNRECLAIMABLE, 111.0 * MIB, QUALITY_SAMPLED);
}

/* memory.stat is read in one of ten samples: the others repeat its values. */
static void the_mean_of_memory_is_over_the_readings(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.anon_bytes = 0;
        now.memory_stat_ns = now.boottime_ns;
        usage_begin(&usage, &now, true);
        for (unsigned i = 0; i < 9; i++) {
                now.boottime_ns += SECOND;
                usage_advance(&usage, &now);
        }
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_MEMORY_ANON_MEAN, QUALITY_TOO_SHORT);
        now.boottime_ns += SECOND;
        now.memory_stat_ns = now.boottime_ns;
        now.anon_bytes = 100 * MIB;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_ANON_MEAN, 50.0 * MIB, QUALITY_SAMPLED);
}

static void the_peak_of_another_group_is_the_highest_sample(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.memory_bytes = 300 * MIB;
        now.n_pids = 17;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.memory_bytes = 200 * MIB;
        now.n_pids = 2;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_PEAK, 300.0 * MIB, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_OOM_KILLS, 0, QUALITY_EXACT);
        assert_usage(&set, USAGE_PIDS_PEAK, 17, QUALITY_SAMPLED);

        /* Unless the kernel's peak rose: then it was reached since the start. */
        now.boottime_ns += SECOND;
        now.memory_peak_bytes = 800 * MIB;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_PEAK, 800.0 * MIB, QUALITY_EXACT);

        /* A kernel without a peak: the maximum of the samples is used, for fresh groups as well. */
        without(&now, CGROUP_MEMORY_PEAK);
        usage_begin(&usage, &now, true);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_PEAK, 200.0 * MIB, QUALITY_SAMPLED);
}

static void limits_at_or_above_the_nodes_size_do_not_count(void **state) {
        static const uint64_t none[] = { CGROUP_NO_LIMIT, NODE_MEMORY, NODE_MEMORY + 1 };
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(none); i++) {
                now.memory_limit_bytes = none[i];
                usage_begin(&usage, &now, true);
                set = metrics_of(&usage);
                assert_absent(&set, USAGE_MEMORY_LIMIT, QUALITY_NO_LIMIT);
                assert_usage(&set, USAGE_MEMORY_RATIO, 500.0 * MIB / NODE_MEMORY, QUALITY_EXACT);
        }

        now.memory_limit_bytes = 1000 * MIB;
        usage_begin(&usage, &now, true);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_MEMORY_LIMIT, 1000.0 * MIB, QUALITY_EXACT);
        assert_usage(&set, USAGE_MEMORY_RATIO, 0.5, QUALITY_EXACT);

        /* The node's size is unknown. */
        usage_metrics(&usage, 0, 0, &set);
        assert_absent(&set, USAGE_MEMORY_RATIO, QUALITY_UNKNOWN_SOURCE);
        assert_absent(&set, USAGE_MEMORY_LIMIT, QUALITY_UNKNOWN_SOURCE);
        assert_absent(&set, USAGE_CPU_RATIO, QUALITY_UNKNOWN_SOURCE);
}

/* Metrics that are differences of a part. */
static const struct {
        CgroupPart part;
        UsageMetric metric;
} differences[] = {
        { CGROUP_CPU, USAGE_CPU_SECONDS },          { CGROUP_CPU, USAGE_CPU_USER },
        { CGROUP_CPU, USAGE_CPU_MEAN },             { CGROUP_CPU, USAGE_CPU_RATIO },
        { CGROUP_THROTTLING, USAGE_THROTTLED },     { CGROUP_THROTTLING, USAGE_THROTTLED_RATIO },
        { CGROUP_MEMORY_EVENTS, USAGE_OOM_KILLS },  { CGROUP_IO, USAGE_READ_BYTES },
        { CGROUP_IO, USAGE_WRITES },                { CGROUP_PSI_CPU, USAGE_PSI_CPU_SOME },
        { CGROUP_PSI_MEMORY, USAGE_PSI_MEMORY_FULL }, { CGROUP_PSI_IO, USAGE_PSI_IO_SOME },
};

static void parts_missing_at_begin_or_end_are_unknown_and_never_zero(void **state) {
        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(differences); i++)
                for (int at_end = 0; at_end < 2; at_end++) {
                        CgroupSample begin = sample_of_all(), end = sample_of_all();
                        UsageSet set;
                        Usage usage;

                        end.boottime_ns += SECOND;
                        without(at_end ? &end : &begin, differences[i].part);
                        usage_begin(&usage, &begin, false);
                        usage_advance(&usage, &end);
                        set = metrics_of(&usage);
                        assert_absent(&set, differences[i].metric, QUALITY_UNKNOWN_SOURCE);
                }
}

static void a_group_without_controllers_has_cpu_time_and_nothing_of_memory(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.have = 1U << CGROUP_CPU;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.usage_us += 500000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);

        assert_usage(&set, USAGE_CPU_MEAN, 0.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_RATIO, 0.0625, QUALITY_EXACT);
        assert_absent(&set, USAGE_MEMORY_PEAK, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_MEMORY_LIMIT, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_MEMORY_RATIO, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_PIDS_PEAK, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_THROTTLED_RATIO, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_THROTTLED, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_READ_BYTES, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_PSI_IO_FULL, QUALITY_NOT_ENABLED);

        /* Created for the job, without the memory controller: OOM kills are not counted. */
        usage_begin(&usage, &now, true);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_OOM_KILLS, QUALITY_NOT_ENABLED);

        /* cgroup v1 without cpuacct. */
        now.have = 1U << CGROUP_MEMORY;
        usage_begin(&usage, &now, true);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_CPU_SECONDS, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_CPU_MAX, QUALITY_NOT_ENABLED);
        assert_absent(&set, USAGE_CPU_RATIO, QUALITY_NOT_ENABLED);
}

static void a_part_that_returns_continues_at_its_value(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.read_bytes += MIB;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.read_bytes = 0;
        without(&now, CGROUP_IO);
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.read_bytes = 14 * MIB;
        now.have = ALL;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_READ_BYTES, 4.0 * MIB, QUALITY_EXACT);
}

static void a_usage_that_never_began_is_lost(void **state) {
        CgroupSample now = sample_of_all();
        Usage usage = {};
        UsageSet set;

        (void)state;
        set = metrics_of(&usage);
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                assert_absent(&set, metric, metric < USAGE_ENERGY ? QUALITY_LOST : QUALITY_NO_EQUIPMENT);

        usage_begin(&usage, &now, true);
        usage.last.boottime_ns = 5 * SECOND; /* of another boot */
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_CPU_SECONDS, QUALITY_LOST);
}

/* --- tables ------------------------------------------------------------------------------------- */

static void every_metric_is_found_by_its_key(void **state) {
        (void)state;
        for (UsageMetric metric = 0; metric < N_USAGES; metric++) {
                assert_int_equal(usage_find(usage_info[metric].key), metric);
                assert_true(usage_info[metric].scale == 1);
                assert_string_equal(usage_info[metric].label, "");
                assert_int_not_equal(strlen(usage_info[metric].help), 0);
                assert_int_equal(metric_find(usage_info[metric].key), -1);
        }
        assert_int_equal(usage_find("job_cpu"), -1);
        assert_int_equal(usage_find(""), -1);
}

static void a_total_is_the_number_that_the_kernel_counted(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.usage_us += 3530000;
        usage_advance(&usage, &now);
        set = metrics_of(&usage);
        assert_true(set.value[USAGE_CPU_SECONDS] == 3.53);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_total_is_the_number_that_the_kernel_counted),
                cmocka_unit_test(totals_are_the_counts_between_begin_and_end),
                cmocka_unit_test(a_job_of_50_ms_is_exact_and_has_no_peak_of_cpu),
                cmocka_unit_test(all_counts_of_a_group_created_for_the_job_belong_to_the_job),
                cmocka_unit_test(use_before_the_first_sample_is_excluded_from_rates),
                cmocka_unit_test(the_peak_is_not_below_the_mean),
                cmocka_unit_test(a_cut_usage_is_a_lower_bound),
                cmocka_unit_test(without_elapsed_time_there_are_no_rates),
                cmocka_unit_test(counters_that_decreased_add_nothing_and_restart),
                cmocka_unit_test(the_peak_of_cpu_is_of_intervals_that_are_long_enough),
                cmocka_unit_test(an_older_sample_changes_nothing),
                cmocka_unit_test(allocated_cpus_are_the_minimum_of_node_cpuset_and_quota),
                cmocka_unit_test(utilization_is_relative_to_the_allocated_cpus),
                cmocka_unit_test(without_a_quota_nothing_is_throttled),
                cmocka_unit_test(a_quota_of_a_group_above_throttles_unseen),
                cmocka_unit_test(the_peak_of_a_group_made_for_the_job_is_the_kernels),
                cmocka_unit_test(parts_of_the_memory_have_a_peak_and_a_mean_over_time),
                cmocka_unit_test(the_mean_of_memory_is_over_the_readings),
                cmocka_unit_test(the_peak_of_another_group_is_the_highest_sample),
                cmocka_unit_test(limits_at_or_above_the_nodes_size_do_not_count),
                cmocka_unit_test(parts_missing_at_begin_or_end_are_unknown_and_never_zero),
                cmocka_unit_test(a_group_without_controllers_has_cpu_time_and_nothing_of_memory),
                cmocka_unit_test(a_part_that_returns_continues_at_its_value),
                cmocka_unit_test(a_usage_that_never_began_is_lost),
                cmocka_unit_test(every_metric_is_found_by_its_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
