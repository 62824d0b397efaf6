/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/rank_series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"
#include "value/value_parse.h"

#define PART_MIN       3    /* intervals of a part */
#define ONE_RANK_SHARE 0.75 /* of the parts with a straggler: if one rank is the straggler of so many, the slow rank does not change */

void rank_series_deinit(RankSeries *series) {
        arena_deinit(&series->arena);
        free(series->names);
        free(series->means);
        free(series->parts);
}

static int refuse(RankSeries *series, const char *name, const char *text) {
        (void)snprintf(series->error, sizeof(series->error), "%s: %s", name, text);
        return RANK_SERIES_INVALID;
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
        PartSum all = {}, parts[RANK_SERIES_PARTS] = {};
        double number;

        for (size_t i = 0; list->type == VALUE_LIST && i < list->n_items; i++) {
                if (!get_number(&list->items[i], &number)) {
                        (void)snprintf(series->error, sizeof(series->error), "%s: rank '%.80s', interval %zu: expected a number that is "
                                       "not negative", name, member->key, i + 1);
                        return RANK_SERIES_INVALID;
                }
                if (isnan(number) || (i == 0 && list->n_items >= 3))
                        continue;
                add_number(&all, number);
                if (list->n_items >= PART_MIN * RANK_SERIES_PARTS)
                        add_number(&parts[i * RANK_SERIES_PARTS / list->n_items], number);
        }
        if (list->type != VALUE_LIST)
                return refuse(series, name, "expected a list of numbers for each rank");
        series->names[series->n] = member->key;
        series->means[series->n] = mean_of(&all);
        for (size_t i = 0; i < RANK_SERIES_PARTS; i++)
                series->parts[series->n * RANK_SERIES_PARTS + i] = mean_of(&parts[i]);
        series->n++;
        return 0;
}

int rank_series_read(RankSeries *series, const char *name, const Buffer *text) {
        const Value *document;
        ValueReader reader;
        ValueError error;
        int r;

        *series = (RankSeries){};
        r = arena_init(&series->arena, value_parse_arena_size(text->n));
        if (r < 0)
                return r;
        value_parse_begin(&reader, text->text ?: "", text->n);
        r = value_parse_next(&reader, &series->arena, &document, &error);
        if (r == VALUE_MALFORMED) {
                (void)snprintf(series->error, sizeof(series->error), "%s:%u:%u: %s", name, error.line, error.column, error.text);
                return RANK_SERIES_INVALID;
        }
        if (r == VALUE_NO_ROOM)
                return -ENOMEM;
        if (r != 0 || document->type != VALUE_OBJECT)
                return refuse(series, name, "expected one JSON object with a list for each rank");

        series->names = calloc(document->n_members + 1, sizeof(*series->names));
        series->means = calloc(document->n_members + 1, sizeof(*series->means));
        series->parts = calloc(document->n_members + 1, RANK_SERIES_PARTS * sizeof(*series->parts));
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
                values[i] = series->parts[i * RANK_SERIES_PARTS + part];
        return straggler_find(values, series->n, measure, &median);
}

size_t rank_series_find_turns(const RankSeries *series, StragglerMeasure measure, size_t ret[static RANK_SERIES_PARTS]) {
        scoped(freep) double *values = calloc(series->n + 1, sizeof(*values));
        size_t found[RANK_SERIES_PARTS], n = 0, n_slow = 0, n_most = 0;

        if (!values)
                return 0;
        for (size_t part = 0; part < RANK_SERIES_PARTS; part++)
                found[part] = find_in_part(series, measure, part, values);
        for (size_t part = 0; part < RANK_SERIES_PARTS; part++) {
                size_t n_parts = 0;

                for (size_t k = 0; k < RANK_SERIES_PARTS; k++)
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
