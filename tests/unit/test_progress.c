/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "jobs/progress.h"
#include "util/parse.h"
#include "util/scoped.h"

static void fill_window(Window *window, double cpu_max) {
        *window = (Window){ .peaks = { .n_observations = 3, .has_cpu = true, .cpu_max = cpu_max } };
        window->begin.boottime_ns = 17;
}

static void fill_usage(Usage *usage, uint64_t usage_us) {
        CgroupSample sample = { .boottime_ns = 100, .have = 1U << CGROUP_CPU, .usage_us = usage_us };

        usage_begin(usage, &sample, true);
}

static void all_members_round_trip(void **state) {
        scoped(freep) char *text = NULL;
        Job job = { .is_announced = false, .group.is_usage_cut = true, .group.id = UINT64_C(1) << 40,
                    .readings = { 50, true } };
        Phase phase = { .index = 4,
                        .begin_realtime_ms = 1763750000123,
                        .name = "train = \"3\", \\\xc3\xa9poque",
                        .has_usage = true };
        Progress progress;
        Window window;
        Usage usage;

        (void)state;
        fill_window(&window, 0.5);
        job.begin = snapshot_totals_new(&window.begin);
        assert_non_null(job.begin);
        job.peaks = window.peaks;
        fill_usage(&usage, 1000);
        job.group.usage = &usage;
        fill_window(&phase.window, 0.25);
        fill_usage(&phase.usage, 2000);
        assert_non_null(job_gpus_add(&job.gpus, "GPU-4711", 17));

        assert_int_equal(progress_format(&job, &phase, 5, &text), 0);
        assert_int_equal(progress_parse(text, &progress), 0);
        assert_false(progress.is_announced);
        assert_true(progress.is_usage_cut);
        assert_true(progress.group_id == UINT64_C(1) << 40);
        assert_int_equal(progress.cpu_interval_ns, 50);
        assert_true(progress.is_cpu_interval_granted);
        assert_int_equal(progress.n_phases, 5);
        assert_true(progress.window.peaks.cpu_max == 0.5);
        assert_true(progress.has_usage);
        assert_int_equal(progress.usage.last.usage_us, 1000);
        assert_true(progress.has_phase);
        assert_int_equal(progress.phase.index, 4);
        assert_int_equal(progress.phase.begin_realtime_ms, 1763750000123);
        assert_string_equal(progress.phase.name, "train = \"3\", \\\xc3\xa9poque");
        assert_true(progress.phase.window.peaks.cpu_max == 0.25);
        assert_true(progress.phase.has_usage);
        assert_int_equal(progress.phase.usage.last.usage_us, 2000);
        assert_int_equal(progress.window.begin.boottime_ns, 17);
        assert_int_equal(progress.gpus.n, 1);
        assert_string_equal(progress.gpus.items[0].given, "GPU-4711");
        progress_deinit(&progress);
        job_gpus_deinit(&job.gpus);
        snapshot_totals_unref(job.begin);
}

static void a_job_without_group_and_phases_has_neither(void **state) {
        scoped(freep) char *text = NULL;
        SharedTotals begin = { .n_references = 1 };
        Job job = { .begin = &begin, .is_announced = true };
        Progress progress;

        (void)state;
        assert_int_equal(progress_format(&job, NULL, 0, &text), 0);
        assert_int_equal(progress_parse(text, &progress), 0);
        assert_true(progress.is_announced);
        assert_false(progress.has_usage);
        assert_false(progress.has_phase);
}

static void a_phase_without_a_name_round_trips(void **state) {
        scoped(freep) char *text = NULL;
        Phase phase = { .begin_realtime_ms = 5 };
        SharedTotals begin = { .n_references = 1 };
        Job job = { .begin = &begin };
        Progress progress;

        (void)state;
        assert_int_equal(progress_format(&job, &phase, 1, &text), 0);
        assert_int_equal(progress_parse(text, &progress), 0);
        assert_true(progress.has_phase);
        assert_false(progress.phase.has_usage);
        assert_string_equal(progress.phase.name, "");
}

static void members_of_a_later_version_are_skipped(void **state) {
        scoped(freep) char *text = NULL, *longer = NULL;
        SharedTotals begin = { .n_references = 1 };
        Job job = { .begin = &begin, .is_announced = true };
        Progress progress;

        (void)state;
        assert_int_equal(progress_format(&job, NULL, 0, &text), 0);
        assert_true(asprintf(&longer, "{\"weather\":[\"sunny\"],%s", text + 1) > 0);
        assert_int_equal(progress_parse(longer, &progress), 0);
        assert_true(progress.is_announced);
}

static void truncated_or_garbled_text_is_refused(void **state) {
        scoped(freep) char *text = NULL;
        Phase phase = { .index = 1, .name = "load" };
        SharedTotals begin = { .n_references = 1 };
        Job job = { .begin = &begin };
        Progress progress;

        (void)state;
        assert_int_equal(progress_format(&job, &phase, 2, &text), 0);
        for (size_t n = strlen(text); n-- > 0;) {
                text[n] = '\0';
                assert_int_equal(progress_parse(text, &progress), PARSE_MALFORMED);
        }
        assert_int_equal(progress_parse("nonsense", &progress), PARSE_MALFORMED);
}

static void a_name_that_is_too_long_is_refused(void **state) {
        scoped(freep) char *text = NULL;
        Progress progress;

        (void)state;
        assert_true(asprintf(&text, "{\"phase\":{\"name\":\"%0*d\"}}", PHASE_NAME_MAX - 1, 7) > 0);
        assert_int_equal(progress_parse(text, &progress), 0);
        free(text);
        assert_true(asprintf(&text, "{\"phase\":{\"name\":\"%0*d\"}}", PHASE_NAME_MAX, 7) > 0);
        assert_int_equal(progress_parse(text, &progress), PARSE_MALFORMED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_members_round_trip),
                cmocka_unit_test(a_job_without_group_and_phases_has_neither),
                cmocka_unit_test(a_phase_without_a_name_round_trips),
                cmocka_unit_test(members_of_a_later_version_are_skipped),
                cmocka_unit_test(truncated_or_garbled_text_is_refused),
                cmocka_unit_test(a_name_that_is_too_long_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
