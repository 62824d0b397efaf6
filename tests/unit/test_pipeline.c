/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/pipeline/pipeline_stage.c lib/pipeline/pipeline_diagnosis.c lib/pipeline/straggler.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_diagnosis.h"
#include "pipeline/straggler.h"
#include "util/scoped.h"

static void assert_near(double got, double expected) {
        if (!(fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected))))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

/* --- identity ------------------------------------------------------------------------------------- */

static void labels_of_each_dialect_are_parsed(void **state) {
        static const struct {
                const char *label;
                unsigned pipeline, order, concurrency;
                const char *name; /* NULL: refused */
        } cases[] = {
                { "0:1:decode[4]", 0, 1, 4, "decode" },
                { "3:12:decode", 3, 12, 0, "decode" },
                { "2:1_7:decode", 2, 1, 0, "decode" },
                { "8:sink", 0, 8, 0, "sink" },
                { "1:aggregate(8)", 0, 1, 0, "aggregate(8)" },
                { "0:2:aggregate(4, drop_last=False)", 0, 2, 0, "aggregate(4, drop_last=False)" },
                { "0:1:a[]", 0, 1, 0, "a[]" },
                { "0:1:a[x4]", 0, 1, 0, "a[x4]" },
                { "0:1:[4]", 0, 1, 0, "[4]" },
                { "0:1:a:b", 0, 1, 0, "a:b" },
                { "decode", 0, 0, 0, NULL },
                { "0:1:", 0, 0, 0, NULL },
                { ":decode", 0, 0, 0, NULL },
                { "1", 0, 0, 0, NULL },
                { "99999999999:a", 0, 0, 0, NULL },
                { "", 0, 0, 0, NULL },
        };
        char label[PIPELINE_STAGE_NAME_MAX + 4] = "1:";

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                PipelineStage stage;
                bool is_parsed = pipeline_stage_parse(&stage, cases[i].label, strlen(cases[i].label));

                if (is_parsed != (cases[i].name != NULL))
                        fail_msg("'%s' was %s", cases[i].label, is_parsed ? "parsed" : "refused");
                if (!is_parsed)
                        continue;
                assert_string_equal(stage.name, cases[i].name);
                assert_int_equal(stage.pipeline, cases[i].pipeline);
                assert_int_equal(stage.order, cases[i].order);
                assert_int_equal(stage.concurrency, cases[i].concurrency);
        }

        memset(label + 2, 'a', PIPELINE_STAGE_NAME_MAX + 1);
        assert_true(pipeline_stage_parse(&(PipelineStage){}, label, PIPELINE_STAGE_NAME_MAX + 2));
        assert_false(pipeline_stage_parse(&(PipelineStage){}, label, PIPELINE_STAGE_NAME_MAX + 3));
}

static void stages_are_ordered_by_position(void **state) {
        PipelineStage stages[] = { { .name = "b", .order = 10 },
                                   { .name = "c", .pipeline = 1 },
                                   { .name = "a", .order = 2 } };

        (void)state;
        qsort(stages, N_ELEMENTS(stages), sizeof(*stages), pipeline_stage_compare);
        assert_string_equal(stages[0].name, "a");
        assert_string_equal(stages[1].name, "b");
        assert_string_equal(stages[2].name, "c");
}

/* --- sums ----------------------------------------------------------------------------------------- */

/* Adds an interval. The mean time of an interval without successes does not count. */
static void add_tasks(PipelineStage *stage, double elapsed_s, double n, double n_failures, double mean_s) {
        StageTasks *tasks = &stage->tasks;

        tasks->is_known = true;
        tasks->elapsed_s += elapsed_s;
        tasks->n += n;
        tasks->n_failures += n_failures;
        if (n > n_failures)
                tasks->success_time_s += (n - n_failures) * mean_s;
}

static void add_queue(PipelineStage *stage, double elapsed_s, double n_gets, double mean_put_s, double mean_get_s,
                              double readiness) {
        StageQueue *queue = &stage->queue;

        queue->is_known = true;
        queue->elapsed_s += elapsed_s;
        queue->n_gets += n_gets;
        queue->n_last = n_gets;
        queue->put_s += n_gets * mean_put_s;
        queue->get_s += n_gets * mean_get_s;
        if (isnan(readiness))
                return;
        queue->ready_s += readiness * elapsed_s;
        queue->judged_s += elapsed_s;
}

static void means_have_the_weights_of_their_parts(void **state) {
        PipelineStage first = {};
        double readiness;

        (void)state;
        add_tasks(&first, 0, 4, 1, 0.2);  /* 3 successes */
        add_tasks(&first, 0, 10, 9, 1);  /* 1 success */
        add_tasks(&first, 0, 5, 5, NAN); /* none */
        add_queue(&first, 10, 90, 0.01, 0.02, 1);
        add_queue(&first, 30, 10, 0.11, 0.42, 0);

        assert_near(pipeline_stage_mean_time(&first), (3 * 0.2 + 1) / 4);
        assert_near(pipeline_stage_failure_ratio(&first), 15.0 / 19);
        assert_near(first.queue.put_s, 2);
        assert_near(first.queue.get_s, 6);
        assert_near(pipeline_stage_rate(&first), 2.5);
        assert_int_equal(pipeline_stage_readiness(&first, &readiness), PIPELINE_READINESS_KNOWN);
        assert_near(readiness, 0.25); /* by time, not by items */
}

static void a_queue_without_items_is_not_ready(void **state) {
        PipelineStage stage = {};
        double readiness;

        (void)state;
        assert_true(isnan(pipeline_stage_mean_time(&stage)));
        assert_true(isnan(pipeline_stage_rate(&stage)));
        assert_near(pipeline_stage_failure_ratio(&stage), 0);
        add_queue(&stage, 10, 0, 0, 0, NAN);
        assert_int_equal(pipeline_stage_readiness(&stage, &readiness), PIPELINE_READINESS_NO_DATA);
        add_queue(&stage, 10, 5, 0, 0, 0.5);
        assert_int_equal(pipeline_stage_readiness(&stage, &readiness), PIPELINE_READINESS_KNOWN);
        add_queue(&stage, 10, 0, 0, 0, NAN);
        assert_int_equal(pipeline_stage_readiness(&stage, &readiness), PIPELINE_READINESS_STALLED);
}

/* --- accounting ----------------------------------------------------------------------------------- */

/* Means of one minute: tasks, their time, and items, put and get time of the queue. A stage without a task time has
 * no tasks. */
typedef struct Minute {
        const char *label;
        double n_tasks, time_s, n_items, put_s, get_s;
} Minute;

static PipelineStage stage_of(const Minute *minute) {
        PipelineStage stage;

        assert_true(pipeline_stage_parse(&stage, minute->label, strlen(minute->label)));
        if (minute->n_tasks > 0)
                add_tasks(&stage, 60, minute->n_tasks, 0, minute->time_s);
        add_queue(&stage, 60, minute->n_items, minute->put_s, minute->get_s, NAN);
        return stage;
}

static void shares_of_the_time_add_up(void **state) {
        const Minute input = { "0:src", 0, 0, 600, 0.01, 0.02 }, own = { "1:decode[4]", 600, 0.25, 600, 0.1, 0.001 };
        const Minute collate = { "6:collate[1]", 744, 0.0158, 744, 0.949, 0.0005 }; /* ran with 12 workers */
        PipelineStage source = stage_of(&input), stage = stage_of(&own);
        StageAccounting accounting;

        (void)state;
        assert_true(pipeline_diagnosis_account(&stage, &source, &accounting));
        assert_near(accounting.workers, 3.7);
        assert_int_equal(accounting.concurrency, 4);
        assert_false(accounting.is_inferred);
        assert_near(accounting.busy, 0.625);
        assert_near(accounting.starved, 0.05);
        assert_near(accounting.blocked, 0.25);

        stage.concurrency = 0;
        assert_true(pipeline_diagnosis_account(&stage, &source, &accounting));
        assert_int_equal(accounting.concurrency, 4);
        assert_true(accounting.is_inferred);

        /* Without a queue, it is known only how long the tasks ran. */
        assert_true(pipeline_stage_parse(&stage, "0:load[2]", strlen("0:load[2]")));
        add_tasks(&stage, 60, 100, 0, 1.14);
        assert_true(pipeline_diagnosis_account(&stage, &source, &accounting));
        /* The sum is larger than two workers have. */
        assert_near(accounting.busy, 1.9 / 2.1);
        assert_near(accounting.starved, 0.2 / 2.1);
        assert_true(isnan(accounting.blocked));

        stage = stage_of(&collate);
        assert_true(pipeline_diagnosis_account(&stage, NULL, &accounting));
        assert_int_equal(accounting.concurrency, 12);
        assert_true(accounting.is_inferred);
}

static void failed_tasks_take_time(void **state) {
        PipelineStage stage = {};
        StageAccounting accounting;

        (void)state;
        assert_false(pipeline_diagnosis_account(&stage, NULL, &accounting));
        add_tasks(&stage, 0, 100, 50, 0.5);
        assert_false(pipeline_diagnosis_account(&stage, NULL, &accounting)); /* no elapsed time */
        add_queue(&stage, 60, 50, 0, 0, 0.5);
        assert_true(pipeline_diagnosis_account(&stage, NULL, &accounting));
        assert_near(accounting.busy, 50.0 / 60);
}

/* --- diagnosis ------------------------------------------------------------------------------------ */

#define MINUTES_MAX 9

static const PipelineProcess unknown = {
        .cpus_used = NAN, .tasks_cpus = NAN, .waiting_for_cpu = NAN, .lock_waited = NAN, .lock_held = NAN,
};

/* Cases that SPDL's documentation describes, rounded, and cases of our own. */
static const struct {
        const char *name;
        unsigned n_threads;
        PipelineLimit limit;
        PipelineDirection direction;
        PipelineConfidence confidence;
        const char *stage, *next;
        Minute minutes[MINUTES_MAX];
} cases[] = {
        { "one stage, faster than the loop",
          0,
          PIPELINE_LIMIT_CONSUMER,
          PIPELINE_DIRECTION_NONE,
          PIPELINE_CONFIDENCE_HIGH,
          NULL,
          NULL,
          { { "0:src", 0, 0, 1980, 0.0294, 2e-6 },
            { "1:25ms", 1980, 0.0258, 1980, 0.0044, 2e-6 },
            { "2:sink", 0, 0, 1980, 0.0303, 5e-6 } } },
        { "one stage, slower than the loop",
          0,
          PIPELINE_LIMIT_STAGE,
          PIPELINE_DIRECTION_MORE_CONCURRENCY,
          PIPELINE_CONFIDENCE_MEDIUM,
          "35ms",
          NULL,
          { { "0:src", 0, 0, 1672, 0.0358, 2e-6 },
            { "1:35ms", 1672, 0.0357, 1672, 5e-6, 0.036 },
            { "2:sink", 0, 0, 1672, 2e-6, 0.0055 } } },
        { "three stages, the last is slow",
          0,
          PIPELINE_LIMIT_STAGE,
          PIPELINE_DIRECTION_MORE_CONCURRENCY,
          PIPELINE_CONFIDENCE_MEDIUM,
          "40ms",
          "25ms",
          { { "0:0:src", 0, 0, 1479, 0.04, 2e-6 },
            { "0:1:10ms", 1479, 0.0107, 1479, 0.0298, 2e-6 },
            { "0:2:25ms", 1479, 0.0259, 1479, 0.0147, 2e-6 },
            { "0:3:40ms", 1472, 0.0406, 1472, 5e-6, 0.04 },
            { "0:4:sink", 0, 0, 1479, 2e-6, 0.0102 } } },
        { "three stages, the first is slow",
          0,
          PIPELINE_LIMIT_STAGE,
          PIPELINE_DIRECTION_MORE_CONCURRENCY,
          PIPELINE_CONFIDENCE_MEDIUM,
          "40ms",
          "25ms",
          { { "0:0:src", 0, 0, 1459, 0.041, 2e-6 },
            { "0:1:40ms", 1459, 0.0411, 1459, 4e-6, 0.0154 },
            { "0:2:25ms", 1459, 0.0256, 1459, 4e-6, 0.0304 },
            { "0:3:10ms", 1459, 0.0107, 1459, 4e-6, 0.0412 },
            { "0:4:sink", 0, 0, 1459, 2e-6, 0.0109 } } },
        { "two workers make the slow stage fast",
          0,
          PIPELINE_LIMIT_CONSUMER,
          PIPELINE_DIRECTION_NONE,
          PIPELINE_CONFIDENCE_HIGH,
          NULL,
          NULL,
          { { "0:0:src", 0, 0, 1985, 0.028, 2e-6 },
            { "0:1:10ms", 1985, 0.0106, 1985, 0.0194, 2e-6 },
            { "0:2:25ms", 1972, 0.0259, 1972, 0.0041, 0.0005 },
            { "0:3:40ms_c2[2]", 1965, 0.041, 1965, 0.019, 2e-6 },
            { "0:4:sink", 0, 0, 1965, 0.0303, 5e-6 } } },
        { "the queue before an aggregation is drained by it",
          0,
          PIPELINE_LIMIT_CONSUMER,
          PIPELINE_DIRECTION_NONE,
          PIPELINE_CONFIDENCE_HIGH,
          NULL,
          NULL,
          { { "0:0:src", 0, 0, 7944, 0.0074, 2e-6 },
            { "0:1:6ms", 7932, 0.0066, 7932, 0.0008, 0.0019 },
            { "0:2:aggregate(4)", 7932, 0.00014, 1965, 0.022, 3e-6 },
            { "0:3:sink", 0, 0, 1965, 0.0303, 3e-6 } } },
        { "production run",
          12,
          PIPELINE_LIMIT_HANDOVER,
          PIPELINE_DIRECTION_LARGER_BUFFER,
          PIPELINE_CONFIDENCE_LOW,
          "sink",
          NULL,
          { { "0:src", 0, 0, 2926, 0.0157, 8e-5 },
            { "1:aggregate(8)", 2905, 0.00395, 366, 0.13, 0 },
            { "2:download", 365, 0.2526, 365, 1.727, 0.001 },
            { "3:disaggregate", 2917, 0.00568, 2917, 0.0148, 0.00025 },
            { "4:preprocess", 2916, 0.0863, 2916, 0.1605, 0.0003 },
            { "5:aggregate(4)", 2916, 0.00564, 729, 0.0581, 0.0011 },
            { "6:collate", 728, 0.0161, 728, 0.974, 0.0005 },
            { "7:gpu_transfer", 728, 0.02065, 728, 0.0607, 0.0132 },
            { "8:sink", 0, 0, 727, 0.0689, 0.0129 } } },
        { "slow source",
          0,
          PIPELINE_LIMIT_SOURCE,
          PIPELINE_DIRECTION_FASTER_SOURCE,
          PIPELINE_CONFIDENCE_HIGH,
          "src",
          NULL,
          { { "0:src", 0, 0, 600, 1e-5, 0.095 },
            { "1:decode[1]", 600, 0.005, 600, 1e-5, 0.095 },
            { "2:sink", 0, 0, 600, 1e-5, 0.09 } } },
        { "stages share too few threads",
          4,
          PIPELINE_LIMIT_POOL,
          PIPELINE_DIRECTION_MORE_THREADS,
          PIPELINE_CONFIDENCE_MEDIUM,
          NULL,
          NULL,
          { { "0:src", 0, 0, 6000, 0.08, 1e-5 },
            { "1:a[8]", 6000, 0.04, 6000, 0.04, 0.04 },
            { "2:b[8]", 6000, 0.04, 6000, 1e-5, 0.01 },
            { "3:sink", 0, 0, 6000, 1e-5, 0.009 } } },
        { "slow aggregation",
          0,
          PIPELINE_LIMIT_STAGE,
          PIPELINE_DIRECTION_FASTER_TASK,
          PIPELINE_CONFIDENCE_MEDIUM,
          "aggregate(4)",
          "a",
          { { "0:src", 0, 0, 600, 0.08, 1e-5 },
            { "1:a[1]", 600, 0.02, 600, 0.08, 0.01 },
            { "2:aggregate(4)", 600, 0.085, 150, 1e-5, 0.39 },
            { "3:sink", 0, 0, 150, 1e-5, 0.38 } } },
        { "nothing stands out",
          0,
          PIPELINE_LIMIT_UNKNOWN,
          PIPELINE_DIRECTION_NONE,
          PIPELINE_CONFIDENCE_NONE,
          NULL,
          NULL,
          { { "0:src", 0, 0, 600, 0.03, 0.03 },
            { "1:a[1]", 600, 0.03, 600, 0.005, 0.03 },
            { "2:sink", 0, 0, 600, 0.03, 0.03 } } },
        { "both sides wait",
          0,
          PIPELINE_LIMIT_HANDOVER,
          PIPELINE_DIRECTION_LARGER_BUFFER,
          PIPELINE_CONFIDENCE_LOW,
          "sink",
          NULL,
          { { "0:src", 0, 0, 4000, 0.01, 2e-6 },
            { "1:a", 4000, 0.0094, 4000, 0.0054, 0.005 },
            { "2:sink", 0, 0, 4000, 5e-5, 0.005 } } },
        { "one call of get for four workers",
          0,
          PIPELINE_LIMIT_SOURCE,
          PIPELINE_DIRECTION_FASTER_SOURCE,
          PIPELINE_CONFIDENCE_HIGH,
          "src",
          NULL,
          { { "0:src", 0, 0, 5600, 1e-5, 0.0105 },
            { "1:a[4]", 5600, 0.0107, 5600, 1e-5, 0.0105 },
            { "2:sink", 0, 0, 5600, 1e-5, 0.0086 } } },
        { "a consumer that took no item",
          0,
          PIPELINE_LIMIT_UNKNOWN,
          PIPELINE_DIRECTION_NONE,
          PIPELINE_CONFIDENCE_NONE,
          NULL,
          NULL,
          { { "0:src", 0, 0, 0, 0, 0 }, { "1:sink", 0, 0, 0, 0, 0 } } },
};

static void each_case_has_its_limit(void **state) {
        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                PipelineStage stages[MINUTES_MAX];
                PipelineProcess process = pipeline_diagnosis_unknown_process(cases[i].n_threads);
                PipelineDiagnosis got;
                size_t n = 0;

                while (n < MINUTES_MAX && cases[i].minutes[n].label) {
                        stages[n] = stage_of(&cases[i].minutes[n]);
                        n++;
                }
                got = pipeline_diagnosis_of(stages, n, &process);
                if (got.limit != cases[i].limit || got.direction != cases[i].direction ||
                    got.confidence != cases[i].confidence)
                        fail_msg("%s: %s, %s, %s", cases[i].name, pipeline_limit_names[got.limit],
                                 pipeline_direction_names[got.direction], pipeline_confidence_names[got.confidence]);
                assert_string_equal(got.stage < n ? stages[got.stage].name : "", cases[i].stage ?: "");
                assert_string_equal(got.next_stage < n ? stages[got.next_stage].name : "", cases[i].next ?: "");
        }
}

static void a_stage_whose_failures_take_long_is_the_limit(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 10400, 0.005, 5e-6 },
                { "1:a[4]", 10400, 0.0034, 6930, 5e-6, 0.0085 },
                { "2:b[4]", 6930, 0.0025, 6930, 5e-6, 0.0085 },
                { "3:sink", 0, 0, 6930, 1e-5, 0.0065 },
        };
        PipelineStage stages[4];
        PipelineDiagnosis got;

        (void)state;
        for (size_t i = 0; i < 4; i++)
                stages[i] = stage_of(&minutes[i]);
        assert_int_equal(pipeline_diagnosis_of(stages, 4, &unknown).limit, PIPELINE_LIMIT_UNKNOWN);
        stages[1].tasks.n_failures = 3470;
        stages[1].tasks.success_time_s = 6930 * 0.0034;
        got = pipeline_diagnosis_of(stages, 4, &unknown);
        assert_int_equal(got.limit, PIPELINE_LIMIT_STAGE);
        assert_int_equal(got.stage, 1);
        assert_int_equal(got.direction, PIPELINE_DIRECTION_MORE_CONCURRENCY);
        assert_int_equal(got.confidence, PIPELINE_CONFIDENCE_MEDIUM);
}

static void less_concurrency_follows_from_the_cpus(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 60000, 1e-5, 0.0008 },
                { "1:parse[8]", 60000, 0.0028, 60000, 2e-4, 0.00093 },
                { "2:sink", 0, 0, 60000, 1e-5, 0.00093 },
        };
        static const struct {
                double used, given;
                PipelineLimit limit;
        } joined[] = {
                { 1.05, 2, PIPELINE_LIMIT_LOCK }, { 1.9, 2, PIPELINE_LIMIT_CPU }, { 1, 1, PIPELINE_LIMIT_CPU },
                { 0.3, 2, PIPELINE_LIMIT_SOURCE }, { 2.5, 16, PIPELINE_LIMIT_SOURCE },
        };
        PipelineStage stages[3];

        (void)state;
        for (size_t i = 0; i < 3; i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(joined); i++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 3, &unknown);

                PipelineJob job = pipeline_diagnosis_unknown_job();

                job.cpus_used = joined[i].used;
                job.cpus_given = joined[i].given;
                pipeline_diagnosis_join_job(&job, &unknown, &got, stages, 3);
                assert_int_equal(got.limit, joined[i].limit);
                assert_int_equal(got.direction, got.limit == PIPELINE_LIMIT_SOURCE
                                                        ? PIPELINE_DIRECTION_FASTER_SOURCE
                                                        : PIPELINE_DIRECTION_LESS_CONCURRENCY);
                assert_int_equal(got.stage, got.limit == PIPELINE_LIMIT_SOURCE ? 0 : 1);
        }
}

/* A busy stage of a job whose numbers say why it is busy. */
static void the_job_explains_a_busy_stage(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 2400, 0.02, 1e-5 }, { "1:decode[4]", 2400, 0.0995, 2400, 1e-4, 0.0125 },
        };
        static const struct {
                double used, given, node, others, waited, throttled;
                PipelineLimit limit;
                PipelineDirection direction;
                PipelineConfidence confidence;
        } jobs[] = {
                { NAN, NAN, NAN, NAN, NAN, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                /* Others use half of a full node, while tasks wait. */
                { 4, 8, 8, 4, 0.6, NAN, PIPELINE_LIMIT_HOST, PIPELINE_DIRECTION_OTHER_HOST, PIPELINE_CONFIDENCE_LOW },
                { 4, 8, 8, 4, 0.2, NAN, PIPELINE_LIMIT_HOST, PIPELINE_DIRECTION_OTHER_HOST, PIPELINE_CONFIDENCE_LOW },
                /* A node that is not full, tasks that do not wait, and others that use little, are no noisy
                 * neighbours. */
                { 3, 8, 8, 4, 0.6, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { 4, 8, 8, 4, 0.05, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                /* Tasks that sleep most of the time gain nothing on another host. */
                { 0.1, 8, 8, 7.9, 0.2, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { 0.1, 8, 8, 7.9, 1, NAN, PIPELINE_LIMIT_HOST, PIPELINE_DIRECTION_OTHER_HOST, PIPELINE_CONFIDENCE_LOW },
                { 2.4, 4, 4, 0.9, 0.6, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                /* The CPU limit: tasks compete for few CPUs, or it throttles them though they use less in the mean. */
                { 2.4, 2, 8, 0, 0.6, 0.9, PIPELINE_LIMIT_CPU, PIPELINE_DIRECTION_LESS_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                /* The mean over the whole job, with its start, is below the limit, but tasks wait most of the time. */
                { 1.8, 2, 8, 0, 0.6, NAN, PIPELINE_LIMIT_CPU, PIPELINE_DIRECTION_LESS_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { 1.8, 2, 8, 0, 0.4, NAN, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { 1.9, 4, 8, 0, 0.1, 0.3, PIPELINE_LIMIT_CPU, PIPELINE_DIRECTION_MORE_CPUS,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { 1.9, 4, 8, 0, 0.1, 0.05, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
        };
        PipelineStage stages[2];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(jobs); i++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 2, &unknown);
                PipelineJob job = { jobs[i].used, jobs[i].given, jobs[i].node, jobs[i].others, jobs[i].waited, NAN, NAN,
                                    jobs[i].throttled, NAN, NAN, NAN, 0 };

                pipeline_diagnosis_join_job(&job, &unknown, &got, stages, 2);
                assert_int_equal(got.limit, jobs[i].limit);
                assert_int_equal(got.direction, jobs[i].direction);
                assert_int_equal(got.confidence, jobs[i].confidence);
                assert_int_equal(got.stage, got.limit == PIPELINE_LIMIT_HOST ? 2 : 1);
        }
}

/*
 * SPDL's experiment: a training job whose node is at 45 % of its CPUs, beside more and more processes without a
 * purpose. What its rate lacks of the highest one, 4.29 batches a second, is time in which it waited for a CPU.
 */
static void the_published_noisy_neighbour_is_named(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 2400, 0.02, 1e-5 }, { "1:decode[4]", 2400, 0.0995, 2400, 1e-4, 0.0125 },
        };
        static const struct {
                double cpu_pct, rate; /* of the node, and batches a second at the same time */
                bool is_named;
        } levels[] = {
                { 44.75, 4.29, false }, { 52.73, 4.18, false }, { 76.51, 3.54, false }, { 73.48, 3.72, false },
                { 90.63, 3.68, true },  { 90.83, 3.41, true },  { 99.17, 2.91, true },  { 99.47, 2.74, true },
        };
        PipelineStage stages[2];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(levels); i++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 2, &unknown);
                PipelineJob job = pipeline_diagnosis_unknown_job();
                double slowed = levels[i].rate / levels[0].rate;

                job.cpus_of_node = job.cpus_given = 8;
                job.cpus_used = 8 * levels[0].cpu_pct / 100 * slowed;
                job.cpus_of_others = 8 * levels[i].cpu_pct / 100 - job.cpus_used;
                job.cpu_waited = 1 - slowed;
                pipeline_diagnosis_join_job(&job, &unknown, &got, stages, 2);
                if ((got.limit == PIPELINE_LIMIT_HOST) != levels[i].is_named)
                        fail_msg("at %.2f %%: %s", levels[i].cpu_pct, pipeline_limit_names[got.limit]);
                assert_int_equal(got.direction, levels[i].is_named ? PIPELINE_DIRECTION_OTHER_HOST
                                                                   : PIPELINE_DIRECTION_MORE_CONCURRENCY);
        }
}

/* What waits for a queue that has items waits for something else, for example for a turn of the event loop. */
static void a_source_whose_queue_has_items_is_not_the_limit(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 5600, 1e-5, 0.0105 }, { "1:a[4]", 5600, 0.0107, 5600, 1e-5, 0.0105 }, { "2:sink", 0, 0, 5600, 1e-5, 0.0086 },
        };
        static const double readiness[] = { 0.1, 0.9 };
        PipelineStage stages[3];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(readiness); i++) {
                for (size_t k = 0; k < 3; k++)
                        stages[k] = stage_of(&minutes[k]);
                add_queue(&stages[0], 60, 5600, 1e-5, 0.0105, readiness[i]);
                assert_int_equal(pipeline_diagnosis_of(stages, 3, &unknown).limit,
                                 i == 0 ? PIPELINE_LIMIT_SOURCE : PIPELINE_LIMIT_UNKNOWN);
        }
}

static void an_empty_queue_bounds_the_wait(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 10800, 0.0048, 1e-4 }, { "1:decode[4]", 10800, 0.0216, 10800, 2e-5, 0.0063 },
                { "2:batch", 2700, 0.0024, 2700, 8e-6, 0.022 }, { "3:sink", 0, 0, 2700, 4e-5, 3e-6 },
        };
        PipelineStage stages[4];
        PipelineDiagnosis got;

        (void)state;
        for (size_t i = 0; i < 4; i++)
                stages[i] = stage_of(&minutes[i]);
        stages[3].queue.ready_s = 1.8;
        stages[3].queue.judged_s = 60;
        got = pipeline_diagnosis_of(stages, 4, &unknown);
        assert_true(got.is_wait_bound);
        assert_near(got.wait_share, 0.97);
        assert_true(isnan(got.mean_wait_s));
        assert_int_equal(got.limit, PIPELINE_LIMIT_STAGE);
        assert_int_equal(got.stage, 1);
        assert_int_equal(got.confidence, PIPELINE_CONFIDENCE_MEDIUM);

        /* The gets are measured, or the queue is full. */
        stages[3].queue.get_s = 20;
        got = pipeline_diagnosis_of(stages, 4, &unknown);
        assert_false(got.is_wait_bound);
        assert_near(got.wait_share, 20.0 / 60);
        assert_int_equal(got.confidence, PIPELINE_CONFIDENCE_MEDIUM);
        stages[3].queue.get_s = 0.01;
        stages[3].queue.ready_s = 60;
        assert_int_equal(pipeline_diagnosis_of(stages, 4, &unknown).limit, PIPELINE_LIMIT_CONSUMER);
}

static void a_straggler_differs_clearly_and_more_than_the_others(void **state) {
        static const struct {
                const char *name;
                StragglerMeasure measure;
                size_t n, straggler;
                double values[8];
        } ranks[] = {
                { "the published straggler", STRAGGLER_MEASURE_READINESS, 8, 0, { 0.38, 0.88, 0.73, 0.76, 0.52, 0.84, 0.88, 0.84 } },
                { "the worst of two", STRAGGLER_MEASURE_READINESS, 5, 3, { 0.99, 0.77, 0.99, 0.2, 1 } },
                { "all differ", STRAGGLER_MEASURE_READINESS, 5, 5, { 0.9, 0.7, 0.5, 0.3, 0.1 } },
                { "hardly different", STRAGGLER_MEASURE_READINESS, 5, 5, { 1, 1, 1, 1, 0.85 } },
                { "twice as slow", STRAGGLER_MEASURE_TIME, 4, 2, { 0.1, 0.11, 0.25, 0.1 } },
                { "slower, but not by half", STRAGGLER_MEASURE_TIME, 4, 4, { 0.1, 0.11, 0.15, 0.1 } },
                { "faster", STRAGGLER_MEASURE_TIME, 4, 4, { 0.1, 0.11, 0.01, 0.1 } },
                { "unknown", STRAGGLER_MEASURE_TIME, 4, 4, { 0.1, NAN, NAN, 0.9 } },
                { "two ranks", STRAGGLER_MEASURE_TIME, 2, 2, { 0.1, 0.9 } },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(ranks); i++) {
                double median = NAN;
                size_t found = straggler_find(ranks[i].values, ranks[i].n, ranks[i].measure, &median);

                if (found != ranks[i].straggler)
                        fail_msg("%s: rank %zu", ranks[i].name, found);
        }
}

/* What the producer measured in its process: pools, the interpreter's lock, CPUs. */
static void the_process_explains_a_busy_stage(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 2400, 0.02, 1e-5 }, { "1:decode[4]", 2400, 0.0995, 2400, 1e-4, 0.0125 },
        };
        static const struct {
                const char *name;
                PipelineProcess process;
                double used; /* CPUs by the job, of 8 */
                PipelineLimit limit;
                PipelineDirection direction;
                PipelineConfidence confidence;
        } rows[] = {
                { "tasks that compute scale", { .cpus_used = 4, .tasks_cpus = 4, .lock_waited = 0 }, 4, PIPELINE_LIMIT_STAGE,
                  PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_HIGH },
                { "no CPU is free for more", { .cpus_used = 4, .tasks_cpus = 4, .lock_waited = 0 }, 7.5, PIPELINE_LIMIT_STAGE,
                  PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_MEDIUM },
                { "tasks that wait may not scale", { .cpus_used = 0.1, .tasks_cpus = 0.1, .lock_waited = 0 }, 0.1, PIPELINE_LIMIT_STAGE,
                  PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_MEDIUM },
                { "the lock", { .cpus_used = 1, .tasks_cpus = 1, .lock_waited = 0.8 }, 1, PIPELINE_LIMIT_LOCK,
                  PIPELINE_DIRECTION_LESS_CONCURRENCY, PIPELINE_CONFIDENCE_MEDIUM },
                { "waits for a lock of a process without a CPU", { .cpus_used = 0.3, .tasks_cpus = 0.3, .lock_waited = 0.8 }, 0.3,
                  PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_LOW },
                { "the lock, at times", { .cpus_used = 1.2, .tasks_cpus = 1.2, .lock_waited = 0.3 }, 1.2, PIPELINE_LIMIT_STAGE,
                  PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_LOW },
                { "the lock, by tasks that are shorter than a wait", { .cpus_used = 1, .tasks_cpus = 4, .lock_held = 0.6 }, 4,
                  PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_LOW },
                { "the lock, which is rarely free", { .cpus_used = 1, .tasks_cpus = 1, .lock_held = 0.9 }, 1, PIPELINE_LIMIT_LOCK,
                  PIPELINE_DIRECTION_NONE, PIPELINE_CONFIDENCE_LOW },
                { "the lock, which the training loop has", { .cpus_used = 0.6, .tasks_cpus = 0.6, .lock_held = 0.9 }, 0.6,
                  PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_LOW },
                { "a lock that is mostly free", { .cpus_used = 4, .tasks_cpus = 4, .lock_held = 0.12 }, 4, PIPELINE_LIMIT_STAGE,
                  PIPELINE_DIRECTION_MORE_CONCURRENCY, PIPELINE_CONFIDENCE_HIGH },
                { "an executor that is too small", { .pools = { { 16, "", 0.1 }, { 2, "decode", 0.95 } }, .n_pools = 2, .knows_pools = true,
                  .tasks_cpus = 0.1, .lock_waited = 0 }, 0.1, PIPELINE_LIMIT_POOL, PIPELINE_DIRECTION_MORE_THREADS,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { "a pool in which nothing waits", { .n_threads = 2, .pools = { { 2, "", 0.1 } }, .n_pools = 1, .knows_pools = true,
                  .tasks_cpus = 0.1, .lock_waited = 0 }, 0.1, PIPELINE_LIMIT_STAGE, PIPELINE_DIRECTION_MORE_CONCURRENCY,
                  PIPELINE_CONFIDENCE_MEDIUM },
                { "a pool of which only the size is known", { .n_threads = 2, .tasks_cpus = 0.1, .lock_waited = 0 }, 0.1,
                  PIPELINE_LIMIT_POOL, PIPELINE_DIRECTION_MORE_THREADS, PIPELINE_CONFIDENCE_MEDIUM },
        };
        PipelineStage stages[2];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 2, &rows[i].process);
                PipelineJob job = pipeline_diagnosis_unknown_job();

                job.cpus_used = rows[i].used;
                job.cpus_given = job.cpus_of_node = 8;
                pipeline_diagnosis_join_job(&job, &rows[i].process, &got, stages, 2);
                if (got.limit != rows[i].limit || got.direction != rows[i].direction ||
                    got.confidence != rows[i].confidence)
                        fail_msg("%s: %s, %s, %s", rows[i].name, pipeline_limit_names[got.limit],
                                 pipeline_direction_names[got.direction], pipeline_confidence_names[got.confidence]);
                if (rows[i].process.n_pools == 2)
                        assert_true(got.stage == 1 && got.pool_threads == 2);
        }
}

static void a_loop_that_waits_for_the_lock_may_not_be_the_limit(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 1980, 0.0294, 2e-6 },
                { "1:25ms", 1980, 0.0258, 1980, 0.0044, 2e-6 },
                { "2:sink", 0, 0, 1980, 0.0303, 5e-6 },
        };
        PipelineJob job = pipeline_diagnosis_unknown_job();
        PipelineProcess process = unknown;
        PipelineStage stages[3];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (unsigned k = 0; k < 2; k++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 3, &process);

                process.lock_waited = k == 0 ? 0.1 : 0.35;
                pipeline_diagnosis_join_job(&job, &process, &got, stages, 3);
                assert_int_equal(got.limit, PIPELINE_LIMIT_CONSUMER);
                assert_int_equal(got.confidence, k == 0 ? PIPELINE_CONFIDENCE_HIGH : PIPELINE_CONFIDENCE_MEDIUM);
        }
}

/* Coroutines that wait for the network are many, and what computes is another stage. */
static void fewer_workers_of_a_stage_that_sleeps_are_no_sure_advice(void **state) {
        static const Minute minutes[] = { { "0:src", 0, 0, 24000, 1e-3, 1e-5 },
                                          { "1:download[32]", 24000, 0.075, 24000, 1e-4, 0.002 },
                                          { "2:decode[4]", 24000, 0.0099, 24000, 1e-5, 0.002 } };
        static const struct {
                double tasks_cpus, used, waiting, lock_waited;
                PipelineLimit limit;
        } rows[] = {
                { 3.9, 3.9, 0.5, 0, PIPELINE_LIMIT_CPU },
                { 1, 1, 0.1, 0.8, PIPELINE_LIMIT_LOCK },
        };
        PipelineStage stages[3];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++)
                for (unsigned n_stages = 2; n_stages <= 3; n_stages++) {
                        PipelineProcess process = unknown;
                        PipelineJob job = pipeline_diagnosis_unknown_job();
                        PipelineDiagnosis got;

                        for (size_t k = 0; k < n_stages; k++)
                                stages[k] = stage_of(&minutes[k]);
                        process.cpus_used = process.tasks_cpus = rows[i].tasks_cpus;
                        process.waiting_for_cpu = n_stages == 2 ? 28 : rows[i].waiting;
                        process.lock_waited = rows[i].lock_waited;
                        job.cpus_used = rows[i].used;
                        job.cpus_given = job.cpus_of_node = 4;
                        job.cpus_of_others = 0;
                        got = pipeline_diagnosis_of(stages, n_stages, &process);
                        pipeline_diagnosis_join_job(&job, &process, &got, stages, n_stages);
                        assert_int_equal(got.limit, rows[i].limit);
                        assert_int_equal(got.direction, PIPELINE_DIRECTION_LESS_CONCURRENCY);
                        assert_int_equal(got.stage, 1);
                        assert_int_equal(got.confidence, n_stages == 2 ? PIPELINE_CONFIDENCE_MEDIUM
                                                                       : PIPELINE_CONFIDENCE_LOW);
                }
}

/* Threads that hand items over, or tasks that hold the lock, delay the source's items, too. */
static void a_source_beside_a_busy_lock_is_not_sure(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 600, 1e-5, 0.095 }, { "1:decode[1]", 600, 0.005, 600, 1e-5, 0.095 }, { "2:sink", 0, 0, 600, 1e-5, 0.09 },
        };
        static const struct {
                double used, held;
                PipelineConfidence confidence;
        } rows[] = {
                { 0.5, 0.2, PIPELINE_CONFIDENCE_HIGH },
                { 0.9, 0.2, PIPELINE_CONFIDENCE_LOW },
                { 0.5, 0.5, PIPELINE_CONFIDENCE_LOW },
        };
        PipelineJob job = pipeline_diagnosis_unknown_job();
        PipelineProcess process = unknown;
        PipelineStage stages[3];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 3, &process);

                process.cpus_used = rows[i].used;
                process.lock_held = rows[i].held;
                pipeline_diagnosis_join_job(&job, &process, &got, stages, 3);
                assert_int_equal(got.limit, PIPELINE_LIMIT_SOURCE);
                assert_int_equal(got.confidence, rows[i].confidence);
        }
}

/* Tasks that sleep have little use for a CPU: the node may be full. */
static void measured_waits_for_a_cpu_count(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 2400, 0.02, 1e-5 }, { "1:decode[4]", 2400, 0.0995, 2400, 1e-4, 0.0125 },
        };
        static const struct {
                double used, waiting;
                PipelineLimit limit;
        } rows[] = {
                { 0.2, 0.3, PIPELINE_LIMIT_STAGE },
                { 0.5, 1.6, PIPELINE_LIMIT_STAGE },
                { 1.9, 1.9, PIPELINE_LIMIT_HOST },
                { 0.1, 3.9, PIPELINE_LIMIT_HOST },
        };
        PipelineStage stages[2];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                PipelineProcess process = unknown;
                PipelineDiagnosis got = pipeline_diagnosis_of(stages, 2, &process);
                PipelineJob job = { rows[i].used, 8, 8, 8 - rows[i].used, 0.9, NAN, NAN, NAN, NAN, NAN, NAN, 0 };

                process.waiting_for_cpu = rows[i].waiting;
                pipeline_diagnosis_join_job(&job, &process, &got, stages, 2);
                assert_int_equal(got.limit, rows[i].limit);
        }
}

/* Items that come 64 at a time: the last stage waits for room, then everything waits for the source. */
static void bursts_of_the_source_are_no_matter_of_the_buffer(void **state) {
        static const Minute minutes[] = {
                { "0:src", 0, 0, 4300, 0.004, 0.0065 }, { "1:decode[4]", 4300, 0.011, 4300, 0.03, 0.0075 }, { "2:sink", 0, 0, 4300, 1e-5, 0.0075 },
        };
        PipelineStage stages[3];
        PipelineDiagnosis got;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = stage_of(&minutes[i]);
        got = pipeline_diagnosis_of(stages, 3, &unknown);
        assert_int_equal(got.limit, PIPELINE_LIMIT_SOURCE);
        assert_int_equal(got.confidence, PIPELINE_CONFIDENCE_MEDIUM);
        stages[0].queue.get_s = 0;
        assert_int_equal(pipeline_diagnosis_of(stages, 3, &unknown).limit, PIPELINE_LIMIT_HANDOVER);
}

static void an_empty_pipeline_has_no_limit(void **state) {
        PipelineDiagnosis got = pipeline_diagnosis_of(NULL, 0, &unknown);

        (void)state;
        assert_int_equal(got.limit, PIPELINE_LIMIT_UNKNOWN);
        assert_true(isnan(got.wait_share));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(labels_of_each_dialect_are_parsed),
                cmocka_unit_test(stages_are_ordered_by_position),
                cmocka_unit_test(means_have_the_weights_of_their_parts),
                cmocka_unit_test(a_queue_without_items_is_not_ready),
                cmocka_unit_test(shares_of_the_time_add_up),
                cmocka_unit_test(failed_tasks_take_time),
                cmocka_unit_test(each_case_has_its_limit),
                cmocka_unit_test(a_stage_whose_failures_take_long_is_the_limit),
                cmocka_unit_test(less_concurrency_follows_from_the_cpus),
                cmocka_unit_test(the_job_explains_a_busy_stage),
                cmocka_unit_test(the_published_noisy_neighbour_is_named),
                cmocka_unit_test(a_source_whose_queue_has_items_is_not_the_limit),
                cmocka_unit_test(an_empty_queue_bounds_the_wait),
                cmocka_unit_test(a_straggler_differs_clearly_and_more_than_the_others),
                cmocka_unit_test(the_process_explains_a_busy_stage),
                cmocka_unit_test(a_loop_that_waits_for_the_lock_may_not_be_the_limit),
                cmocka_unit_test(fewer_workers_of_a_stage_that_sleeps_are_no_sure_advice),
                cmocka_unit_test(a_source_beside_a_busy_lock_is_not_sure),
                cmocka_unit_test(measured_waits_for_a_cpu_count),
                cmocka_unit_test(bursts_of_the_source_are_no_matter_of_the_buffer),
                cmocka_unit_test(an_empty_pipeline_has_no_limit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
