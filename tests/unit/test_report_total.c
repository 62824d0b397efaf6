/* SPDX-License-Identifier: Apache-2.0 */
#include "run_fixture.h"

#include "client/report/report_total.h"

static void numbers_of_ranks_add_up_and_those_of_nodes_count_once(void **state) {
        Fixture *f = *state;
        const Value *json;
        Rank ranks[4];

        make_four(ranks);
        ranks[2].memory_mib = 300;
        ranks[3].end_ms += 2000; /* the longest report on n2 */
        ranks[3].node_read_mib = 50;
        assert_int_equal(join(f, ranks, 4), 0);
        json = json_of(f);
        assert_total(json, "job_cpu_seconds", 42, "sum");
        assert_total(json, "job_cpus_used", 4, "sum");
        assert_total(json, "job_memory_peak_bytes", 300 * 1048576.0, "max");
        assert_total(json, "total_disk_io_read_mb", 60, "sum");
        assert_total(json, "node_cpu_hours", 4 * 22 / 3600.0, "sum");
        assert_total(json, "max_t_mem_percent", 13, "max");
        assert_int_equal(answer_number_or_zero(find_item(value_get(json, "total"), "job_memory_peak_bytes"), "rank"),
                         2);
}

static void allocations_are_limited_to_the_host(void **state) {
        Fixture *f = *state;
        Rank ranks[4];
        ReportTotal total;

        make_four(ranks);
        for (size_t i = 0; i < 4; i++)
                ranks[i].cpus_given = 4; /* no limit below the node's */
        assert_int_equal(join(f, ranks, 4), 0);
        assert_true(report_total_given(&f->run, false, &total));
        assert_true(fabs(total.value - 8) < 1e-9);
        assert_true(report_total_given(&f->run, true, &total));
        assert_true(fabs(total.value - 80) < 1e-9);
        assert_says(screen_of(f, true), "cores     4 of 8 ");
        assert_total(json_of(f), "job_cpu_unused_seconds", 40, "sum");
}

static void two_ranks_in_one_cgroup_count_once(void **state) {
        Fixture *f = *state;
        const Value *reports;
        Rank ranks[4];

        make_four(ranks);
        for (size_t i = 0; i < 4; i++)
                ranks[i].cgroup = "/slurm/job_17"; /* on each of the two hosts */
        assert_int_equal(join(f, ranks, 4), 0);
        assert_total(json_of(f), "job_cpu_seconds", 20, "sum");

        reports = value_get(json_of(f), "reports");
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(value_get(&reports->items[i], "counted")->boolean, i % 2 == 0);
}

static void the_spread_names_the_least_and_the_most(void **state) {
        Fixture *f = *state;
        const Value *spread;
        Rank ranks[4];

        make_four(ranks);
        ranks[3].cpus_used = 2;
        ranks[1].cpus_used = 0.5;
        assert_int_equal(join(f, ranks, 4), 0);
        assert_says(screen_of(f, true), "time      10 s in all, most/mean 1.00\n");
        assert_says(f->out.text, "CPU time  5 s in rank 1 to 20 s in rank 3, most/mean 1.78\n");
        spread = find_item(value_get(json_of(f), "spread"), "job_cpu_seconds");
        assert_true(fabs(answer_number_or_zero(spread, "imbalance") - 20 / 11.25) < 1e-9);
        assert_int_equal(answer_number_or_zero(spread, "min_rank"), 1);
        assert_int_equal(answer_number_or_zero(spread, "max_rank"), 3);
}

static void waiting_is_that_of_the_rank_that_waited_most(void **state) {
        Fixture *f = *state;
        Rank ranks[4];

        make_four(ranks);
        assert_int_equal(join(f, ranks, 4), 0);
        assert_says(screen_of(f, true), "waited    for I/O 30 % of the time in rank 3\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(numbers_of_ranks_add_up_and_those_of_nodes_count_once),
                TEST(allocations_are_limited_to_the_host),
                TEST(two_ranks_in_one_cgroup_count_once),
                TEST(the_spread_names_the_least_and_the_most),
                TEST(waiting_is_that_of_the_rank_that_waited_most),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
