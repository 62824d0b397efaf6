/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/explain_empty.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/indicators/indicator_reader.h"

#define VALUES_MAX 12U /* that a sentence names */
#define VALUE_BYTES_MAX 40U
#define SERIES_MAX 10000U /* looked through for them */

/* The first result that meets this much. */
static int is_met(Exchange *exchange, const PointFilter *filter, bool *ret) {
        scoped(points_freep) Points *points = NULL;
        PointRow row;
        int r;

        r = points_new(&points, exchange->reader, filter);
        if (r == 0)
                r = points_next(points, &row);
        if (r != 0 && r != READER_END)
                return exchange_store_error(exchange, r);

        *ret = r == 0;
        return 0;
}

/* --- values that there are ----------------------------------------------------------------------- */

typedef struct Values {
        char items[VALUES_MAX][VALUE_BYTES_MAX + 1];
        size_t n;
        bool is_cut;
} Values;

static void values_add(Values *values, const char *text) {
        for (size_t i = 0; i < values->n; i++)
                if (strcmp(values->items[i], text) == 0)
                        return;
        if (values->n == VALUES_MAX || strlen(text) > VALUE_BYTES_MAX) {
                values->is_cut = true;
                return;
        }
        strcpy(values->items[values->n++], text);
}

static void values_write(const Values *values, Buffer *out) {
        for (size_t i = 0; i < values->n; i++)
                buffer_printf(out, "%s%s", i == 0 ? ". Available: " : ", ", values->items[i]);
        if (values->is_cut && values->n > 0)
                buffer_puts(out, ", …");
}

static int find_components(Exchange *exchange, const char *name, Values *values) {
        IndicatorRow row;
        int r;

        r = indicator_reader_list(exchange->reader);
        while (r == 0 && (r = indicator_reader_next(exchange->reader, &row)) == 0)
                if (strcmp(row.name, name) == 0)
                        values_add(values, row.component);
        return r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* Considers indexed results only: for the others every document would have to be read. */
static int find_parameters(Exchange *exchange, const char *name, const char *key, Values *values) {
        JsonText parameters;
        int r;

        r = indicator_reader_list_parameters(exchange->reader, name);
        for (size_t i = 0; r == 0 && i < SERIES_MAX && !values->is_cut; i++) {
                scoped(buffer_deinit) Buffer text = {};
                JsonText value;

                r = indicator_reader_next_parameters(exchange->reader, &parameters);
                if (r != 0)
                        break;
                value = json_text_find(parameters, key);
                if (!value.text)
                        continue;
                json_text_say(value, &text);
                if (buffer_error(&text) == 0)
                        values_add(values, text.text ?: "");
        }
        return r == 0 || r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* --- the sentence -------------------------------------------------------------------------------- */

static const char *relation_text(ConditionRelation relation) {
        static const char *const texts[] = {
                [CONDITION_EQUAL] = "=", [CONDITION_NOT_EQUAL] = "!=", [CONDITION_LESS] = "<",
                [CONDITION_LESS_EQUAL] = "<=", [CONDITION_GREATER] = ">", [CONDITION_GREATER_EQUAL] = ">=",
        };

        assert(relation < N_ELEMENTS(texts));
        return texts[relation];
}

static int explain_condition(Exchange *exchange, const char *name, const Condition *condition, Buffer *out) {
        const char *key = point_parameter_key(condition->key);
        Values values = {};
        int r = 0;

        if (key)
                r = find_parameters(exchange, name, key, &values);
        else if (strcmp(condition->key, "component") == 0)
                r = find_components(exchange, name, &values);
        if (r != 0)
                return r;

        buffer_printf(out, "no result of %s has %s%s%s", name, condition->key, relation_text(condition->relation), condition->value);
        values_write(&values, out);
        return 0;
}

static int explain_time(Exchange *exchange, const PointFilter *filter, Buffer *out) {
        uint64_t latest_ms = 0;
        IndicatorRow row;
        char text[32];
        struct tm tm;
        time_t t;
        int r;

        r = indicator_reader_list(exchange->reader);
        while (r == 0 && (r = indicator_reader_next(exchange->reader, &row)) == 0)
                if (strcmp(row.name, filter->name) == 0 && row.latest_ms > latest_ms)
                        latest_ms = row.latest_ms;
        if (r != READER_END)
                return exchange_store_error(exchange, r);

        t = (time_t)(latest_ms / 1000);
        if (!gmtime_r(&t, &tm) || strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                text[0] = '\0';
        buffer_printf(out, "no result of %s is in that time range; the latest is from %s", filter->name, text);
        return 0;
}

/* Explains a query parameter that is not a condition. */
static int explain_text(Exchange *exchange, const PointFilter *filter, const char *key, const char *value, bool *ret_is_said, Buffer *out) {
        Condition condition = { .relation = CONDITION_EQUAL, .value = value };
        PointFilter alone = { .name = filter->name, .conditions = &condition, .n_conditions = 1 };
        bool is_there = false;
        int r;

        if (!value || *ret_is_said)
                return 0;
        (void)snprintf(condition.key, sizeof(condition.key), "%s", key);
        r = is_met(exchange, &alone, &is_there);
        if (r != 0 || is_there)
                return r;

        *ret_is_said = true;
        return explain_condition(exchange, filter->name, &condition, out);
}

static int explain_conditions(Exchange *exchange, const PointFilter *filter, bool *ret_is_said, Buffer *out) {
        PointFilter alone = { .name = filter->name, .n_conditions = 1 };
        bool is_there = false;
        int r = 0;

        for (size_t i = 0; r == 0 && i < filter->n_conditions && !*ret_is_said; i++) {
                alone.conditions = &filter->conditions[i];
                r = is_met(exchange, &alone, &is_there);
                if (r == 0 && !is_there) {
                        *ret_is_said = true;
                        r = explain_condition(exchange, filter->name, alone.conditions, out);
                }
        }
        return r;
}

int explain_empty(Exchange *exchange, const PointFilter *filter, Buffer *out) {
        PointFilter timed = { .name = filter->name, .since_ms = filter->since_ms, .until_ms = filter->until_ms };
        bool is_there = false, is_said = false;
        int r;

        r = is_met(exchange, &(PointFilter){ .name = filter->name }, &is_there);
        if (r == 0 && !is_there) {
                buffer_printf(out, "no results of %s yet", filter->name);
                return 0;
        }
        if (r == 0)
                r = is_met(exchange, &timed, &is_there);
        if (r == 0 && !is_there)
                return explain_time(exchange, filter, out);
        if (r == 0)
                r = explain_text(exchange, filter, "component", filter->component, &is_said, out);
        if (r == 0)
                r = explain_text(exchange, filter, "version", filter->version, &is_said, out);
        if (r == 0)
                r = explain_conditions(exchange, filter, &is_said, out);
        if (r == 0 && !is_said)
                buffer_printf(out, "no result of %s meets all of these conditions, but some meet each of them", filter->name);
        return r;
}
