/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/straggler.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "text/text.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define READINESS_LESS 0.2 /* than the median */
#define TIME_RATIO     2.0 /* to the median: the rule of SPDL's documentation */
#define SPREADS_MIN    4.0 /* median absolute deviations from the median */
#define PART_MIN       3    /* intervals of a part */
#define ONE_RANK_SHARE                                                                                                 \
        0.75 /* of the parts with a straggler: if one rank is the straggler of so many, the slow rank does not change  \
              */

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

/* A stage in a verdict. */
typedef struct RankStage {
        const char *name;
        int64_t pipeline, order;
        const Value *value;
} RankStage;

/* Finds the next stage of a rank, by the number of its verdict and of the stage there. */
static bool next_stage(const RankFile *file, size_t *verdict, size_t *at, RankStage *ret) {
        for (; file->verdicts && *verdict < file->verdicts->n_items; ++*verdict, *at = 0) {
                const Value *from = &file->verdicts->items[*verdict], *stages = value_get(from, "stages");

                if (!stages || stages->type != VALUE_LIST || *at >= stages->n_items)
                        continue;
                *ret = (RankStage){ .value = &stages->items[(*at)++] };
                ret->name = value_get_string(ret->value, "name") ?: "";
                (void)value_get_int(from, "pipeline", &ret->pipeline);
                (void)value_get_int(ret->value, "order", &ret->order);
                return true;
        }
        return false;
}

static double measure_of(const RankFile *file, const RankStage *wanted, StragglerMeasure measure) {
        size_t verdict = 0, at = 0;
        RankStage stage;
        double v;

        while (next_stage(file, &verdict, &at, &stage))
                if (stage.pipeline == wanted->pipeline && stage.order == wanted->order &&
                    strcmp(stage.name, wanted->name) == 0)
                        return value_get_double(stage.value, measure == STRAGGLER_MEASURE_TIME ? "mean_time_seconds"
                                                                                               : "readiness", &v) ? v
                                                                                                                  : NAN;
        return NAN;
}

int straggler_find_all(const RankFile *files, size_t n, void (*report)(const Straggler *straggler, void *userdata),
                       void *userdata) {
        scoped(freep) double *values = calloc(n + 1, sizeof(*values));
        size_t verdict = 0, at = 0;
        RankStage stage;

        if (!values)
                return -ENOMEM;
        while (n > 0 && next_stage(&files[0], &verdict, &at, &stage))
                for (StragglerMeasure measure = 0; measure < N_STRAGGLER_MEASURES; measure++) {
                        Straggler straggler = { .measure = measure, .n_ranks = n, .stage = stage.name };
                        size_t found;

                        for (size_t k = 0; k < n; k++)
                                values[k] = measure_of(&files[k], &stage, measure);
                        found = straggler_find(values, n, measure, &straggler.median);
                        if (found == n)
                                continue;
                        straggler.name = files[found].name;
                        straggler.value = values[found];
                        report(&straggler, userdata);
                }
        return 0;
}

static void put_value(StragglerMeasure measure, double value, Buffer *out) {
        char text[TEXT_MAX];

        text_seconds_brief(value, text);
        if (measure == STRAGGLER_MEASURE_READINESS)
                buffer_printf(out, "%.0f %%", 100 * value);
        else
                buffer_puts(out, text);
}

/* A rank that falls behind catches up while the others wait for it: if the slow rank changes, no rank is slower than
 * the others. */
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
                buffer_printf(out, is_time ? "a task of %s takes " : "the queue of %s is ready ", straggler->stage);
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
        json_put_string(json, "stage", straggler->stage);
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

/* --- one measure of all ranks ----------------------------------------------------------------- */

void straggler_series_deinit(RankSeries *series) {
        arena_deinit(&series->arena);
        free(series->names);
        free(series->means);
        free(series->parts);
}

static int refuse(RankSeries *series, const char *name, const char *text) {
        (void)snprintf(series->error, sizeof(series->error), "%s: %s", name, text);
        return STRAGGLER_SERIES_INVALID;
}

/* Returns false for a value that is neither missing nor a number of at least 0. */
static bool get_number(const Value *value, double *ret) {
        *ret = NAN;
        if (value->type == VALUE_NULL || (value->type == VALUE_STRING && !*value->string))
                return true;
        if (value->type == VALUE_STRING)
                return parse_double(value->string, ret) == 0 && *ret >= 0;
        if (!value_is_number(value))
                return false;
        *ret = value_number(value);
        return *ret >= 0;
}

typedef struct PartSum {
        double sum;
        size_t n;
} PartSum;

static void add_number(PartSum *sum, double number) {
        sum->sum += number;
        sum->n++;
}

static double mean_of(const PartSum *sum) {
        return sum->n > 0 ? sum->sum / (double)sum->n : NAN;
}

static int take_rank(RankSeries *series, const char *name, const Member *member) {
        const Value *list = &member->value;
        PartSum all = {}, parts[STRAGGLER_SERIES_PARTS] = {};
        double number;

        for (size_t i = 0; list->type == VALUE_LIST && i < list->n_items; i++) {
                if (!get_number(&list->items[i], &number)) {
                        (void)snprintf(series->error, sizeof(series->error),
                                       "%s: rank '%.80s', interval %zu: expected a number that is not negative",
                                       name, member->key, i + 1);
                        return STRAGGLER_SERIES_INVALID;
                }
                if (isnan(number) || (i == 0 && list->n_items >= 3))
                        continue;
                add_number(&all, number);
                if (list->n_items >= PART_MIN * STRAGGLER_SERIES_PARTS)
                        add_number(&parts[i * STRAGGLER_SERIES_PARTS / list->n_items], number);
        }
        if (list->type != VALUE_LIST)
                return refuse(series, name, "expected a list of numbers for each rank");
        series->names[series->n] = member->key;
        series->means[series->n] = mean_of(&all);
        for (size_t i = 0; i < STRAGGLER_SERIES_PARTS; i++)
                series->parts[series->n * STRAGGLER_SERIES_PARTS + i] = mean_of(&parts[i]);
        series->n++;
        return 0;
}

int straggler_series_read(RankSeries *series, const char *name, const Buffer *text) {
        const Value *document;
        ValueError error;
        int r;

        *series = (RankSeries){};
        r = value_parse_only(text->text, text->n, &series->arena, &document, &error);
        if (r < 0)
                return r;
        if (r == VALUE_MALFORMED) {
                (void)snprintf(series->error, sizeof(series->error), "%s:%u:%u: %s", name, error.line, error.column,
                               error.text);
                return STRAGGLER_SERIES_INVALID;
        }
        if (r != 0 || document->type != VALUE_OBJECT)
                return refuse(series, name, "expected one JSON object with a list for each rank");

        series->names = calloc(document->n_members + 1, sizeof(*series->names));
        series->means = calloc(document->n_members + 1, sizeof(*series->means));
        series->parts = calloc(document->n_members + 1, STRAGGLER_SERIES_PARTS * sizeof(*series->parts));
        if (!series->names || !series->means || !series->parts)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < document->n_members; i++)
                if (strcmp(document->members[i].key, "event_time") != 0)
                        r = take_rank(series, name, &document->members[i]);
        return r;
}

/* Finds the straggler of a part. Returns n without one. */
static size_t find_in_part(const RankSeries *series, StragglerMeasure measure, size_t part, double *values) {
        double median;

        for (size_t i = 0; i < series->n; i++)
                values[i] = series->parts[i * STRAGGLER_SERIES_PARTS + part];
        return straggler_find(values, series->n, measure, &median);
}

size_t straggler_series_find_turns(const RankSeries *series, StragglerMeasure measure,
                                   size_t ret[static STRAGGLER_SERIES_PARTS]) {
        scoped(freep) double *values = calloc(series->n + 1, sizeof(*values));
        size_t found[STRAGGLER_SERIES_PARTS], n = 0, n_slow = 0, n_most = 0;

        if (!values)
                return 0;
        for (size_t part = 0; part < STRAGGLER_SERIES_PARTS; part++)
                found[part] = find_in_part(series, measure, part, values);
        for (size_t part = 0; part < STRAGGLER_SERIES_PARTS; part++) {
                size_t n_parts = 0;

                for (size_t k = 0; k < STRAGGLER_SERIES_PARTS; k++)
                        n_parts += found[k] == found[part];
                if (found[part] == series->n)
                        continue;
                n_slow++;
                n_most = n_parts > n_most ? n_parts : n_most;
                if (n_parts > 1 && (n == 0 || ret[n - 1] != found[part]))
                        ret[n++] = found[part];
        }
        return n > 1 && (double)n_most < ONE_RANK_SHARE * (double)n_slow ? n : 0;
}
