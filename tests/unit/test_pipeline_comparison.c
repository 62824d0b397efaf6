/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "pipeline/pipeline_comparison.h"
#include "util/scoped.h"

#define RUNS_MAX (PIPELINE_COMPARISON_RUNS_MAX + 2)

/* A run of two stages: concurrency of the first, and the buffer and items per second of the last. */
typedef struct Run {
        unsigned concurrency, buffer;
        double rate;
} Run;

static ComparedRun make(const Run *run, PipelineStage stages[2], const char *job) {
        stages[0] = (PipelineStage){ .name = "decode", .order = 1, .concurrency = run->concurrency };
        stages[1] = (PipelineStage){ .name = "sink", .order = 2,
                                     .queue = { .is_known = true, .elapsed_s = 60, .n_gets = 60 * run->rate,
                                                .buffer_size = run->buffer } };
        return (ComparedRun){ .job = job, .stages = stages, .n = 2 };
}

/* runs: the newest first; ends with a concurrency of 0. */
static PipelineComparison compare(const Run *runs) {
        static const char *const names[] = { "now", "a", "b", "c", "d", "e" };
        static PipelineStage stages[RUNS_MAX][2];
        ComparedRun made[RUNS_MAX];
        size_t n = 0;

        for (; runs[n].concurrency > 0; n++)
                made[n] = make(&runs[n], stages[n], names[n < 6 ? n : 5]);
        return pipeline_comparison_make(&made[0], &made[1], n - 1);
}

#define COMPARED(...) compare((const Run[]){ __VA_ARGS__, {} })

static void a_change_is_compared_with_the_newest_run_that_differs(void **state) {
        PipelineComparison found = COMPARED({ 16, 2, 100 }, { 16, 2, 99 }, { 8, 2, 141 }, { 4, 2, 80 });

        (void)state;
        assert_int_equal(found.n_changes, 1);
        assert_string_equal(found.job, "b");
        assert_int_equal(found.stage, 0);
        assert_false(found.is_buffer);
        assert_int_equal(found.before, 8);
        assert_int_equal(found.now, 16);
        assert_true(found.rate_before == 141 && found.rate_now == 100);
        assert_int_equal(found.n_tried, 3);
        assert_int_equal(found.tried[0].value, 4);
        assert_int_equal(found.best, 8);
}

static void the_best_value_follows_from_what_was_tried(void **state) {
        (void)state;
        /* More made it slower: fewer; more made it faster: more; the reverse changes. */
        assert_int_equal(COMPARED({ 16, 2, 100 }, { 8, 2, 141 }).best, 4);
        assert_int_equal(COMPARED({ 8, 2, 180 }, { 4, 2, 100 }).best, 16);
        assert_int_equal(COMPARED({ 8, 2, 141 }, { 16, 2, 100 }).best, 4);
        assert_int_equal(COMPARED({ 4, 2, 100 }, { 8, 2, 180 }).best, 16);
        /* More changed nothing: the lower is enough. */
        assert_int_equal(COMPARED({ 16, 2, 101 }, { 8, 2, 100 }).best, 8);
        /* The best lies between, or is the least that is possible. */
        assert_int_equal(COMPARED({ 4, 2, 70 }, { 8, 2, 141 }, { 16, 2, 100 }).best, 8);
        assert_int_equal(COMPARED({ 2, 2, 100 }, { 1, 2, 150 }).best, 1);
        /* The newest run of a value counts. */
        assert_int_equal(COMPARED({ 16, 2, 100 }, { 8, 2, 100 }, { 8, 2, 900 }).best, 8);
}

static void a_buffer_is_a_change_too(void **state) {
        PipelineComparison found = COMPARED({ 4, 20, 150 }, { 4, 2, 100 });

        (void)state;
        assert_true(found.is_buffer);
        assert_int_equal(found.stage, 1);
        assert_int_equal(found.best, 40);
}

static void of_several_changes_none_is_known_to_be_the_cause(void **state) {
        PipelineComparison found = COMPARED({ 8, 20, 150 }, { 4, 2, 100 }, { 8, 2, 10 });

        (void)state;
        assert_int_equal(found.n_changes, 2);
        assert_int_equal(found.best, 0);
        assert_int_equal(found.n_tried, 1);
}

static void other_pipelines_are_not_compared(void **state) {
        const Run now = { 16, 2, 100 }, before = { 8, 2, 141 };
        PipelineStage stages[2][2];
        ComparedRun a = make(&now, stages[0], "now"), b = make(&before, stages[1], "before");

        (void)state;
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 1);
        a.n_threads = 32;
        b.n_threads = 16;
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 0);
        b.n_threads = 0;
        b.n = 1;
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 0);
        b.n = 2;
        (void)strcpy(stages[1][0].name, "read");
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 0);
        (void)make(&before, stages[1], "before");
        stages[1][0].concurrency = 0; /* not declared */
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 0);
        (void)make(&before, stages[1], "before");
        stages[1][1].queue.n_gets = 3;
        assert_int_equal(pipeline_comparison_make(&a, &b, 1).n_changes, 0);
        assert_int_equal(COMPARED({ 8, 2, 100 }, { 8, 2, 50 }).n_changes, 0);
}

static void many_runs_are_bounded(void **state) {
        Run runs[RUNS_MAX + 1] = {};

        (void)state;
        for (unsigned i = 0; i < RUNS_MAX; i++)
                runs[i] = (Run){ i + 1, 2, 100 + i };
        assert_int_equal(compare(runs).n_tried, PIPELINE_COMPARISON_RUNS_MAX + 1);
}

static void a_comparison_is_an_object(void **state) {
        PipelineComparison found = COMPARED({ 16, 2, 100 }, { 8, 2, 141 });
        const PipelineStage stages[] = { { .name = "decode" } };
        scoped(buffer_deinit) Buffer text = {};
        Json json = { .out = &text };

        (void)state;
        pipeline_comparison_put(&found, stages, &json);
        assert_string_equal(text.text, "{\"job\":\"a\",\"changes\":1,\"stage\":\"decode\",\"what\":\"concurrency\","
                                       "\"before\":8,\"now\":16,\"items_per_second_before\":141.0,"
                                       "\"items_per_second\":100.0,\"best\":4,\"tried\":["
                                       "{\"value\":8,\"items_per_second\":141.0},"
                                       "{\"value\":16,\"items_per_second\":100.0}]}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_change_is_compared_with_the_newest_run_that_differs),
                cmocka_unit_test(the_best_value_follows_from_what_was_tried),
                cmocka_unit_test(a_buffer_is_a_change_too),
                cmocka_unit_test(of_several_changes_none_is_known_to_be_the_cause),
                cmocka_unit_test(other_pipelines_are_not_compared),
                cmocka_unit_test(many_runs_are_bounded),
                cmocka_unit_test(a_comparison_is_an_object),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
