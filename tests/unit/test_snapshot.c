/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/snapshot/shared_texts.c daemon/snapshot/snapshot.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot_fixture.h"

#define N_JOBS 40U

typedef struct Fixture {
        Snapshot snapshot;
        Window window;
        SharedTotals *begin; /* of the window */
        Usage usage;
} Fixture;

/* A window of ten seconds with 400 of 2000 ticks busy, and a cgroup that used five CPU seconds. */
static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 2 };
        Fixture *fixture = calloc(1, sizeof(*fixture));
        NodeSnapshot *node = &fixture->snapshot.node;
        CgroupSample sample = { .boottime_ns = 90 * NS_PER_S };

        assert_non_null(fixture);
        fixture_fill(&fixture->snapshot, &size);
        node->totals.boottime_ns = 100 * NS_PER_S;
        node->totals.have = (1U << N_SOURCES) - 1;
        node->totals.value[TOTAL_CPU_USER] = 400;
        node->totals.value[TOTAL_CPU_IDLE] = 1600;
        fixture->window.begin.boottime_ns = 90 * NS_PER_S;
        fixture->window.begin.have = (1U << N_SOURCES) - 1;
        fixture->begin = snapshot_totals_new(&fixture->window.begin);
        assert_non_null(fixture->begin);
        usage_begin(&fixture->usage, &sample, true);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        snapshot_deinit(&fixture->snapshot);
        assert_int_equal(fixture->begin->n_references, 1);
        snapshot_totals_unref(fixture->begin);
        free(fixture);
        return 0;
}

static void unknown_node_resources_are_zero(void **state) {
        Fixture *fixture = *state;
        NodeSnapshot *node = &fixture->snapshot.node;

        assert_int_equal(snapshot_node_n_cpus(node), 2);
        assert_int_equal(snapshot_node_memory_bytes(node), UINT64_C(64) << 30);
        node->sample.have = 0;
        assert_int_equal(snapshot_node_n_cpus(node), 0);
        assert_int_equal(snapshot_node_memory_bytes(node), 0);
        assert_int_equal(snapshot_node_n_cpus(NULL), 0);
        assert_int_equal(snapshot_node_memory_bytes(NULL), 0);
}

static void a_nodes_metrics_are_those_of_its_window(void **state) {
        Fixture *fixture = *state;
        MetricSet metrics;

        snapshot_node_window(&fixture->snapshot.node, &fixture->window.begin, &fixture->window.peaks, &metrics);
        assert_int_equal(metrics.quality[METRIC_CPU_MEAN], QUALITY_EXACT);
        assert_true(metrics.value[METRIC_CPU_MEAN] > 0.19 && metrics.value[METRIC_CPU_MEAN] < 0.21);
        assert_true(metrics.value[METRIC_DURATION] > 9.9 && metrics.value[METRIC_DURATION] < 10.1);
}

/* Adds jobs with a window; every second job has a cgroup of its own, the first a phase, and the last has ended. */
static void fill_jobs(Fixture *fixture) {
        JobsSnapshot *jobs = &fixture->snapshot.jobs;
        const JobsSize size = {
                .n_records = N_JOBS, .n_peaks = N_JOBS - 1, .n_usages = N_JOBS / 2, .n_phases = 1, .n_results = 1
        };
        Phase phase = { .index = 3, .name = "train", .begin_realtime_ms = 5, .window = fixture->window };
        JobResult result = { .end = { .has_exit_status = true, .exit_status = 9 } };

        result.metrics.value[METRIC_DURATION] = 77;
        assert_int_equal(snapshot_jobs_begin(jobs, &size), 0);
        for (size_t i = 0; i < N_JOBS; i++) {
                scoped(job_description_deinit) JobDescription info = {};
                const bool has_ended = i == N_JOBS - 1;
                JobRecord *record;

                fixture_describe_job(&info, i);
                record = snapshot_jobs_add(jobs, &info, has_ended ? NULL : fixture->begin);
                record->begin_realtime_ms = 1000;
                record->state = has_ended ? JOB_FINISHED : JOB_RUNNING;
                if (has_ended) {
                        record->end_realtime_ms = 2000;
                        record->result = snapshot_jobs_copy_result(jobs, &result);
                        continue;
                }
                record->peaks = snapshot_jobs_copy_peaks(jobs, &fixture->window.peaks);
                record->usage = i % 2 ? snapshot_jobs_copy_usage(jobs, &fixture->usage) : NULL;
                record->phase = i == 0 ? snapshot_jobs_copy_phase(jobs, &phase) : NULL;
        }
        jobs->n_running = N_JOBS - 1;
        jobs->n_exposed_max = 7;
}

static const JobRecord *find(const Fixture *fixture, size_t i) {
        char id[32];

        (void)snprintf(id, sizeof(id), "job-%zu", i);
        return snapshot_jobs_find(&fixture->snapshot.jobs, id);
}

static void metrics_of_a_running_job_are_computed_from_its_counters(void **state) {
        Fixture *fixture = *state;
        JobView view;

        fill_jobs(fixture);
        snapshot_jobs_record_view(find(fixture, 1), &fixture->snapshot.node, &view);
        assert_string_equal(view.info.id, "job-1");
        assert_int_equal(view.state, JOB_RUNNING);
        assert_int_equal(view.metrics.quality[METRIC_CPU_MEAN], QUALITY_EXACT);
        assert_int_not_equal(view.usage.quality[USAGE_CPU_SECONDS], QUALITY_NO_GROUP);
        snapshot_jobs_record_view(find(fixture, 2), &fixture->snapshot.node, &view);
        assert_int_equal(view.usage.quality[USAGE_CPU_SECONDS], QUALITY_NO_GROUP);
        assert_null(find(fixture, N_JOBS));
        job_description_deinit(&view.info); /* the texts belong to the record */
        assert_string_equal(find(fixture, 2)->info.id, "job-2");
}

static void metrics_of_an_ended_job_are_its_result(void **state) {
        Fixture *fixture = *state;
        JobView view;

        fill_jobs(fixture);
        snapshot_jobs_record_view(find(fixture, N_JOBS - 1), &fixture->snapshot.node, &view);
        assert_int_equal(view.state, JOB_FINISHED);
        assert_int_equal(view.end_realtime_ms, 2000);
        assert_int_equal(view.end.exit_status, 9);
        assert_true(view.metrics.value[METRIC_DURATION] > 76);
}

static void a_phase_has_metrics_of_its_own(void **state) {
        Fixture *fixture = *state;
        PhaseView phase;

        fill_jobs(fixture);
        assert_false(snapshot_jobs_record_phase(find(fixture, 1), &fixture->snapshot.node, &phase));
        assert_true(snapshot_jobs_record_phase(find(fixture, 0), &fixture->snapshot.node, &phase));
        assert_string_equal(phase.name, "train");
        assert_int_equal(phase.index, 3);
        assert_int_equal(phase.end_realtime_ms, 0);
        assert_int_equal(phase.metrics.quality[METRIC_CPU_MEAN], QUALITY_EXACT);
        assert_int_equal(phase.usage.quality[USAGE_CPU_SECONDS], QUALITY_NO_GROUP);
}

static void a_cut_usage_is_not_exact(void **state) {
        Fixture *fixture = *state;
        MetricSet metrics;
        UsageSet usage;

        fill_jobs(fixture);
        fixture->snapshot.jobs.records[1].is_usage_cut = true;
        snapshot_jobs_record_metrics(find(fixture, 1), &fixture->snapshot.node, &metrics, &usage);
        for (UsageMetric metric = USAGE_CPU_SECONDS; metric <= USAGE_CPU_SYSTEM; metric++)
                assert_int_not_equal(usage.quality[metric], QUALITY_EXACT);
}

static void the_arrays_are_reused(void **state) {
        Fixture *fixture = *state;
        JobsSnapshot *jobs = &fixture->snapshot.jobs;
        const WindowPeaks *peaks;

        fill_jobs(fixture);
        assert_int_equal(snapshot_jobs_n_exposed(jobs), 7);
        peaks = jobs->peaks;
        fill_jobs(fixture);
        assert_ptr_equal(jobs->peaks, peaks);
        assert_int_equal(jobs->used.n_records, N_JOBS);
        assert_int_equal(snapshot_jobs_begin(jobs, &(JobsSize){}), 0);
        assert_int_equal(jobs->used.n_records, 0);
        assert_int_equal(snapshot_jobs_n_exposed(jobs), 0);
        assert_null(find(fixture, 0));
}

static SharedTexts *texts_of(const char *part) {
        scoped(shared_text_unrefp) SharedText *head = NULL, *tail = NULL, *middle = NULL;
        Buffer text = {};
        SharedTexts *texts;

        buffer_puts(&text, "[");
        assert_int_equal(shared_text_new(&head, &text), 0);
        buffer_puts(&text, "]");
        assert_int_equal(shared_text_new(&tail, &text), 0);
        buffer_puts(&text, part);
        assert_int_equal(shared_text_new(&middle, &text), 0);
        assert_int_equal(shared_texts_new(&texts, 2, head, tail), 0);
        shared_texts_add(texts, middle);
        shared_texts_add(texts, middle);
        return texts;
}

static void a_snapshot_keeps_the_models_that_it_was_given(void **state) {
        scoped(shared_texts_unrefp) SharedTexts *models = texts_of("1"), *others = texts_of("2");
        scoped(buffer_deinit) Buffer out = {};
        IndicatorsSnapshot indicators = {};

        (void)state;
        assert_int_equal(snapshot_indicators_reserve(&indicators, 3), 0);
        assert_true(indicators.n_allocated >= 3);
        assert_int_equal(snapshot_indicators_reserve(&indicators, 2), 0);
        snapshot_indicators_set_models(&indicators, models);
        snapshot_indicators_set_models(&indicators, models);
        models = shared_texts_unref(models);
        shared_texts_write(indicators.models, &out);
        assert_string_equal(out.text, "[1,1]");
        snapshot_indicators_set_models(&indicators, others);
        assert_ptr_equal(indicators.models, others);
        snapshot_indicators_deinit(&indicators);
}

/* The owner of the span may free its head while the snapshot is read. */
static void a_span_is_copied_with_its_head(void **state) {
        scoped(snapshot_jobs_deinit) JobsSnapshot jobs = {};
        ExportSample head = { .end_realtime_ms = 7 };
        SampleSpan copy, bare;

        (void)state;
        assert_int_equal(snapshot_jobs_begin(&jobs, &(JobsSize){ .n_heads = 1 }), 0);
        copy = snapshot_jobs_copy_span(&jobs, &(SampleSpan){ .begin = 3, .level = 1, .head = &head });
        bare = snapshot_jobs_copy_span(&jobs, &(SampleSpan){ .begin = 5 });
        head.end_realtime_ms = 8;
        assert_int_equal(copy.head->end_realtime_ms, 7);
        assert_int_equal(copy.begin, 3);
        assert_null(bare.head);
        assert_int_equal(bare.begin, 5);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(unknown_node_resources_are_zero, setup, teardown),
                cmocka_unit_test_setup_teardown(a_nodes_metrics_are_those_of_its_window, setup, teardown),
                cmocka_unit_test_setup_teardown(metrics_of_a_running_job_are_computed_from_its_counters, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(metrics_of_an_ended_job_are_its_result, setup, teardown),
                cmocka_unit_test_setup_teardown(a_phase_has_metrics_of_its_own, setup, teardown),
                cmocka_unit_test_setup_teardown(a_cut_usage_is_not_exact, setup, teardown),
                cmocka_unit_test_setup_teardown(the_arrays_are_reused, setup, teardown),
                cmocka_unit_test(a_snapshot_keeps_the_models_that_it_was_given),
                cmocka_unit_test(a_span_is_copied_with_its_head),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
