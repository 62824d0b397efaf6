/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/rank_series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/value_parse.h"
#include "util/parse.h"

void rank_series_deinit(RankSeries *series) {
        arena_deinit(&series->arena);
        free(series->names);
        free(series->means);
}

static int refuse(RankSeries *series, const char *name, const char *text) {
        (void)snprintf(series->error, sizeof(series->error), "%s: %s", name, text);
        return RANK_SERIES_INVALID;
}

/* Returns false for what is neither missing nor a number of at least 0. */
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

static int take_rank(RankSeries *series, const char *name, const Member *member) {
        const Value *list = &member->value;
        double sum = 0, number;
        size_t n = 0;

        for (size_t i = 0; list->type == VALUE_LIST && i < list->n_items; i++) {
                if (!get_number(&list->items[i], &number)) {
                        (void)snprintf(series->error, sizeof(series->error), "%s: rank '%.80s', interval %zu: expected a number that is "
                                       "not negative", name, member->key, i + 1);
                        return RANK_SERIES_INVALID;
                }
                if (isnan(number) || (i == 0 && list->n_items >= 3))
                        continue;
                sum += number;
                n++;
        }
        if (list->type != VALUE_LIST)
                return refuse(series, name, "expected a list of numbers for each rank");
        series->names[series->n] = member->key;
        series->means[series->n++] = n > 0 ? sum / (double)n : NAN;
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
        if (r != 0 || document->type != VALUE_OBJECT)
                return refuse(series, name, "expected one JSON object with a list for each rank");

        series->names = calloc(document->n_members + 1, sizeof(*series->names));
        series->means = calloc(document->n_members + 1, sizeof(*series->means));
        if (!series->names || !series->means)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < document->n_members; i++)
                if (strcmp(document->members[i].key, "event_time") != 0)
                        r = take_rank(series, name, &document->members[i]);
        return r;
}
