/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENCE_MIN 0.1 /* of the faster rate */
#define ITEMS_MIN      10  /* of a run */

/* Items per second of a run; NAN: too few. */
static double rate_of(const ComparedRun *run) {
        const PipelineStage *sink = run->n > 0 ? &run->stages[run->n - 1] : NULL;

        return sink && sink->queue.n_gets >= ITEMS_MIN && sink->queue.elapsed_s > 0 ? pipeline_stage_rate(sink) : NAN;
}

static void note(PipelineComparison *ret, size_t stage, bool is_buffer, unsigned before, unsigned now) {
        if (before == now || ret->n_changes++ > 0)
                return;
        ret->stage = stage;
        ret->is_buffer = is_buffer;
        ret->before = before;
        ret->now = now;
}

/* Returns true if the runs differ only in known concurrencies and buffers, if at all. */
static bool find_changes(const ComparedRun *run, const ComparedRun *before, PipelineComparison *ret) {
        *ret = (PipelineComparison){ .job = before->job, .rate_before = rate_of(before), .rate_now = rate_of(run) };
        if (run->n != before->n || isnan(ret->rate_before) ||
            (run->n_threads > 0 && before->n_threads > 0 && run->n_threads != before->n_threads))
                return false;
        for (size_t i = 0; i < run->n; i++) {
                const PipelineStage *a = &before->stages[i], *b = &run->stages[i];

                if (a->order != b->order || strcmp(a->name, b->name) != 0 ||
                    (a->concurrency > 0) != (b->concurrency > 0))
                        return false;
                note(ret, i, false, a->concurrency, b->concurrency);
                if (a->queue.buffer_size > 0 && b->queue.buffer_size > 0)
                        note(ret, i, true, a->queue.buffer_size, b->queue.buffer_size);
        }
        return true;
}

/* The newest run with a value counts. */
static void add_value(PipelineComparison *ret, unsigned value, double rate) {
        if (!pipeline_comparison_was_tried(ret, value))
                ret->tried[ret->n_tried++] = (ComparedValue){ value, rate };
}

static int compare_values(const void *a, const void *b) {
        const ComparedValue *x = a, *y = b;

        return COMPARE(x->value, y->value);
}

/*
 * Finds the least value that is as fast as any. If it is the largest that was tried, or the smallest with the next
 * clearly slower, the best value may lie beyond.
 */
static unsigned find_best(const ComparedValue *tried, size_t n) {
        double most = 0;
        size_t i = 0;

        for (size_t k = 0; k < n; k++)
                most = fmax(most, tried[k].rate);
        while (tried[i].rate < (1 - DIFFERENCE_MIN) * most)
                i++;
        if (i == n - 1)
                return 2 * tried[i].value;
        if (i == 0 && tried[i].value > 1 && pipeline_comparison_is_clear(tried[i].rate, tried[i + 1].rate))
                return tried[i].value / 2;
        return tried[i].value;
}

PipelineComparison pipeline_comparison_make(const ComparedRun *run, const ComparedRun *earlier, size_t n_earlier) {
        PipelineComparison ret = {}, one;

        if (isnan(rate_of(run)))
                return ret;
        for (size_t i = 0; i < n_earlier && i < PIPELINE_COMPARISON_RUNS_MAX; i++) {
                if (!find_changes(run, &earlier[i], &one) || one.n_changes == 0)
                        continue;
                if (ret.n_changes == 0) {
                        ret = one;
                        add_value(&ret, ret.now, ret.rate_now);
                }
                if (one.n_changes == 1 && ret.n_changes == 1 && one.stage == ret.stage &&
                    one.is_buffer == ret.is_buffer)
                        add_value(&ret, one.before, one.rate_before);
        }
        if (ret.n_changes != 1)
                return ret;
        qsort(ret.tried, ret.n_tried, sizeof(*ret.tried), compare_values);
        ret.best = find_best(ret.tried, ret.n_tried);
        return ret;
}

bool pipeline_comparison_was_tried(const PipelineComparison *comparison, unsigned value) {
        for (size_t i = 0; i < comparison->n_tried; i++)
                if (comparison->tried[i].value == value)
                        return true;
        return false;
}

bool pipeline_comparison_is_clear(double before, double now) {
        return fabs(now - before) > DIFFERENCE_MIN * fmax(now, before);
}

void pipeline_comparison_put(const PipelineComparison *comparison, const PipelineStage *stages, Json *json) {
        if (comparison->n_changes == 0) {
                json_null(json);
                return;
        }
        json_object_begin(json);
        json_put_string(json, "job", comparison->job);
        json_put_uint(json, "changes", comparison->n_changes);
        json_put_string(json, "stage", stages[comparison->stage].name);
        json_put_string(json, "what", comparison->is_buffer ? "buffer" : "concurrency");
        json_put_uint(json, "before", comparison->before);
        json_put_uint(json, "now", comparison->now);
        json_put_double(json, "items_per_second_before", comparison->rate_before);
        json_put_double(json, "items_per_second", comparison->rate_now);
        json_put_int_or_null(json, "best", comparison->best > 0, comparison->best);
        json_put_array_begin(json, "tried");
        for (size_t i = 0; i < comparison->n_tried; i++) {
                json_object_begin(json);
                json_put_uint(json, "value", comparison->tried[i].value);
                json_put_double(json, "items_per_second", comparison->tried[i].rate);
                json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
}
