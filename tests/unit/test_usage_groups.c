/* SPDX-License-Identifier: Apache-2.0 */
/* A job with several groups in succession, and a job without groups. */

#include "usage_samples.h"

/* --- the client's own CPU time ----------------------------------------------------------------- */

static void cpu_time_of_the_client_is_not_counted(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.usage_us = 2100;
        now.user_us = 600;
        now.system_us = 1500;
        usage_begin(&usage, &now, true);
        usage_exclude(&usage, &(ClientCpu){ 700, 1300 }); /* divided otherwise than by the group */

        now.boottime_ns += SECOND / 10;
        now.usage_us += 21000;
        now.user_us += 20000;
        now.system_us += 1000;
        usage_advance(&usage, &now);
        usage_exclude(&usage, &(ClientCpu){ 100, 900 });
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_SECONDS, 0.0201, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_USER, 0.0199, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_SYSTEM, 0.0002, QUALITY_EXACT);
        /* the 100 us before the first sample were the client's */
        assert_usage(&set, USAGE_CPU_MEAN, 0.201, QUALITY_EXACT);
}

static void no_more_than_the_cpu_time_counted_is_excluded(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.usage_us += 500;
        now.user_us += 300;
        now.system_us += 200;
        usage_advance(&usage, &now);
        usage_exclude(&usage, &(ClientCpu){ 10 * SECOND, 1 });
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_SECONDS, 0, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_USER, 0, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_SYSTEM, 0, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 0, QUALITY_EXACT);
}

/* --- consecutive groups ------------------------------------------------------------------------- */

static void a_following_group_adds_all_its_counts(void **state) {
        CgroupSample now = sample_of_all(), next = { .have = ALL, .quota_us = CGROUP_NO_LIMIT };
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.usage_us += 400000;
        now.write_bytes += MIB;
        now.n_oom_kill += 1;
        usage_advance(&usage, &now);

        next.boottime_ns = now.boottime_ns + 2 * SECOND;
        next.usage_us = 70000;
        next.write_bytes = 2 * MIB;
        next.n_oom_kill = 3;
        usage_continue(&usage, &next);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_SECONDS, 0.47, QUALITY_EXACT);
        assert_usage(&set, USAGE_WRITE_BYTES, 3.0 * MIB, QUALITY_EXACT);
        assert_usage(&set, USAGE_OOM_KILLS, 4, QUALITY_EXACT);

        /* Continues normally, also if the new group has larger counters than the old one. */
        next.boottime_ns += SECOND;
        next.usage_us += 90000000;
        next.write_bytes += 100 * MIB;
        usage_advance(&usage, &next);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_SECONDS, 90.47, QUALITY_EXACT);
        assert_usage(&set, USAGE_WRITE_BYTES, 103.0 * MIB, QUALITY_EXACT);
        /* The time between the two groups does not count as an interval of CPU time. */
        assert_usage(&set, USAGE_CPU_MAX, 90, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_CPU_MEAN, 90.47 / 4, QUALITY_EXACT);
}

static void pressure_before_the_begin_is_not_counted(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, true);
        usage_drop_pressure(&usage);
        now.boottime_ns += SECOND;
        now.usage_us += 500000;
        now.psi_cpu_some_us += 100000;
        now.psi_memory_some_us += 200000;
        now.psi_memory_full_us += 300000;
        now.psi_io_some_us += 400000;
        now.psi_io_full_us += 500000;
        usage_advance(&usage, &now);

        set = metrics_of(&usage);
        assert_usage(&set, USAGE_PSI_CPU_SOME, 0.1, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_MEMORY_SOME, 0.2, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_MEMORY_FULL, 0.3, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_IO_SOME, 0.4, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_IO_FULL, 0.5, QUALITY_EXACT);
        /* The resources used still belong to the job. */
        assert_usage(&set, USAGE_CPU_SECONDS, 7.5, QUALITY_EXACT);
}

static void counts_since_an_earlier_begin_belong_to_that_time(void **state) {
        CgroupSample now = sample_of_all();
        UsageSet set;
        Usage usage;

        (void)state;
        now.psi_cpu_some_us = 2000000;
        usage_begin(&usage, &now, true);
        usage_drop_pressure(&usage);
        usage_begin_earlier(&usage, 9 * SECOND);
        now.boottime_ns += SECOND;
        now.usage_us += 1000000;
        usage_advance(&usage, &now);

        set = metrics_of(&usage);
        assert_usage(&set, USAGE_CPU_SECONDS, 8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 0.8, QUALITY_EXACT);
        assert_usage(&set, USAGE_PSI_CPU_SOME, 2, QUALITY_EXACT);
}

static void parts_that_the_next_group_reports_late_are_added_completely(void **state) {
        CgroupSample now = sample_of_all(), next = { .have = 1U << CGROUP_CPU };
        UsageSet set;
        Usage usage;

        (void)state;
        usage_begin(&usage, &now, false);
        now.boottime_ns += SECOND;
        now.read_bytes += 5 * MIB;
        usage_advance(&usage, &now);

        next.boottime_ns = now.boottime_ns;
        usage_continue(&usage, &next);
        set = metrics_of(&usage);
        assert_absent(&set, USAGE_READ_BYTES, QUALITY_UNKNOWN_SOURCE);

        next.boottime_ns += SECOND;
        next.have = ALL;
        next.read_bytes = 300 * MIB;
        usage_advance(&usage, &next);
        set = metrics_of(&usage);
        assert_usage(&set, USAGE_READ_BYTES, 305.0 * MIB, QUALITY_EXACT);
}

/* Returns the metrics of a job with two groups, with these kernel peaks and parts. */
static UsageSet peak_over_two(bool is_fresh, uint32_t first_have, uint64_t first_mib, uint64_t second_mib) {
        CgroupSample now = sample_of_all();
        Usage usage;

        now.have = first_have;
        now.memory_bytes = 10 * MIB;
        usage_begin(&usage, &now, is_fresh);
        now.boottime_ns += SECOND;
        now.memory_peak_bytes = first_mib * MIB;
        usage_advance(&usage, &now);
        now.boottime_ns += SECOND;
        now.have = ALL;
        now.memory_peak_bytes = second_mib * MIB;
        usage_continue(&usage, &now);
        return metrics_of(&usage);
}

static void the_peak_over_two_groups_is_the_higher_one(void **state) {
        uint32_t no_peak = ALL & ~(1U << CGROUP_MEMORY_PEAK);
        UsageSet set;

        (void)state;
        set = peak_over_two(true, ALL, 900, 30);
        assert_usage(&set, USAGE_MEMORY_PEAK, 900.0 * MIB, QUALITY_EXACT);
        set = peak_over_two(true, ALL, 900, 1000);
        assert_usage(&set, USAGE_MEMORY_PEAK, 1000.0 * MIB, QUALITY_EXACT);
        /*
         * Not created for the job, and the peak from before the job (500 MiB) did not rise: the job's peak was lower.
         */
        set = peak_over_two(false, ALL, 500, 30);
        assert_usage(&set, USAGE_MEMORY_PEAK, 10.0 * MIB, QUALITY_SAMPLED);
        set = peak_over_two(false, ALL, 500, 700);
        assert_usage(&set, USAGE_MEMORY_PEAK, 700.0 * MIB, QUALITY_EXACT);
        set = peak_over_two(false, ALL, 800, 700);
        assert_usage(&set, USAGE_MEMORY_PEAK, 800.0 * MIB, QUALITY_EXACT);
        /* The kernel of the first group has no peak. */
        set = peak_over_two(true, no_peak, 900, 700);
        assert_usage(&set, USAGE_MEMORY_PEAK, 10.0 * MIB, QUALITY_SAMPLED);
}

static void an_older_group_changes_nothing(void **state) {
        CgroupSample now = sample_of_all();
        Usage usage, before;

        (void)state;
        usage_begin(&usage, &now, true);
        before = usage;
        now.boottime_ns--;
        usage_continue(&usage, &now);
        assert_memory_equal(&usage, &before, sizeof(usage));
}

/* --- no group ----------------------------------------------------------------------------------- */

static void without_a_group_all_metrics_are_absent_with_a_reason(void **state) {
        UsageSet set;

        (void)state;
        usage_none(&set);
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                assert_absent(&set, metric,
                              metric < USAGE_ENERGY ? QUALITY_NO_GROUP : QUALITY_NO_EQUIPMENT);
}

static void a_process_tree_has_the_cpu_time_from_wait4(void **state) {
        UsageSet set;

        (void)state;
        usage_of_process_tree(&(ProcessTree){ 3, 1.5, false }, 2, NODE_CPUS, &set);
        assert_usage(&set, USAGE_CPU_SECONDS, 4.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_USER, 3, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_SYSTEM, 1.5, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_GIVEN, 8, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_MEAN, 2.25, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_RATIO, 0.28125, QUALITY_EXACT);
        assert_usage(&set, USAGE_CPU_UNUSED, 11.5, QUALITY_EXACT);
        assert_absent(&set, USAGE_CPU_MAX, QUALITY_NO_GROUP);
        assert_absent(&set, USAGE_MEMORY_PEAK, QUALITY_NO_GROUP);
        assert_absent(&set, USAGE_WRITE_BYTES, QUALITY_NO_GROUP);

        usage_of_process_tree(&(ProcessTree){ 3, 1.5, true }, 2, NODE_CPUS, &set);
        assert_usage(&set, USAGE_CPU_SECONDS, 4.5, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_CPU_MEAN, 2.25, QUALITY_SAMPLED);
        assert_usage(&set, USAGE_CPU_GIVEN, 8, QUALITY_EXACT);

        usage_of_process_tree(&(ProcessTree){ 3, 1.5, false }, 0, 0, &set);
        assert_usage(&set, USAGE_CPU_SECONDS, 4.5, QUALITY_EXACT);
        assert_absent(&set, USAGE_CPU_MEAN, QUALITY_TOO_SHORT);
        assert_absent(&set, USAGE_CPU_GIVEN, QUALITY_UNKNOWN_SOURCE);
        assert_absent(&set, USAGE_CPU_RATIO, QUALITY_UNKNOWN_SOURCE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cpu_time_of_the_client_is_not_counted),
                cmocka_unit_test(no_more_than_the_cpu_time_counted_is_excluded),
                cmocka_unit_test(a_following_group_adds_all_its_counts),
                cmocka_unit_test(pressure_before_the_begin_is_not_counted),
                cmocka_unit_test(counts_since_an_earlier_begin_belong_to_that_time),
                cmocka_unit_test(parts_that_the_next_group_reports_late_are_added_completely),
                cmocka_unit_test(the_peak_over_two_groups_is_the_higher_one),
                cmocka_unit_test(an_older_group_changes_nothing),
                cmocka_unit_test(without_a_group_all_metrics_are_absent_with_a_reason),
                cmocka_unit_test(a_process_tree_has_the_cpu_time_from_wait4),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
