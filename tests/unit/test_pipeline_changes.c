/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_changes.h"
#include "util/scoped.h"

#define BEGIN_MS UINT64_C(1764000000000)
#define MINUTE   60000U

/* Adds a minute with ten tasks. */
static void add(PipelineChanges *changes, const char *label, unsigned minute, double time_s) {
        const PipelineSums sums = { .elapsed_s = 60, .n = 11, .n_failures = 1,
                                    .time_s = 10 * time_s * (1 + 0.01 * (double)(minute * 7919 % 13)) };

        assert_int_equal(pipeline_changes_add(changes, label, BEGIN_MS + (uint64_t)minute * MINUTE, &sums), 0);
}

static void a_spike_has_an_end_and_a_drift_has_none(void **state) {
        scoped(pipeline_changes_deinit) PipelineChanges changes = {};
        scoped(buffer_deinit) Buffer text = {};
        Json json = { .out = &text };

        (void)state;
        for (unsigned minute = 1; minute <= 60; minute++) /* the first is slow in any case */
                add(&changes, "0:1:download[4]", minute, minute == 1 ? 9 : minute > 30 && minute <= 36 ? 0.6 : 0.3);
        for (unsigned minute = 1; minute <= 60; minute++)
                add(&changes, "3:2:decode", minute, minute > 40 ? 0.2 : 0.1);
        assert_int_equal(pipeline_changes_finish(&changes), 0);
        assert_int_equal(changes.n, 2);
        assert_false(changes.is_cut);
        assert_string_equal(changes.items[0].stage.name, "download");
        assert_true(changes.items[0].begin_ms == BEGIN_MS + 30 * MINUTE);
        assert_true(changes.items[0].end_ms == BEGIN_MS + 36 * MINUTE);
        assert_int_equal(changes.items[1].end_ms, 0);

        (void)setenv("TZ", "UTC", true);
        pipeline_changes_describe(&changes.items[0], &text);
        assert_non_null(strstr(text.text, "From 2025-11-24 16:30:00 for 6 min 00 s, a task of download took 6"));
        buffer_clear(&text);
        json_array_begin(&json);
        pipeline_changes_put(&changes, 3, &json);
        json_array_end(&json);
        assert_non_null(strstr(text.text, "[{\"stage\":\"decode\",\"begin_ms\":1764002400000,\"end_ms\":null,"));
        assert_null(strstr(text.text, "download"));
}

/* The intervals of a stage that is too short, or whose tasks fail, have no changes. */
static void few_and_failed_tasks_show_nothing(void **state) {
        scoped(pipeline_changes_deinit) PipelineChanges changes = {};
        const PipelineSums failed = { .elapsed_s = 60, .n = 5, .n_failures = 5 };

        (void)state;
        for (unsigned minute = 1; minute <= 4; minute++)
                add(&changes, "0:1:a", minute, minute);
        for (unsigned minute = 1; minute <= 60; minute++)
                assert_int_equal(pipeline_changes_add(&changes, "0:2:b", BEGIN_MS + minute, &failed), 0);
        assert_int_equal(pipeline_changes_finish(&changes), 0);
        assert_int_equal(changes.n, 0);
}

static void the_search_is_bounded(void **state) {
        scoped(pipeline_changes_deinit) PipelineChanges changes = {};

        (void)state;
        for (unsigned minute = 1; minute <= PIPELINE_CHANGES_SERIES_MAX + 1; minute++) {
                assert_false(changes.is_cut);
                add(&changes, "0:1:a", minute, 1);
        }
        assert_true(changes.is_cut);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_spike_has_an_end_and_a_drift_has_none),
                cmocka_unit_test(few_and_failed_tasks_show_nothing),
                cmocka_unit_test(the_search_is_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
