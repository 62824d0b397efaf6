/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/straggler.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

#define READINESS_LESS 0.2 /* than the median */
#define TIME_RATIO     2.0 /* to the median: the rule of SPDL's documentation */
#define SPREADS_MIN    4.0 /* median absolute deviations from the median */

const char *const straggler_measure_names[N_STRAGGLER_MEASURES + 1] = {
        [STRAGGLER_MEASURE_READINESS] = "readiness", [STRAGGLER_MEASURE_TIME] = "time",
};

static bool is_clear(double value, double median, StragglerMeasure measure) {
        return measure == STRAGGLER_MEASURE_READINESS ? value <= median - READINESS_LESS : value >= TIME_RATIO * median;
}

size_t straggler_find(const double *values, size_t n, StragglerMeasure measure, double *ret_median) {
        scoped(freep) double *sorted = calloc(n + 1, sizeof(*sorted));
        size_t n_known = 0, found = n;
        double median, spread;

        for (size_t i = 0; sorted && i < n; i++)
                if (!isnan(values[i]))
                        sorted[n_known++] = values[i];
        if (n_known < STRAGGLER_RANKS_MIN)
                return n;
        median = statistics_median_in_place(sorted, n_known);
        for (size_t i = 0; i < n_known; i++)
                sorted[i] = fabs(sorted[i] - median);
        spread = statistics_median_in_place(sorted, n_known);

        for (size_t i = 0; i < n; i++) {
                double distance = fabs(values[i] - median);

                if (isnan(values[i]) || !is_clear(values[i], median, measure) || distance < SPREADS_MIN * spread)
                        continue;
                if (found == n || distance > fabs(values[found] - median))
                        found = i;
        }
        *ret_median = median;
        return found;
}

static const PipelineStage *find_stage(const RankFile *file, const PipelineStage *wanted) {
        for (size_t i = 0; i < file->n; i++)
                if (pipeline_stage_compare(&file->stages[i], wanted) == 0)
                        return &file->stages[i];
        return NULL;
}

static double measure_of(const PipelineStage *stage, StragglerMeasure measure) {
        double readiness;

        if (!stage)
                return NAN;
        if (measure == STRAGGLER_MEASURE_TIME)
                return pipeline_stage_mean_time(stage);
        return pipeline_stage_readiness(stage, &readiness) == PIPELINE_READINESS_KNOWN ? readiness : NAN;
}

int straggler_find_all(const RankFile *files, size_t n, void (*report)(const Straggler *straggler, void *userdata), void *userdata) {
        scoped(freep) double *values = calloc(n + 1, sizeof(*values));

        if (!values)
                return -ENOMEM;
        for (size_t i = 0; n > 0 && i < files[0].n; i++)
                for (StragglerMeasure measure = 0; measure < N_STRAGGLER_MEASURES; measure++) {
                        Straggler straggler = { .measure = measure, .n_ranks = n };
                        size_t found;

                        for (size_t k = 0; k < n; k++)
                                values[k] = measure_of(find_stage(&files[k], &files[0].stages[i]), measure);
                        found = straggler_find(values, n, measure, &straggler.median);
                        if (found == n)
                                continue;
                        straggler.name = files[found].name;
                        straggler.stage = find_stage(&files[found], &files[0].stages[i]);
                        straggler.value = values[found];
                        report(&straggler, userdata);
                }
        return 0;
}

static void put_value(StragglerMeasure measure, double value, Buffer *out) {
        if (measure == STRAGGLER_MEASURE_READINESS)
                buffer_printf(out, "%.0f %%", 100 * value);
        else
                buffer_printf(out, "%.4g ms", 1e3 * value);
}

/* A rank that falls behind catches up while the others wait for it: if the slow rank changes, no rank is slower than the others. */
static void put_turns(const Straggler *straggler, Buffer *out) {
        buffer_puts(out, "The slow rank changes within the run: ");
        for (size_t i = 0; i < straggler->n_in_turn; i++)
                buffer_printf(out, "%s%s", i == 0 ? "" : ", then ", straggler->in_turn[i]);
        buffer_puts(out, ". Data loading is therefore too slow on all ranks.");
}

static void put_rank(const Straggler *straggler, Buffer *out) {
        bool is_time = straggler->measure == STRAGGLER_MEASURE_TIME;

        buffer_printf(out, "%s%s is a straggler: ", straggler->stage ? "" : "Rank ", straggler->name);
        if (straggler->stage)
                buffer_printf(out, is_time ? "a task of %s takes " : "the queue of %s is ready ", straggler->stage->name);
        else
                buffer_puts(out, is_time ? "a task takes " : "data are ready ");
        put_value(straggler->measure, straggler->value, out);
        buffer_printf(out, "%s, the median of %zu ranks is ", is_time ? "" : " of the time", straggler->n_ranks);
        put_value(straggler->measure, straggler->median, out);
        buffer_putc(out, '.');
}

void straggler_put(const Straggler *straggler, Buffer *out) {
        if (straggler->name)
                put_rank(straggler, out);
        if (straggler->name && straggler->n_in_turn > 0)
                buffer_putc(out, ' ');
        if (straggler->n_in_turn > 0)
                put_turns(straggler, out);
}

void straggler_put_json(const Straggler *straggler, Json *json) {
        json_object_begin(json);
        json_put_string(json, "rank", straggler->name);
        json_put_string(json, "stage", straggler->stage ? straggler->stage->name : NULL);
        json_put_string(json, "measure", straggler_measure_names[straggler->measure]);
        json_put_double(json, "value", straggler->value);
        json_put_double(json, "median", straggler->median);
        json_put_uint(json, "ranks", straggler->n_ranks);
        json_put_array_begin(json, "in_turn");
        for (size_t i = 0; i < straggler->n_in_turn; i++)
                json_string(json, straggler->in_turn[i]);
        json_array_end(json);
        json_object_end(json);
}
