/* SPDX-License-Identifier: Apache-2.0 */
#include "report_fixture.h"

static void phases_have_time_share_and_cores(void **state) {
        const char *text = report_document(*state, "scope");

        assert_says(text, "Phases                         time  share                                cores\n");
        assert_says(text, "  before the first mark      2.10 s  ...................................   0.80\n");
        assert_says(text, "  train                  1 h 12 min  ##############################.....   3.40\n");
}

static const Value *read_phases(Fixture *f, const char *phases, const char *more) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text,
                      "{\"id\":\"j\",\"state\":\"running\",\"begin_ms\":1000,\"on\":{\"cpus\":4,\"time_ms\":21000},"
                      "\"phases\":[%s]%s}",
                      phases, more);
        return read_value(f, text.text);
}

static void phases_of_one_name_are_added_up(void **state) {
        const char *text = report_of(*state, read_phases(*state,
                "{\"name\":\"load\",\"begin_ms\":1000,\"end_ms\":2000,\"seconds\":1.0},"
                "{\"name\":\"train\",\"begin_ms\":2000,\"end_ms\":6000,\"seconds\":4.0,"
                "\"metrics\":[" OWN("job_cpus_used", 1.0, "cpus") "]},"
                "{\"name\":\"load\",\"begin_ms\":6000,\"end_ms\":7000,\"seconds\":1.0},"
                "{\"name\":\"train\",\"begin_ms\":7000,\"end_ms\":null,\"seconds\":12.0,"
                "\"metrics\":[" OWN("job_cpus_used", 3.0, "cpus") "]}", ""), NULL);

        assert_says(text, "  load (2 times)           2 s ");
        assert_says(text, "  train (2 times so far)  16 s ");
        assert_says(text, " 2.50\n"); /* computed from the times */
}

static void of_many_phases_the_longest_are_shown(void **state) {
        scoped(buffer_deinit) Buffer phases = {};
        const char *text;

        for (unsigned i = 0; i < 300; i++)
                buffer_printf(&phases, "%s{\"name\":\"epoch %u\",\"begin_ms\":1,\"end_ms\":%u,\"seconds\":%u.0}",
                              i > 0 ? "," : "", i, 1 + (i == 7 ? 1000000 : 1000), i == 7 ? 1000 : 1);
        text = report_of(*state, read_phases(*state, phases.text, ",\"phases_truncated\":true"), NULL);

        assert_says(text, "  epoch 0 ");
        assert_says(text, "  epoch 7  16 min 40 s  #");
        assert_null(strstr(text, "epoch 6 "));
        assert_says(text, "  and 294 more, 4 min 54 s together\n  and others, not listed\n");
}

/* Nested perfctl time: the outer block's seconds are reported with the part after the inner block. */
static void nested_blocks_are_counted_once(void **state) {
        const char *text = report_of(*state, read_phases(*state,
                "{\"name\":\"outer\",\"begin_ms\":1000,\"end_ms\":2000,\"seconds\":1.0},"
                "{\"name\":\"inner\",\"begin_ms\":2000,\"end_ms\":5000,\"seconds\":3.0},"
                "{\"name\":\"outer\",\"begin_ms\":5000,\"end_ms\":6000,\"seconds\":5.0}", ""), NULL);

        assert_says(text, "  inner             3 s  ");
        assert_says(text, "  outer (2 times)   2 s  ");
}

static void phases_of_a_job_without_a_cgroup_have_the_nodes_cpus(void **state) {
        const char *text = report_of(*state, read_phases(*state,
                "{\"name\":\"a\",\"begin_ms\":1000,\"end_ms\":null,\"metrics\":["
                "{\"key\":\"cpu_avg_utilization_pct\",\"value\":50.0,\"unit\":\"%\",\"quality\":\"exact\","
                "\"scope\":\"node\"}]}", ""), NULL);

        assert_says(text, "node's CPUs\n");
        assert_says(text, "  a (so far)  20 s  "); /* since nobody said how long */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(phases_have_time_share_and_cores),
                TEST(phases_of_one_name_are_added_up),
                TEST(of_many_phases_the_longest_are_shown),
                TEST(nested_blocks_are_counted_once),
                TEST(phases_of_a_job_without_a_cgroup_have_the_nodes_cpus),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
