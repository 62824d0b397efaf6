/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_history.h"

#include <errno.h>
#include <string.h>

#include "client/cli/command.h"
#include "document/condition.h"

/* In full: a condition does not accept the first digits of a digest. */
static void put_text(const Value *value, Buffer *out) {
        if (value->type == VALUE_STRING)
                buffer_puts(out, value->string);
        else if (value->type != VALUE_NULL)
                value_write_json(value, &(Json){ .out = out });
}

static void put_condition(const char *before, const char *key, const Value *value, Buffer *path) {
        scoped(buffer_deinit) Buffer condition = {};

        buffer_printf(&condition, "%s%s=", before, key);
        put_text(value, &condition);
        api_query_put_path(path, "where", condition.text);
}

/* Conditions that select this KPI alone. */
static void put_conditions(const Value *labels, Buffer *path) {
        const Value *parameters = value_get(labels, "parameters"), *hardware = value_get_given(labels, "hardware");

        for (size_t i = 0; i < answer_n_members(parameters); i++)
                put_condition(CONDITION_PARAMETERS, parameters->members[i].key, &parameters->members[i].value, path);
        if (hardware)
                put_condition("", "hardware", hardware, path);
}

static void put_path(const Value *kpi, const IndicatorModel *model, Buffer *path) {
        const char *name = answer_text(kpi, "kpi"), *point = strrchr(name, '.') ?: name;
        const char *result = *point ? point + 1 : point;
        scoped(buffer_deinit) Buffer indicator = {}, stats = {}, keys = {};

        buffer_printf(&indicator, "%.*s", (int)(point - name), name);
        buffer_printf(&stats, "median:%s,min:%s,max:%s", result, result, result);
        for (size_t i = 0; model && model->compare_by && i < model->compare_by->n_items; i++)
                buffer_printf(&keys, "%s%s", i > 0 ? "," : "", model->compare_by->items[i].string);
        api_query_begin_path(path, indicator.text ?: "", "query");
        api_query_put_path(path, "limit", "1000");
        api_query_put_path(path, "stat", stats.text);
        api_query_put_path(path, "group_by", keys.text ?: "version");
        api_query_put_path(path, "component", answer_text(value_get(kpi, "labels"), "component"));
        put_conditions(value_get(kpi, "labels"), path);
}

/* Writes the key as verdicts have it: the value of one field, or "A=1|B=2". */
static void put_version(const Value *key, Json *json) {
        scoped(buffer_deinit) Buffer text = {};

        for (size_t i = 0; i < answer_n_members(key); i++) {
                if (key->n_members > 1)
                        buffer_printf(&text, "%s%s=", i > 0 ? "|" : "", key->members[i].key);
                put_text(&key->members[i].value, &text);
        }
        json_put_string(json, "version", text.text);
}

static void put_groups(const Value *groups, Json *json) {
        static const char *const stats[] = { "median", "min", "max" };

        json_array_begin(json);
        for (size_t i = 0; i < answer_length(groups); i++) {
                const Value *group = &groups->items[i], *values = value_get(group, "values");

                json_object_begin(json);
                put_version(value_get(group, "key"), json);
                json_put_double(json, "n", answer_number_or_zero(group, "n"));
                json_put_double(json, "first_ms", answer_number_or_zero(group, "first_ms"));
                for (size_t k = 0; k < N_ELEMENTS(stats) && k < answer_n_members(values); k++)
                        value_put_json(&values->members[k].value, stats[k], json);
                json_object_end(json);
        }
        json_array_end(json);
}

int results_history_write(const ResultsCheck *check, const IndicatorModel *model, const GlobalOptions *global,
                          Json *json) {
        scoped(api_query_deinit) ApiQuery query = {};
        size_t n = check->is_judged ? check->tally.n_all : 0;
        bool is_open = n > 0 && api_query_init(&query, global) == EXIT_DONE;

        json_array_begin(json);
        for (size_t i = 0; i < n; i++) {
                scoped(buffer_deinit) Buffer path = {}, unused = {};
                const Value *answer = NULL;

                put_path(&check->kpis[i], model, &path);
                if (buffer_error(&path) < 0)
                        return -ENOMEM;
                if (is_open && i < RESULTS_HISTORIES_MAX)
                        answer = api_query_read(&query, path.text, &unused);
                if (answer)
                        put_groups(value_get(answer, "groups"), json);
                else
                        json_null(json);
        }
        json_array_end(json);
        return 0;
}
