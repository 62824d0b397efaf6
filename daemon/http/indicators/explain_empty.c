/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/explain_empty.h"

#include <assert.h>
#include <string.h>

#include "http/selection/result_groups.h"
#include "store/indicators/indicator_reader.h"
#include "util/clock.h"

#define NAMED_VALUES_MAX 12U /* values listed in a message */
#define VALUE_BYTES_MAX 40U
#define SERIES_MAX 10000U /* series searched for these values */

/* --- existing values ------------------------------------------------------------------------------ */

typedef struct Values {
        char items[NAMED_VALUES_MAX][VALUE_BYTES_MAX + 1];
        size_t n;
        bool is_cut;
} Values;

static void values_add(Values *values, const char *text) {
        for (size_t i = 0; i < values->n; i++)
                if (strcmp(values->items[i], text) == 0)
                        return;
        if (values->n == NAMED_VALUES_MAX || strlen(text) > VALUE_BYTES_MAX) {
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

/* Considers indexed results only: other results would require reading every document. */
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
                json_text_decode(value, &text);
                if (buffer_error(&text) == 0)
                        values_add(values, text.text ?: "");
        }
        return r == 0 || r == READER_END ? 0 : exchange_store_error(exchange, r);
}

/* --- the message ---------------------------------------------------------------------------------- */

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
        char text[CLOCK_TEXT_MAX];
        uint64_t latest_ms = 0;
        IndicatorRow row;
        int r;

        r = indicator_reader_list(exchange->reader);
        while (r == 0 && (r = indicator_reader_next(exchange->reader, &row)) == 0)
                if (strcmp(row.name, filter->name) == 0 && row.latest_ms > latest_ms)
                        latest_ms = row.latest_ms;
        if (r != READER_END)
                return exchange_store_error(exchange, r);

        clock_format_utc(latest_ms * NS_PER_MS, text);
        buffer_printf(out, "no result of %s is in that time range; the latest is from %.10s %.8s UTC", filter->name, text, text + 11);
        return 0;
}

/* Explains the first condition that no result meets. The query parameters component and version count as conditions. */
static int explain_conditions(Exchange *exchange, const PointFilter *filter, Buffer *out) {
        const Condition fields[] = {
                { .key = "component", .relation = CONDITION_EQUAL, .value = filter->component },
                { .key = "version", .relation = CONDITION_EQUAL, .value = filter->version },
        };
        const size_t n_fields = N_ELEMENTS(fields);

        for (size_t i = 0; i < n_fields + filter->n_conditions; i++) {
                const Condition *condition = i < n_fields ? &fields[i] : &filter->conditions[i - n_fields];
                bool is_there = true;
                int r = 0;

                if (condition->value)
                        r = result_groups_any(exchange, &(PointFilter){ .name = filter->name, .conditions = condition, .n_conditions = 1 },
                                              &is_there);
                if (r != 0)
                        return r;
                if (!is_there)
                        return explain_condition(exchange, filter->name, condition, out);
        }

        buffer_printf(out, "no result of %s meets all of these conditions, but some meet each of them", filter->name);
        return 0;
}

int explain_empty(Exchange *exchange, const PointFilter *filter, Buffer *out) {
        PointFilter timed = { .name = filter->name, .since_ms = filter->since_ms, .until_ms = filter->until_ms };
        bool is_there = false;
        int r;

        r = result_groups_any(exchange, &(PointFilter){ .name = filter->name }, &is_there);
        if (r == 0 && !is_there) {
                buffer_printf(out, "no results of %s yet", filter->name);
                return 0;
        }
        if (r == 0)
                r = result_groups_any(exchange, &timed, &is_there);
        if (r != 0)
                return r;
        return is_there ? explain_conditions(exchange, filter, out) : explain_time(exchange, filter, out);
}
