/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_raw.h"
#include "util/scoped.h"

DEFINE_SCOPED(PipelineRaw, pipeline_raw_free);

#define ZERO_NS UINT64_C(1764000000000000000)
#define N_MAX   4000U

static PipelineInterval taken[N_MAX];
static size_t n_taken;

static PipelineRaw *begun(double interval_s) {
        PipelineRaw *raw;

        n_taken = 0;
        assert_int_equal(pipeline_raw_new(&raw, (uint64_t)(interval_s * 1e9)), 0);
        return raw;
}

static uint64_t at(double seconds) {
        return ZERO_NS + (uint64_t)llround(seconds * 1e9);
}

static void take(PipelineRaw *raw) {
        while (n_taken < N_MAX && pipeline_raw_next(raw, &taken[n_taken]))
                n_taken++;
}

static int add(PipelineRaw *raw, const char *stage, PipelineRawKind kind, double time_s, double seconds) {
        const PipelineRawEvent event = { .stage = stage, .kind = kind, .time_ns = at(time_s), .seconds = seconds };
        int r = pipeline_raw_add(raw, &event);

        take(raw);
        return r;
}

static void finish(PipelineRaw *raw, double time_s) {
        pipeline_raw_finish(raw, time_s > 0 ? at(time_s) : 0);
        take(raw);
        assert_true(n_taken < N_MAX);
}

static void assert_near(double got, double expected) {
        if (!(fabs(got - expected) <= 1e-6 * fmax(1, fabs(expected))))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

static double occupancy(const PipelineInterval *interval) {
        return interval->sums.ready_s / interval->sums.judged_s;
}

/* The cases of SPDL whose occupancy the real code gets wrong. */
static void a_stall_is_empty_time_of_each_interval(void **state) {
        static const double expected[] = { 0.5, 0, 0, 0.1 };
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);

        (void)state;
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, 0, 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_GET, 5, 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, 35, 0);
        assert_int_equal(n_taken, 3); /* the stall is told while it lasts */
        (void)add(raw, "0:1:a", PIPELINE_RAW_GET, 36, 0);
        finish(raw, 40);
        assert_int_equal(n_taken, 4);
        for (size_t i = 0; i < 4; i++) {
                assert_near(occupancy(&taken[i]), expected[i]);
                assert_near(taken[i].sums.elapsed_s, 10);
                assert_int_equal(taken[i].end_ms, 1764000000000 + 10000 * (i + 1));
                assert_true(taken[i].sums.n == (i == 0 || i == 3));
        }
}

static void an_open_stall_is_told_while_time_passes(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);

        (void)state;
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, 0, 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_GET, 5, 0);
        pipeline_raw_advance(raw, at(25));
        take(raw);
        assert_int_equal(n_taken, 2);
        assert_near(occupancy(&taken[0]), 0.5);
        assert_near(occupancy(&taken[1]), 0);
        finish(raw, 0); /* before what has passed */
        assert_int_equal(n_taken, 3);
        assert_near(taken[2].sums.elapsed_s, 5);
}

static void calls_and_tasks_are_counted(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(60);
        const PipelineInterval *tasks = &taken[0], *queue = &taken[1];

        (void)state;
        for (int i = 1; i <= 100; i++) {
                (void)add(raw, "0:1:a[4]", i % 10 ? PIPELINE_RAW_TASK : PIPELINE_RAW_FAILED_TASK, i * 0.1, i * 0.001);
                (void)add(raw, "0:1:a[4]", PIPELINE_RAW_PUT, i * 0.1, i * 0.0001);
                if (i % 2)
                        (void)add(raw, "0:1:a[4]", PIPELINE_RAW_GET, i * 0.1 + 0.05, i * 0.00002);
        }
        finish(raw, 0);
        assert_int_equal(n_taken, 2);
        assert_string_equal(tasks->stage, "0:1:a[4]");
        assert_true(tasks->part == PIPELINE_TASKS && tasks->sums.n == 100 && tasks->sums.n_failures == 10);
        assert_near(tasks->sums.time_s, 4.5);
        assert_true(fabs(tasks->percentiles.p90_s / 0.089 - 1) < 0.011 && fabs(tasks->percentiles.p99_s / 0.099 - 1) < 0.011);
        assert_true(queue->part == PIPELINE_QUEUE && queue->sums.n == 50);
        assert_near(queue->sums.time_s / queue->sums.n, 0.00505);
        assert_near(queue->sums.get_s, 0.05);
        assert_true(fabs(queue->percentiles.p99_s / 0.0099 - 1) < 0.011 && fabs(queue->percentiles.get_p90_s / 0.00178 - 1) < 0.011);
}

/* --- property: random events against a count of each millisecond ----------------------------------- */

#define N_MS     30000U
#define N_EVENTS 600U

typedef struct Step {
        unsigned ms, arrival;
        PipelineRawKind kind;
} Step;

static int compare_arrival(const void *a, const void *b) {
        const Step *x = a, *y = b;

        return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* Puts and gets of a queue with at most three items; the last 10 s have none. */
static void draw_steps(Step steps[static N_EVENTS], int levels[static N_MS]) {
        unsigned ms = 0;
        int level = 0;
        size_t n = 0;

        for (unsigned i = 0; i < N_MS; i++) {
                if (n < N_EVENTS && i == ms) {
                        bool is_put = level == 0 || (level < 3 && lrand48() % 2);

                        steps[n++] = (Step){ .ms = i, .kind = is_put ? PIPELINE_RAW_PUT : PIPELINE_RAW_GET,
                                             .arrival = i + (unsigned)(lrand48() % 900) };
                        level += is_put ? 1 : -1;
                        ms += 1 + (unsigned)(lrand48() % 65);
                }
                levels[i] = level;
        }
}

static void occupancy_is_that_of_each_millisecond(void **state) {
        static Step steps[N_EVENTS];
        static int levels[N_MS];

        (void)state;
        for (int round = 0; round < 40; round++) {
                unsigned interval_ms = 100 + (unsigned)(lrand48() % 7000), n_gets = 0;
                scoped(pipeline_raw_freep) PipelineRaw *raw = begun(interval_ms / 1e3);

                srand48(round);
                memset(steps, 0, sizeof(steps));
                draw_steps(steps, levels);
                steps[0].arrival = 0; /* the first event begins the intervals */
                qsort(steps, N_EVENTS, sizeof(*steps), compare_arrival);
                for (size_t i = 0; i < N_EVENTS; i++)
                        if (steps[i].arrival > 0 || steps[i].ms == 0)
                                assert_int_equal(add(raw, "0:1:a", steps[i].kind, steps[i].ms / 1e3, 0), 0);
                finish(raw, N_MS / 1e3);

                assert_int_equal(n_taken, (N_MS + interval_ms - 1) / interval_ms);
                for (size_t i = 0; i < n_taken; i++) {
                        unsigned begin = (unsigned)i * interval_ms, next = begin + interval_ms, end = next < N_MS ? next : N_MS, ready = 0;

                        for (unsigned ms = begin; ms < end; ms++)
                                ready += levels[ms] > 0;
                        assert_near(taken[i].sums.ready_s, ready / 1e3);
                        assert_near(taken[i].sums.judged_s, (end - begin) / 1e3);
                        n_gets += (unsigned)taken[i].sums.n;
                }
                for (size_t i = 0; i < N_EVENTS; i++)
                        n_gets -= steps[i].kind == PIPELINE_RAW_GET;
                assert_int_equal(n_gets, 0);
                assert_int_equal(pipeline_raw_doubts(raw).n_unmatched, 0);
        }
}

/* --- faults --------------------------------------------------------------------------------------- */

static void late_events_are_refused_until_the_clock_was_set_back(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);
        double n = 0;

        (void)state;
        assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, 100, 0), 0);
        assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, 99.5, 0), 0);
        assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, 98.9, 0), PIPELINE_RAW_LATE);
        assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, 101, 0), 0);
        for (unsigned i = 1; i < PIPELINE_RAW_LATE_MAX; i++)
                assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, i * 0.001, 0), PIPELINE_RAW_LATE);
        for (unsigned i = 0; i < 20; i++)
                assert_int_equal(add(raw, "0:1:a", PIPELINE_RAW_TASK, 1 + i, 0), 0);
        assert_int_equal(pipeline_raw_doubts(raw).n_steps_back, 1);
        finish(raw, 0);
        for (size_t i = 0; i < n_taken; i++) {
                n += taken[i].sums.n;
                assert_true(i == 0 || taken[i].end_ms > taken[i - 1].end_ms);
        }
        assert_true(n == 23);
        assert_int_equal(taken[n_taken - 1].end_ms, 1764000120000);
}

static void a_jump_of_the_clock_is_left_out(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(1);
        double jump_s = PIPELINE_RAW_GAP_MAX + 10, elapsed_s = 0;

        (void)state;
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, 0, 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_GET, 0.25, 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, jump_s, 0);
        finish(raw, jump_s + 0.5);
        for (size_t i = 0; i < n_taken; i++)
                elapsed_s += taken[i].sums.elapsed_s;
        assert_int_equal(pipeline_raw_doubts(raw).n_jumps, 1);
        assert_true(n_taken <= 4 && elapsed_s <= 4);
        assert_near(taken[0].sums.ready_s, 0.25);
}

static void items_that_a_queue_had_before_are_not_taken_for_an_empty_queue(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);
        PipelineRawEvent level = { .stage = "0:1:c", .kind = PIPELINE_RAW_LEVEL, .time_ns = at(0), .n_items = 2, .buffer_size = 8 };

        (void)state;
        assert_int_equal(pipeline_raw_add(raw, &level), 0);
        (void)add(raw, "0:1:a", PIPELINE_RAW_GET, 1, 1);  /* before the first put: not judged until then */
        (void)add(raw, "0:1:b", PIPELINE_RAW_PUT, 0.5, 0.5);
        (void)add(raw, "0:1:b", PIPELINE_RAW_GET, 1, 0);
        (void)add(raw, "0:1:c", PIPELINE_RAW_GET, 2, 0);
        (void)add(raw, "0:1:d", PIPELINE_RAW_GET, 2, 2); /* never has a put: only its wait is measured */
        (void)add(raw, "0:1:c", PIPELINE_RAW_GET, 3, 0);
        (void)add(raw, "0:1:b", PIPELINE_RAW_GET, 4, 0); /* was never put */
        (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, 6, 0);
        finish(raw, 10);
        assert_int_equal(n_taken, 4);
        assert_near(taken[0].sums.judged_s, 4);
        assert_near(taken[0].sums.ready_s, 4);
        assert_near(taken[1].sums.ready_s, 4);
        assert_near(taken[2].sums.ready_s, 3);
        assert_int_equal(taken[2].buffer_size, 8);
        assert_true(taken[3].sums.judged_s == 0 && taken[3].sums.n == 1);
        assert_int_equal(pipeline_raw_doubts(raw).n_unmatched, 2);
}

static void a_get_that_is_told_before_its_put_is_no_fault(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);

        (void)state;
        for (int i = 0; i < 20; i++) {
                (void)add(raw, "0:1:a", PIPELINE_RAW_GET, i + 0.5, 0.5);
                (void)add(raw, "0:1:a", PIPELINE_RAW_PUT, i + 0.500001, 0);
        }
        finish(raw, 0);
        assert_int_equal(pipeline_raw_doubts(raw).n_unmatched, 0);
        assert_near(taken[0].sums.ready_s, 0);
        assert_near(taken[0].sums.judged_s, 10);
}

static void a_stage_that_ended_has_no_more_intervals(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);

        (void)state;
        (void)add(raw, "0:1:a", PIPELINE_RAW_TASK, 1, 1);
        (void)add(raw, "0:1:a", PIPELINE_RAW_END, 4, 0);
        (void)add(raw, "0:2:b", PIPELINE_RAW_TASK, 45, 1);
        (void)add(raw, "0:1:a", PIPELINE_RAW_TASK, 46, 1);
        finish(raw, 50);
        assert_int_equal(n_taken, 3);
        assert_near(taken[0].sums.elapsed_s, 4);
        assert_string_equal(taken[1].stage, "0:1:a");
        assert_near(taken[1].sums.elapsed_s, 5);
}

static void the_shortest_intervals_are_kept(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(1), *other = NULL;

        (void)state;
        (void)add(raw, "0:1:a", PIPELINE_RAW_TASK, 0, 0);
        finish(raw, 1.0003); /* the end of the last is that of the first, in milliseconds, and would be taken for the same */
        assert_int_equal(n_taken, 2);
        assert_true(taken[0].end_ms == 1764000001000 && taken[1].end_ms == 1764000001001);

        other = begun(1);
        (void)add(other, "0:1:a", PIPELINE_RAW_TASK, 0, 0);
        (void)add(other, "0:1:a", PIPELINE_RAW_GET, 0, 0);
        finish(other, 0);
        assert_int_equal(n_taken, 2);
        assert_true(taken[0].sums.n == 1 && taken[1].sums.n == 1 && taken[0].sums.elapsed_s == 0);
}

/* A time that mostly follows the last one, and sometimes is late, ahead, far ahead or set back. */
static double draw_time(double last_s) {
        switch (lrand48() % 200) {
        case 0: return fmax(0, last_s - drand48() * 40);
        case 1: return last_s + drand48() * 50;
        case 2: return lrand48() % 10 ? last_s : last_s + 2 * PIPELINE_RAW_GAP_MAX;
        case 3: return lrand48() % 10 ? last_s : 0;
        default: return fmax(0, last_s + drand48() * 0.2 - 0.05);
        }
}

typedef struct Sums {
        double n_tasks, n_failures, task_s, n_gets, get_s;
} Sums;

static void add_taken(Sums *sums, const PipelineInterval *interval) {
        const PipelineSums *from = &interval->sums;

        if (interval->part == PIPELINE_TASKS) {
                sums->n_tasks += from->n;
                sums->n_failures += from->n_failures;
                sums->task_s += from->time_s;
        } else {
                sums->n_gets += from->n;
                sums->get_s += from->get_s;
        }
        if (!(from->elapsed_s >= 0 && from->elapsed_s <= 1 + 1e-9 && from->judged_s <= from->elapsed_s + 1e-9 &&
              from->ready_s <= from->judged_s + 1e-9 && from->ready_s >= 0))
                fail_msg("elapsed %g, judged %g, ready %g", from->elapsed_s, from->judged_s, from->ready_s);
}

static void count_added(Sums *sums, PipelineRawKind kind, double seconds) {
        sums->n_tasks += kind == PIPELINE_RAW_TASK || kind == PIPELINE_RAW_FAILED_TASK;
        sums->n_failures += kind == PIPELINE_RAW_FAILED_TASK;
        sums->task_s += kind == PIPELINE_RAW_TASK ? seconds : 0;
        sums->n_gets += kind == PIPELINE_RAW_GET;
        sums->get_s += kind == PIPELINE_RAW_GET ? seconds : 0;
}

/* Takes the intervals, in order of time for each stage and part. */
static void take_sums(PipelineRaw *raw, Sums *sums, uint64_t ends_ms[static 3 * N_PIPELINE_PARTS]) {
        PipelineInterval interval;

        while (pipeline_raw_next(raw, &interval)) {
                uint64_t *end_ms = &ends_ms[(interval.stage[2] - '0') * N_PIPELINE_PARTS + interval.part];

                assert_true(interval.end_ms > *end_ms);
                *end_ms = interval.end_ms;
                add_taken(sums, &interval);
        }
}

static void what_is_accepted_is_counted_once_whatever_the_clock_does(void **state) {
        static const char *const stages[] = { "0:0:a", "0:1:b", "0:2:c" };

        (void)state;
        for (int round = 0; round < 60; round++) {
                scoped(pipeline_raw_freep) PipelineRaw *raw = begun(1);
                uint64_t ends_ms[3 * N_PIPELINE_PARTS] = {};
                Sums expected = {}, got = {};
                double last_s = 10;

                srand48(round);
                for (int i = 0; i < 5000; i++) {
                        PipelineRawKind kind = lrand48() % 50 ? PIPELINE_RAW_PUT + lrand48() % 4 : lrand48() % N_PIPELINE_RAW_KINDS;
                        double time_s = draw_time(last_s);
                        const PipelineRawEvent event = {
                                .stage = stages[lrand48() % 3], .kind = kind, .time_ns = at(time_s), .seconds = drand48() * 3,
                                .n_items = (uint32_t)(lrand48() % 3),
                        };

                        if (pipeline_raw_add(raw, &event) == 0) {
                                count_added(&expected, kind, event.seconds);
                                last_s = time_s;
                        }
                        if (lrand48() % 20 == 0)
                                pipeline_raw_advance(raw, at(last_s + drand48()));
                        take_sums(raw, &got, ends_ms);
                }
                pipeline_raw_finish(raw, lrand48() % 2 ? at(last_s + 3) : 0);
                take_sums(raw, &got, ends_ms);
                assert_true(got.n_tasks == expected.n_tasks && got.n_failures == expected.n_failures && got.n_gets == expected.n_gets);
                assert_near(got.task_s, expected.task_s);
                assert_near(got.get_s, expected.get_s);
        }
}

static void memory_is_bounded(void **state) {
        scoped(pipeline_raw_freep) PipelineRaw *raw = begun(10);
        double n = 0;
        char name[16];

        (void)state;
        for (unsigned i = 0; i <= PIPELINE_RAW_STAGES_MAX; i++) {
                (void)snprintf(name, sizeof(name), "0:%u:a", i);
                assert_int_equal(add(raw, name, PIPELINE_RAW_TASK, 0, 0),
                                 i < PIPELINE_RAW_STAGES_MAX ? 0 : PIPELINE_RAW_TOO_MANY_STAGES);
        }
        for (unsigned i = 0; i < 3 * PIPELINE_RAW_HELD_MAX; i++) /* more than can be held within the tolerance */
                assert_int_equal(add(raw, "0:7:a", PIPELINE_RAW_TASK, i % 1000 * 0.0005, 0), 0);
        finish(raw, 0);
        for (size_t i = 0; i < n_taken; i++)
                n += taken[i].sums.n;
        assert_true(n == 3 * PIPELINE_RAW_HELD_MAX + PIPELINE_RAW_STAGES_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_stall_is_empty_time_of_each_interval),
                cmocka_unit_test(an_open_stall_is_told_while_time_passes),
                cmocka_unit_test(calls_and_tasks_are_counted),
                cmocka_unit_test(occupancy_is_that_of_each_millisecond),
                cmocka_unit_test(late_events_are_refused_until_the_clock_was_set_back),
                cmocka_unit_test(a_jump_of_the_clock_is_left_out),
                cmocka_unit_test(items_that_a_queue_had_before_are_not_taken_for_an_empty_queue),
                cmocka_unit_test(a_get_that_is_told_before_its_put_is_no_fault),
                cmocka_unit_test(a_stage_that_ended_has_no_more_intervals),
                cmocka_unit_test(the_shortest_intervals_are_kept),
                cmocka_unit_test(what_is_accepted_is_counted_once_whatever_the_clock_does),
                cmocka_unit_test(memory_is_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
