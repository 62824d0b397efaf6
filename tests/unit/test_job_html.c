/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/pages/job_html.h"
#include "snapshot_fixture.h"

#define NBSP "\xc2\xa0"
#define EVIL "<script>alert(\"1\")</script>'&\xff"
#define EVIL_ESCAPED "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;\xef\xbf\xbd"

typedef struct Fixture {
        Snapshot snapshot;
        JobView view; /* of the only job in the snapshot */
        JobView *job;
        Buffer out;
} Fixture;

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 4, .n_jobs = 1 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        fixture_fill(&fixture->snapshot, &size);
        fixture->view = fixture_view(&fixture->snapshot, 0);
        fixture->job = &fixture->view;
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        snapshot_deinit(&fixture->snapshot);
        buffer_deinit(&fixture->out);
        free(fixture);
        return 0;
}

static bool says(const Fixture *fixture, const char *words) {
        return fixture->out.text && strstr(fixture->out.text, words);
}

static void own(Fixture *fixture, UsageMetric metric, double value, Quality quality) {
        fixture->job->usage.value[metric] = value;
        fixture->job->usage.quality[metric] = (uint8_t)quality;
}

static void node(Fixture *fixture, Metric metric, double value, Quality quality) {
        fixture->job->metrics.value[metric] = value;
        fixture->job->metrics.quality[metric] = (uint8_t)quality;
}

static void a_job_is_titled_by_its_name_or_id(void **state) {
        Fixture *fixture = *state;

        fixture->job->info.name = EVIL;
        job_html_title(&fixture->out, fixture->job);
        assert_string_equal(fixture->out.text, EVIL_ESCAPED);

        buffer_clear(&fixture->out);
        fixture->job->info.name = "";
        job_html_title(&fixture->out, fixture->job);
        assert_string_equal(fixture->out.text, "job-0");
}

static void only_given_facts_are_shown(void **state) {
        Fixture *fixture = *state;
        JobView *job = fixture->job;

        job->info.user = EVIL;
        node(fixture, METRIC_DURATION, 0, QUALITY_LOST);
        job_html_facts(&fixture->out, job, job->begin_realtime_ms + 90000);
        assert_true(says(fixture, "<small>State</small><b>running</b>"));
        assert_true(says(fixture, "<small>Begin</small><b>2025-11-20 22:00:00" NBSP "UTC</b>"));
        assert_true(says(fixture, "<small>Runs for</small><b>1" NBSP "min" NBSP "30" NBSP "s</b>"));
        assert_true(says(fixture, "<small>User</small><b>" EVIL_ESCAPED "</b>"));
        assert_true(says(fixture, "<small>Isolation</small><b>none</b>"));
        assert_true(says(fixture, "<small>Rank</small><b>0</b>"));
        assert_false(says(fixture, "<small>Node</small>"));

        buffer_clear(&fixture->out);
        job->info.user = "";
        job->info.isolation = ISOLATION_SCOPE;
        job->info.node = 1;
        job->info.n_nodes = 2;
        job->info.n_ranks = 8;
        job->state = JOB_FINISHED;
        job->end = (JobEnd){ .has_exit_status = true, .exit_status = 137, .signal = 9 };
        node(fixture, METRIC_DURATION, 3.5, QUALITY_EXACT);
        job_html_facts(&fixture->out, job, 0);
        assert_true(says(fixture, "<b>finished, signal 9</b>"));
        assert_true(says(fixture, "<small>Took</small><b>3.50" NBSP "s</b>"));
        assert_true(says(fixture, "<b>uid 1000</b>"));
        assert_true(says(fixture, "<b>0 of 8</b>"));
        assert_true(says(fixture, "<b>1 of 2</b>"));
}

static void meters_show_used_and_allocated_resources(void **state) {
        Fixture *fixture = *state;

        own(fixture, USAGE_CPU_GIVEN, 32, QUALITY_EXACT);
        own(fixture, USAGE_CPU_MEAN, 3.2, QUALITY_EXACT);
        own(fixture, USAGE_MEMORY_PEAK, 3.0 * (1 << 30), QUALITY_EXACT);
        own(fixture, USAGE_MEMORY_UNRECLAIMABLE, 0, QUALITY_NOT_ENABLED);
        own(fixture, USAGE_MEMORY_LIMIT, 2.0 * (1 << 30), QUALITY_EXACT); /* the limit was lowered in the meantime */
        job_html_own_meters(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_true(says(fixture, "<b>3.2 of 32</b><div class=\"bar\"><i style=\"width:10.0%\"></i></div>"));
        assert_true(says(fixture, "<b>3.00" NBSP "GiB of 2.00" NBSP
                                  "GiB</b><div class=\"bar\"><i style=\"width:100.0%\"></i></div>"));

        buffer_clear(&fixture->out);
        own(fixture, USAGE_MEMORY_UNRECLAIMABLE, 1.0 * (1 << 30), QUALITY_SAMPLED);
        job_html_own_meters(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_true(says(fixture, "<b>1.00" NBSP "GiB of 2.00" NBSP
                                  "GiB</b><div class=\"bar\"><i style=\"width:50.0%\"></i></div>"));

        own(fixture, USAGE_MEMORY_UNRECLAIMABLE, 0, QUALITY_NOT_ENABLED);
        buffer_clear(&fixture->out);
        own(fixture, USAGE_MEMORY_LIMIT, 0, QUALITY_NO_LIMIT);
        job_html_own_meters(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_true(says(fixture, " of the node’s 64.0" NBSP "GiB</b>"));

        buffer_clear(&fixture->out);
        node(fixture, METRIC_CPU_MEAN, 0.453, QUALITY_EXACT);
        node(fixture, METRIC_MEM_MAX, 0.25, QUALITY_SAMPLED);
        job_html_node_meters(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_true(says(fixture, "<b>45.3" NBSP "% of 4</b>"));
        assert_true(says(fixture, "<b>25.0" NBSP "% of 64.0" NBSP "GiB</b>"));
}

static void a_job_without_a_group_shows_why_it_has_no_meters(void **state) {
        Fixture *fixture = *state;

        memset(fixture->job->usage.quality, QUALITY_NO_GROUP, N_USAGES);
        job_html_own_meters(&fixture->out, fixture->job, NULL);
        assert_string_equal(fixture->out.text,
                            "<p>No metrics of the job itself. The job has no cgroup of its own.</p>\n");
}

static void numbers_of_both_stand_side_by_side(void **state) {
        Fixture *fixture = *state;

        node(fixture, METRIC_DURATION, 100, QUALITY_EXACT);
        node(fixture, METRIC_PSI_IO_SOME, 70, QUALITY_EXACT);
        own(fixture, USAGE_PSI_IO_SOME, 61, QUALITY_EXACT);
        node(fixture, METRIC_DISK_READ, 2048, QUALITY_EXACT);
        own(fixture, USAGE_READ_BYTES, 0, QUALITY_NOT_ENABLED);
        own(fixture, USAGE_PIDS_PEAK, 7, QUALITY_SAMPLED);
        job_html_numbers(&fixture->out, fixture->job);
        assert_true(says(fixture,
                         "<th scope=\"row\">Waited for I/O</th><td>61.0" NBSP "%</td><td>70.0" NBSP "%</td></tr>"));
        assert_true(says(fixture, "<th scope=\"row\">Read from disks</th><td><abbr title=\"The controller is not "
                                  "enabled in its cgroup.\">–"
                                  "</abbr></td><td>2.00" NBSP "KiB</td></tr>"));
        assert_true(says(fixture, "peak</th><td>7<abbr title=\"sampled\">~</abbr></td><td></td></tr>"));
}

static void phases_are_named_and_have_their_share(void **state) {
        Fixture *fixture = *state;
        PhaseView phase = { .metrics = fixture->job->metrics, .usage = fixture->job->usage, .end_realtime_ms = 1 };

        job_html_phase(&fixture->out, &phase, 25, 100);
        assert_true(says(fixture, "<i>before the first mark</i><div class=\"bar\"><i style=\"width:25.0%\">"));
        (void)snprintf(phase.name, sizeof(phase.name), "%s", EVIL);
        phase.end_realtime_ms = 0;
        job_html_phase(&fixture->out, &phase, 1, 0);
        assert_true(says(fixture, "<th scope=\"row\">" EVIL_ESCAPED
                                  " <small>running</small><div class=\"bar\"><i style=\"width:0.0%\">"));
}

static void no_advice_leaves_nothing(void **state) {
        Fixture *fixture = *state;

        memset(fixture->job->usage.quality, QUALITY_NO_GROUP, N_USAGES);
        memset(fixture->job->metrics.quality, QUALITY_LOST, N_METRICS);
        job_html_advice(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_int_equal(fixture->out.n, 0);
        own(fixture, USAGE_OOM_KILLS, 1, QUALITY_EXACT);
        job_html_advice(&fixture->out, fixture->job, &fixture->snapshot.node);
        assert_string_equal(fixture->out.text,
                            "<ul class=\"advice\">\n<li>1 process of the job was killed because memory ran out. "
                            "<small>oom-killed</small></li>\n</ul>\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_job_is_titled_by_its_name_or_id, setup, teardown),
                cmocka_unit_test_setup_teardown(only_given_facts_are_shown, setup, teardown),
                cmocka_unit_test_setup_teardown(meters_show_used_and_allocated_resources, setup, teardown),
                cmocka_unit_test_setup_teardown(a_job_without_a_group_shows_why_it_has_no_meters, setup, teardown),
                cmocka_unit_test_setup_teardown(numbers_of_both_stand_side_by_side, setup, teardown),
                cmocka_unit_test_setup_teardown(phases_are_named_and_have_their_share, setup, teardown),
                cmocka_unit_test_setup_teardown(no_advice_leaves_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
