/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/pipeline/pipeline_line.h"
#include "client/deliver/pipeline_pending.h"

static Arena arena;
static char error[PIPELINE_LINE_ERROR_MAX];

static int setup(void **state) {
        (void)state;
        return arena_init(&arena, 1 << 20);
}

static int teardown(void **state) {
        (void)state;
        arena_deinit(&arena);
        return 0;
}

static int read_line(const char *text, PipelineLine *ret) {
        arena_reset(&arena);
        return pipeline_line_read(text, strlen(text), true, &arena, ret, error);
}

static void a_line_has_tasks_or_a_queue(void **state) {
        PipelineLine line;

        (void)state;
        assert_int_equal(
                read_line("{\"stage\":\"0:1:decode[4]\",\"time\":1764000060.25,\"num_tasks\":10,\"num_failures\":2,"
                          "\"ave_time\":0.5,\"p99_time\":0.9,\"other\":[1]}",
                          &line),
                0);
        assert_int_equal(line.kind, PIPELINE_LINE_INTERVAL);
        assert_string_equal(line.interval.stage, "0:1:decode[4]");
        assert_int_equal(line.interval.end_ms, 1764000060250);
        assert_true(line.interval.sums.n == 10 && line.interval.sums.time_s == 4 &&
                    line.interval.percentiles.p99_s == 0.9);

        /* SPDL names the queue of a stage with a suffix, and its exports have texts of numbers. */
        assert_int_equal(read_line("{\"stage\":\"1:decode_queue\",\"timestamp\":\"1764000060\",\"elapsed\":\"60\","
                                   "\"num_items\":\"6\","
                                   "\"ave_put_time\":\"0.5\",\"ave_get_time\":1,\"occupancy_rate\":\"0.25\",\"buffer_"
                                   "size\":2} ",
                                   &line),
                         0);
        assert_string_equal(line.interval.stage, "1:decode");
        assert_int_equal(line.interval.part, PIPELINE_QUEUE);
        assert_int_equal(line.interval.buffer_size, 2);
        assert_true(line.interval.sums.time_s == 3 && line.interval.sums.get_s == 6 &&
                    line.interval.sums.ready_s == 15);
}

static void a_line_has_an_event_or_a_description(void **state) {
        PipelineLine line;

        (void)state;
        assert_int_equal(read_line("{\"event\":\"gc\",\"time\":2,\"seconds\":0.5}", &line), 0);
        assert_int_equal(line.kind, PIPELINE_LINE_EVENT);
        assert_int_equal(line.event.begin_ms, 2000);
        assert_int_equal(read_line("{\"producer\":\"spdl 0.8.0\",\"threads\":4}", &line), 0);
        assert_int_equal(line.kind, PIPELINE_LINE_DESCRIPTION);
        assert_string_equal(line.producer, "spdl 0.8.0");
}

static void an_invalid_line_is_explained(void **state) {
        const struct {
                const char *text, *words;
        } cases[] = {
                { "{\"stage\":", "the text is truncated" },
                { "[1]", "a JSON object" },
                { "{} {}", "more after it" },
                { "{\"a\":1}", "expected \"stage\"" },
                { "{\"stage\":\"decode\",\"num_tasks\":1}", "POSITION:NAME" },
                { "{\"stage\":3,\"num_tasks\":1}", "an integer, expected a text" },
                { "{\"stage\":\"1:a\",\"event\":\"put\",\"seconds\":1}", "either \"num_tasks\"" },
                { "{\"stage\":\"1:a\"}", "either \"num_tasks\"" },
                { "{\"stage\":\"1:a\",\"num_tasks\":1,\"num_items\":1}", "either \"num_tasks\"" },
                { "{\"stage\":\"1:a\",\"num_tasks\":1,\"num_failures\":2}", "\"num_failures\" is 2, expected 0 to 1" },
                { "{\"stage\":\"1:a\",\"num_tasks\":-1}", "\"num_tasks\" is -1" },
                { "{\"stage\":\"1:a\",\"num_tasks\":\"x\"}", "a string, expected a number" },
                { "{\"stage\":\"1:a\",\"num_items\":1}", "needs \"elapsed\"" },
                { "{\"stage\":\"1:a\",\"num_items\":1,\"elapsed\":1,\"occupancy_rate\":1.5}", "expected 0 to 1" },
                { "{\"stage\":\"1:a\",\"num_tasks\":2,\"ave_time\":NaN}", "tasks need \"ave_time\"" },
                { "{\"stage\":\"1:a\",\"num_items\":2,\"elapsed\":1e300}", "\"elapsed\" is 1e+300, expected 0 to 1e+09" },
                { "{\"producer\":\"a\",\"process\":{\"seconds\":1,\"lock_wait\":7}}", "\"lock_wait\" is 7, expected 0 to 1" },
                { "{\"producer\":\"a\",\"process\":{\"seconds\":1,\"lock_held\":-1}}", "\"lock_held\" is -1" },
                { "{\"producer\":\"a\",\"process\":{\"seconds\":1,\"cpu_seconds\":1e9}}", "\"cpu_seconds\" is 1e+09" },
                { "{\"producer\":\"a\",\"pools\":[{\"threads\":2,\"waiting\":1.5}]}", "\"waiting\" is 1.5" },
                { "{\"threads\":1e9}", "\"threads\" is 1e+09, expected 0 to 65536" },
                { "{\"threads\":1,\"workers\":{\"0:1:a\":[[9,1],[9,-1]]}}", "\"workers\" is -1" },
                { "{\"event\":\"gc\",\"time\":-1,\"seconds\":1}", "\"time\" is -1" },
                { "{\"event\":\"gc\"}", "needs \"seconds\"" },
                { "{\"event\":\"\",\"seconds\":1}", "a name of 1 to 64" },
        };
        PipelineLine line;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_int_equal(read_line(cases[i].text, &line), PIPELINE_LINE_INVALID);
                if (!strstr(error, cases[i].words))
                        fail_msg("%s: '%s' does not say '%s'", cases[i].text, error, cases[i].words);
        }
}

static void what_waits_is_merged_and_no_count_is_lost(void **state) {
        PipelinePending pending = {};
        PipelineReport report;
        double n = 0;
        char label[16];

        (void)state;
        for (unsigned i = 0; i < 3 * PIPELINE_PENDING_MAX; i++) {
                const PipelineInterval interval = {
                        .stage = label,
                        .part = i % 2,
                        .end_ms = i,
                        .sums = { .n = 1, .elapsed_s = 1 },
                        .percentiles = { .p90_s = i },
                };

                (void)snprintf(label, sizeof(label), "%u:s", i % 7);
                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
                assert_true(pending.n_intervals <= PIPELINE_PENDING_MAX);
        }
        assert_true(pending.n_merged > 0);
        while (!pipeline_pending_is_empty(&pending)) {
                report = pipeline_pending_report(&pending);
                assert_true(report.n_intervals > 0 && report.n_intervals <= PIPELINE_REPORT_INTERVALS_MAX / 2);
                for (size_t i = 0; i < report.n_intervals; i++) {
                        n += report.intervals[i].sums.n;
                        assert_true(report.intervals[i].percentiles.p90_s == (double)report.intervals[i].end_ms);
                }
                pipeline_pending_remove(&pending, &report);
        }
        assert_true(n == 3.0 * PIPELINE_PENDING_MAX);
        pipeline_pending_deinit(&pending);
}

static void intervals_of_too_many_stages_are_dropped_and_counted(void **state) {
        PipelinePending pending = {};
        PipelineReport report;
        char label[16];

        (void)state;
        for (unsigned i = 0; i < PIPELINE_PENDING_MAX + 1000; i++) {
                const PipelineInterval interval = {
                        .stage = label, .part = PIPELINE_TASKS, .end_ms = i, .sums = { .n = 1 }
                };

                (void)snprintf(label, sizeof(label), "1:%u", i);
                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
        }
        assert_int_equal(pending.n_intervals, PIPELINE_PENDING_MAX);
        assert_int_equal(pending.n_dropped, 1000);
        assert_int_equal(pending.n_merged, 0);

        report = pipeline_pending_report(&pending);
        pipeline_pending_remove(&pending, &report);
        assert_int_equal(
                pipeline_pending_add_interval(&pending, &(PipelineInterval){ .stage = "1:s", .part = PIPELINE_TASKS }),
                0);
        assert_int_equal(pending.n_dropped, 1000);
        pipeline_pending_deinit(&pending);
}

static void intervals_that_perfd_may_have_stored_are_not_merged(void **state) {
        PipelinePending pending = {};
        PipelineInterval interval = { .stage = "1:s", .part = PIPELINE_TASKS, .sums = { .n = 1, .elapsed_s = 1 } };
        PipelineReport report;
        size_t n_merged;

        (void)state;
        for (interval.end_ms = 0; interval.end_ms < 10; interval.end_ms++)
                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
        assert_int_equal(pipeline_pending_report(&pending).n_intervals, 10);
        for (; interval.end_ms < PIPELINE_PENDING_MAX + 100; interval.end_ms++)
                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
        n_merged = pending.n_merged;
        assert_true(n_merged > 0);
        for (size_t i = 0; i < 10; i++)
                assert_true(pending.intervals[i].end_ms == i && pending.intervals[i].sums.n == 1);
        assert_true(pending.intervals[10].sums.n == 2);

        /* After the answer, the next are the oldest: those of the next report. */
        report = (PipelineReport){ .n_intervals = 10 };
        pipeline_pending_remove(&pending, &report);
        assert_int_equal(pending.intervals[0].end_ms, 11);
        assert_int_equal(pipeline_pending_report(&pending).n_intervals,
                         PIPELINE_REPORT_INTERVALS_MAX / N_PIPELINE_PARTS);
        for (; pending.n_merged == n_merged; interval.end_ms++)
                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
        assert_int_equal(pending.intervals[0].end_ms, 11);
        pipeline_pending_deinit(&pending);
}

static void a_report_takes_events_and_the_description(void **state) {
        PipelinePending pending = {};
        PipelineReport report;

        (void)state;
        assert_int_equal(pipeline_pending_describe(&pending, "spdl 0.8.0", json_text("{}", 2)), 0);
        for (unsigned i = 0; i < PIPELINE_PENDING_MAX + 5; i++)
                assert_int_equal(pipeline_pending_add_event(&pending, &(PipelineEvent){ "gc", i, 1 }), 0);
        assert_int_equal(pending.n_dropped, 5);
        report = pipeline_pending_report(&pending);
        assert_string_equal(report.producer, "spdl 0.8.0");
        assert_int_equal(report.n_events, PIPELINE_REPORT_EVENTS_MAX);
        assert_int_equal(report.description.n, 2);
        pipeline_pending_remove(&pending, &report);
        assert_null(pipeline_pending_report(&pending).description.text);
        pipeline_pending_deinit(&pending);
}

static void what_is_refused_is_removed_alone(void **state) {
        const PipelineEvent gc = { "gc", 1, 1 };
        PipelinePending pending = {};
        PipelineReport report;

        (void)state;
        for (uint64_t i = 1; i <= 3; i++) {
                const PipelineInterval interval = { .stage = "1:s", .end_ms = i };

                assert_int_equal(pipeline_pending_add_interval(&pending, &interval), 0);
                assert_int_equal(pipeline_pending_add_event(&pending, &gc), 0);
        }
        assert_int_equal(pipeline_pending_describe(&pending, NULL, json_text("{}", 2)), 0);
        report = pipeline_pending_report(&pending);
        pipeline_pending_remove_refused(&pending, &report, "pipeline_report.stages[1].time_ms");
        assert_int_equal(pending.n_intervals, 2);
        assert_true(pending.intervals[0].end_ms == 1 && pending.intervals[1].end_ms == 3);
        assert_int_equal(pending.n_reported, 2);
        report = pipeline_pending_report(&pending);
        pipeline_pending_remove_refused(&pending, &report, "pipeline_report.events[2].seconds");
        assert_int_equal(pending.n_events, 2);
        report = pipeline_pending_report(&pending);
        pipeline_pending_remove_refused(&pending, &report, "pipeline_report.description");
        assert_null(pending.description);
        report = pipeline_pending_report(&pending);
        pipeline_pending_remove_refused(&pending, &report, "pipeline_report.stages[2]"); /* there is none */
        assert_true(pipeline_pending_is_empty(&pending));
        pipeline_pending_deinit(&pending);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_line_has_tasks_or_a_queue),
                cmocka_unit_test(a_line_has_an_event_or_a_description),
                cmocka_unit_test(an_invalid_line_is_explained),
                cmocka_unit_test(what_waits_is_merged_and_no_count_is_lost),
                cmocka_unit_test(intervals_of_too_many_stages_are_dropped_and_counted),
                cmocka_unit_test(intervals_that_perfd_may_have_stored_are_not_merged),
                cmocka_unit_test(a_report_takes_events_and_the_description),
                cmocka_unit_test(what_is_refused_is_removed_alone),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
