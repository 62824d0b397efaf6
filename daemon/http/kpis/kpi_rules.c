/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpi_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_KEY "version"

/* Parameters that identify a run, or describe how a KPI is shown: MatrixBenchmarking's settings that its analysis does not compare. */
static const char *const never_compared[] = {
        "kpi_settings_version", "lts_schema_version", "help", "unit", "@timestamp", "value", "run_id", "urls", "test_path", "ci_engine",
        "test_uuid", "exit_code", "format", "full_format", "ignored_for_regression", "divisor", "divisor_unit", "lower_better",
};

void kpi_rules_deinit(KpiRules *rules) {
        for (size_t i = 0; i < rules->n_entries; i++)
                free(rules->texts[i]);
        rules->n_entries = 0;
}

/* --- names ---------------------------------------------------------------------------------------- */

static void take_fields(const FieldList *fields, KpiNames *ret) {
        for (ret->n = 0; ret->n < fields->n; ret->n++)
                memcpy(ret->items[ret->n], fields->names[ret->n], sizeof(ret->items[0]));
}

/* Takes a list of a model, which was checked when the model was loaded. */
static void take_list(JsonText list, KpiNames *ret) {
        JsonWalk walk = json_text_walk(list);
        JsonText unused, item;

        while (list.text && !walk.is_object && ret->n < KPI_NAMES_MAX && json_text_walk_next(&walk, &unused, &item)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(item, &name);
                if (name.text && condition_read_key(name.text, name.n, ret->items[ret->n]) == 0)
                        ret->n++;
        }
}

/* A name that the model lists, but does not declare, may be a label. */
static void note_undeclared(KpiRules *rules, const char *key) {
        rules->has_undeclared |= point_parameter_key(key) == key && !vocabulary_declares_parameter(rules->vocabulary, key);
}

/* The names of the request take precedence over the names of the model. */
static int take_names(const Target *target, Response *response, const Vocabulary *vocabulary, const char *name, FieldList *fields,
                      KpiNames *ret) {
        const char *text = exchange_parameter(target, name);
        int r;

        *ret = (KpiNames){};
        r = selection_parse_fields(response, name, text, fields);
        if (r != 0)
                return r;
        if (text)
                take_fields(fields, ret);
        else
                take_list(vocabulary_model_member(vocabulary, name), ret);
        return 0;
}

static bool lists(const KpiNames *names, JsonText key) {
        for (size_t i = 0; i < names->n; i++) {
                const char *name = point_parameter_key(names->items[i]);

                if (name && json_text_is_string(key, name, strlen(name)))
                        return true;
        }
        return false;
}

bool kpi_rules_divides(const KpiRules *rules, JsonText parameter) {
        if (lists(&rules->compared, parameter) || lists(&rules->ignored, parameter))
                return false;
        for (size_t i = 0; i < N_ELEMENTS(never_compared); i++)
                if (json_text_is_string(parameter, never_compared[i], strlen(never_compared[i])))
                        return vocabulary_declares_parameter(rules->vocabulary, never_compared[i]);
        return true;
}

/* --- ignored entries ------------------------------------------------------------------------------ */

/* Adds the condition KEY=VALUE. */
static int add_entry(Response *response, KpiRules *rules, const char *key, size_t n_key, const char *value, size_t n_value) {
        bool is_plain = memchr(key, '"', n_key) || condition_key_length(key, "=<>!,") >= n_key;
        const char *quote = is_plain ? "" : "\"";
        char *text;

        if (rules->n_entries == KPI_ENTRIES_MAX)
                return exchange_error(response, 400, "more than %u values of entries to ignore", KPI_ENTRIES_MAX);
        if (asprintf(&text, "%s%.*s%s=%.*s", quote, (int)n_key, key, quote, (int)n_value, value) < 0)
                return exchange_store_error(response, -ENOMEM);
        rules->texts[rules->n_entries] = text;
        if (condition_parse(text, &rules->entries[rules->n_entries++]) == 0)
                return 0;
        return exchange_error(response, 400, "an ignored entry must be KEY=VALUE or KEY=VALUE,VALUE, not '%s'", text);
}

static int add_given(Response *response, KpiRules *rules, const char *text, FieldList *keys) {
        size_t n_key = condition_key_length(text, "=!<>");
        const char *value = text[n_key] == '=' ? text + n_key + 1 : NULL;
        int r = 0;

        if (keys->n < N_ELEMENTS(keys->names) && condition_read_key(text, n_key, keys->names[keys->n]) == 0)
                keys->n++;

        if (!value)
                return exchange_error(response, 400, "query parameter 'ignore_entry' must be KEY=VALUE or KEY=VALUE,VALUE, not '%s'", text);
        while (r == 0 && value) {
                size_t n = strcspn(value, ",");

                r = add_entry(response, rules, text, n_key, value, n);
                value = value[n] ? value + n + 1 : NULL;
        }
        return r;
}

static int add_declared(Response *response, KpiRules *rules, JsonText key, JsonText value) {
        scoped(buffer_deinit) Buffer name = {}, text = {};

        json_text_decode(key, &name);
        if (json_text_kind(value) == JSON_KIND_STRING)
                json_text_decode(value, &text);
        else
                buffer_put(&text, value.text, value.n);
        if (buffer_error(&name) < 0 || buffer_error(&text) < 0)
                return exchange_store_error(response, -ENOMEM);
        return add_entry(response, rules, name.text ?: "", name.n, text.text ?: "", text.n);
}

static int add_all_declared(Response *response, KpiRules *rules) {
        JsonWalk walk = json_text_walk(vocabulary_model_member(rules->vocabulary, "ignore_entries")), items;
        JsonText key, value, unused, item;
        int r = 0;

        while (r == 0 && walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                if (json_text_kind(value) != JSON_KIND_LIST) {
                        r = add_declared(response, rules, key, value);
                        continue;
                }
                items = json_text_walk(value);
                while (r == 0 && json_text_walk_next(&items, &unused, &item))
                        r = add_declared(response, rules, key, item);
        }
        return r;
}

bool kpi_rules_skips(const KpiRules *rules, const PointRow *row) {
        for (size_t i = 0; i < rules->n_entries; i++)
                if (point_meets(row, &rules->entries[i], 1))
                        return true;
        return false;
}

void kpi_rules_find(const KpiRules *rules, size_t i, const PointRow *row, JsonText *ret_json, const char **ret_text) {
        point_find(row, rules->compared.items[i], ret_json, ret_text);
}

/* --- all ------------------------------------------------------------------------------------------ */

static int read_across(const Target *target, Response *response, KpiRules *rules) {
        const char *text = exchange_parameter(target, "across");

        if (text && strcmp(text, "hardware") != 0)
                return exchange_error(response, 400, "query parameter 'across' must be hardware, not '%s'", text);
        rules->is_across_hardware = text;
        for (size_t i = 0; i < rules->compared.n; i++)
                rules->is_across_hardware |= strcmp(rules->compared.items[i], "hardware") == 0;
        return 0;
}

int kpi_rules_read(const Target *target, Response *response, const Vocabulary *vocabulary, Selection *selection, KpiRules *ret) {
        int r;

        ret->vocabulary = vocabulary;
        ret->n_entries = ret->sorted_by.n = 0;
        r = take_names(target, response, vocabulary, "compare_by", &selection->fields, &ret->compared);
        if (r == 0 && ret->compared.n == 0) {
                bool is_parameter = vocabulary_declares_parameter(vocabulary, VERSION_KEY);

                (void)stpcpy(ret->compared.items[0], is_parameter ? CONDITION_PARAMETERS VERSION_KEY : VERSION_KEY);
                ret->compared.n = 1;
        }
        ret->has_undeclared = false;
        for (size_t i = 0; i < ret->compared.n && !exchange_parameter(target, "compare_by"); i++)
                note_undeclared(ret, ret->compared.items[i]);
        if (r == 0)
                r = take_names(target, response, vocabulary, "ignore", &selection->across, &ret->ignored);
        take_list(vocabulary_model_member(vocabulary, "sort_by"), &ret->sorted_by);
        if (r == 0)
                r = read_across(target, response, ret);
        if (r == 0)
                r = add_all_declared(response, ret);
        for (size_t i = 0; i < ret->n_entries; i++)
                note_undeclared(ret, ret->entries[i].key);
        for (size_t i = 0; r == 0 && i < target->n_parameters; i++)
                if (strcmp(target->parameters[i].name, "ignore_entry") == 0)
                        r = add_given(response, ret, target->parameters[i].value, &selection->hold);
        return r;
}
