/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpi_table.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/property.h"
#include "util/hash.h"
#include "util/array.h"

#define VERSION_KEY "version"

/* Parameters that describe how a KPI is shown, which MatrixBenchmarking's analysis does not compare: unless a model
 * declares them, because they are usual words. */
static const char *const descriptions[] = {
        "help",
        "unit",
        "value",
        "format",
        "full_format",
        "ignored_for_regression",
        "divisor",
        "divisor_unit",
        "lower_better",
};

void kpi_table_rules_deinit(KpiRules *rules) {
        for (size_t i = 0; i < rules->n_entries; i++)
                free(rules->texts[i]);
        rules->n_entries = 0;
        vocabulary_names_deinit(&rules->compared);
        vocabulary_names_deinit(&rules->ignored);
        vocabulary_names_deinit(&rules->sorted_by);
}

/* --- names of the rules ---------------------------------------------------------------------------- */

static int take_fields(const FieldList *fields, Names *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < fields->n; i++)
                r = vocabulary_names_add(ret, fields->names[i]);
        return r;
}

/* Takes a list of a model, which was checked when the model was loaded. */
static int take_list(JsonText list, Names *ret) {
        JsonWalk walk = json_text_walk(list);
        char key[CONDITION_KEY_MAX + 1];
        JsonText unused, item;
        int r = 0;

        while (r == 0 && list.text && !walk.is_object && json_text_walk_next(&walk, &unused, &item)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(item, &name);
                r = buffer_error(&name);
                if (r == 0 && name.text && condition_read_key(name.text, name.n, key) == 0)
                        r = vocabulary_names_add(ret, key);
        }
        return r;
}

/* A name that the model lists, but does not declare, may be a label. */
static void note_undeclared(KpiRules *rules, const char *key) {
        rules->has_undeclared |= point_parameter_key(key) == key &&
                                 !vocabulary_declares_parameter(rules->vocabulary, key);
}

/* The names of the request take precedence over the names of the model. */
static int take_names(const Target *target, Response *response, const Vocabulary *vocabulary, const char *name,
                      FieldList *fields, Names *ret) {
        const char *text = exchange_parameter(target, name);
        int r;

        r = selection_parse_fields(response, name, text, fields);
        if (r != 0)
                return r;
        r = text ? take_fields(fields, ret) : take_list(vocabulary_model_member(vocabulary, name), ret);
        return r < 0 ? exchange_store_error(response, r) : 0;
}

static bool lists(const Names *names, JsonText key) {
        for (size_t i = 0; i < names->n; i++) {
                const char *name = point_parameter_key(names->items[i]);

                if (name && json_text_is_string(key, name, strlen(name)))
                        return true;
        }
        return false;
}

/* True if results that differ in the parameter have different histories. */
static bool divides(const KpiRules *rules, JsonText parameter) {
        scoped(buffer_deinit) Buffer name = {};

        if (lists(&rules->compared, parameter) || lists(&rules->ignored, parameter))
                return false;
        for (size_t i = 0; i < N_ELEMENTS(descriptions); i++)
                if (json_text_is_string(parameter, descriptions[i], strlen(descriptions[i])))
                        return vocabulary_declares_parameter(rules->vocabulary, descriptions[i]);
        json_text_decode(parameter, &name);
        return !name.text || !property_identifies_run(name.text);
}

/* --- ignored entries ------------------------------------------------------------------------------ */

/* Adds the condition KEY=VALUE. */
static int add_entry(Response *response, KpiRules *rules, const char *key, size_t n_key, const char *value,
                     size_t n_value) {
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
                return exchange_error(response, 400,
                                      "query parameter 'ignore_entry' must be KEY=VALUE or KEY=VALUE,VALUE, not '%s'",
                                      text);
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

/* True if the result is one of ignore_entries. */
static bool skips(const KpiRules *rules, const PointRow *row) {
        for (size_t i = 0; i < rules->n_entries; i++)
                if (point_meets(row, &rules->entries[i], 1))
                        return true;
        return false;
}

/* --- rules of a request ---------------------------------------------------------------------------- */

static int read_across(const Target *target, Response *response, KpiRules *rules) {
        const char *text = exchange_parameter(target, "across");

        if (text && strcmp(text, "hardware") != 0)
                return exchange_error(response, 400, "query parameter 'across' must be hardware, not '%s'", text);
        rules->is_across_hardware = text;
        for (size_t i = 0; i < rules->compared.n; i++)
                rules->is_across_hardware |= strcmp(rules->compared.items[i], "hardware") == 0;
        return 0;
}

int kpi_table_read_rules(const Target *target, Response *response, const Vocabulary *vocabulary, Selection *selection,
                         KpiRules *ret) {
        int r;

        ret->vocabulary = vocabulary;
        ret->compared = ret->ignored = ret->sorted_by = (Names){};
        ret->n_entries = 0;
        r = take_names(target, response, vocabulary, "compare_by", &selection->fields, &ret->compared);
        if (r == 0 && ret->compared.n == 0) {
                bool is_parameter = vocabulary_declares_parameter(vocabulary, VERSION_KEY);

                r = vocabulary_names_add(&ret->compared, is_parameter ? CONDITION_PARAMETERS VERSION_KEY : VERSION_KEY);
                if (r < 0)
                        return exchange_store_error(response, r);
        }
        ret->has_undeclared = false;
        for (size_t i = 0; i < ret->compared.n && !exchange_parameter(target, "compare_by"); i++)
                note_undeclared(ret, ret->compared.items[i]);
        if (r == 0)
                r = take_names(target, response, vocabulary, "ignore", &selection->across, &ret->ignored);
        if (r == 0 && take_list(vocabulary_model_member(vocabulary, "sort_by"), &ret->sorted_by) < 0)
                r = exchange_store_error(response, -ENOMEM);
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

/* --- table ---------------------------------------------------------------------------------------- */

struct KpiTable {
        const KpiRules *rules;
        size_t n_numbers;
        KpiSeries *series; /* owned */
        size_t n, n_max, n_results, n_text_bytes;
        char **versions; /* owned */
        size_t n_versions, n_versions_max;

        /* of the last result: results of one series are consecutive in the store */
        int64_t last_series;
        size_t last;
};

int kpi_table_new(KpiTable **ret, const KpiRules *rules, size_t n_numbers) {
        KpiTable *table = calloc(1, sizeof(*table));

        if (!table)
                return -ENOMEM;
        table->rules = rules;
        table->n_numbers = n_numbers;
        *ret = table;
        return 0;
}

KpiTable *kpi_table_free(KpiTable *table) {
        if (!table)
                return NULL;

        for (size_t i = 0; i < table->n; i++) {
                free(table->series[i].results);
                free(table->series[i].values);
                free(table->series[i].counts);
                free(table->series[i].labels);
        }
        for (size_t i = 0; i < table->n_versions; i++)
                free(table->versions[i]);
        free(table->series);
        free(table->versions);
        free(table);
        return NULL;
}

/* --- labels and versions -------------------------------------------------------------------------- */

static void put_parameters(const KpiTable *table, JsonText parameters, Json *json) {
        JsonWalk walk = json_text_walk(parameters);
        JsonText key, value;

        json_put_object_begin(json, "parameters");
        while (walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};

                /* Null counts as a missing value. */
                if (!divides(table->rules, key) || json_text_kind(value) == JSON_KIND_NULL)
                        continue;
                json_text_decode(key, &name);
                json_key(json, name.text ?: "");
                json_text_write(value, json);
        }
        json_object_end(json);
}

static void put_labels(const KpiTable *table, const PointRow *row, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "component", row->component);
        if (!table->rules->is_across_hardware)
                json_put_string(&json, "hardware", row->hardware);
        put_parameters(table, row->parameters, &json);
        json_object_end(&json);
}

/* Writes the value of one compared field, or "KEY=VALUE|KEY=VALUE" of several. Returns false if none is known. */
static bool put_version(const KpiTable *table, const PointRow *row, Buffer *out) {
        const Names *compared = &table->rules->compared;
        bool is_known = false;

        buffer_puts(out, "");
        for (size_t i = 0; i < compared->n; i++) {
                const char *text = NULL;
                JsonText value = {};

                point_find(row, compared->items[i], &value, &text);
                if (compared->n > 1)
                        buffer_printf(out, "%s%s=", i > 0 ? "|" : "", compared->items[i]);
                if (text)
                        buffer_puts(out, text);
                else if (value.text && json_text_kind(value) != JSON_KIND_NULL)
                        json_text_decode(value, out);
                else
                        continue;
                is_known = true;
        }
        return is_known;
}

_Static_assert(KPI_VERSIONS_MAX <= UINT16_MAX, "a result has the number of a version in 16 bits");

static bool has_room(const KpiTable *table, const Buffer *text) {
        return table->n_text_bytes + text->n <= KPI_TABLE_TEXT_MAX;
}

/* Keeps one copy of each version. *ret: its number; 0 if it is not known. */
static int find_version(KpiTable *table, const PointRow *row, size_t *ret) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_known = put_version(table, row, &text);
        int r = buffer_error(&text);

        *ret = 0;
        if (r < 0 || !is_known)
                return r;
        for (*ret = table->n_versions; *ret > 0; (*ret)--)
                if (strcmp(table->versions[*ret - 1], text.text) == 0)
                        return 0;
        if (table->n_versions == KPI_VERSIONS_MAX || !has_room(table, &text))
                return KPI_MANY_RUNS;

        r = ARRAY_RESERVE(table->versions, table->n_versions_max, table->n_versions + 1);
        if (r < 0)
                return r;
        table->versions[table->n_versions] = strdup(text.text);
        if (!table->versions[table->n_versions])
                return -ENOMEM;
        table->n_text_bytes += text.n;
        *ret = ++table->n_versions;
        return 0;
}

/* --- series --------------------------------------------------------------------------------------- */

static int find_series(KpiTable *table, const PointRow *row, size_t *ret) {
        scoped(buffer_deinit) Buffer labels = {};
        uint64_t hash;
        int r;

        put_labels(table, row, &labels);
        r = buffer_error(&labels);
        if (r < 0)
                return r;
        hash = hash_text(HASH_BEGIN, labels.text);
        for (*ret = 0; *ret < table->n; (*ret)++)
                if (table->series[*ret].hash == hash && strcmp(table->series[*ret].labels, labels.text) == 0)
                        return 0;
        if (table->n == KPI_SERIES_MAX || !has_room(table, &labels))
                return KPI_MANY_SERIES;

        r = ARRAY_RESERVE(table->series, table->n_max, table->n + 1);
        if (r < 0)
                return r;
        table->series[table->n] = (KpiSeries){ .labels = strdup(labels.text), .hash = hash };
        if (!table->series[table->n].labels)
                return -ENOMEM;
        table->n_text_bytes += labels.n;
        table->n++;
        return 0;
}

#define KPI_TIME_MS_MAX ((UINT64_C(1) << 48) - 1) /* in the year 10889 */

static bool has_number(const KpiTable *table, const double *numbers) {
        for (size_t i = 0; i < table->n_numbers; i++)
                if (isfinite(numbers[i]))
                        return true;
        return false;
}

/* Few results have lists: there are no counts before the first. */
static int add_counts(const KpiTable *table, KpiSeries *series, const PointRow *row) {
        size_t n = table->n_numbers, n_before = series->counts ? 0 : series->n * n;
        bool has_list = series->counts;

        for (size_t i = 0; row->lists && i < n; i++)
                has_list |= row->lists[i].n > 0;
        if (!has_list)
                return 0;
        if (ARRAY_RESERVE(series->counts, series->n_counts_max, (series->n + 1) * n) < 0)
                return -ENOMEM;
        memset(series->counts, 0, n_before * sizeof(*series->counts));
        for (size_t i = 0; i < n; i++)
                series->counts[series->n * n + i] = row->lists ? (uint32_t)row->lists[i].n : 0;
        return 0;
}

static int add_result(KpiTable *table, KpiSeries *series, const KpiResult *result, const PointRow *row) {
        size_t n_bytes = sizeof(KpiResult) + table->n_numbers * sizeof(double) + sizeof(HistoryRun);
        int r;

        if (table->n_results >= KPI_TABLE_BYTES_MAX / n_bytes)
                return KPI_MANY_RUNS;
        r = ARRAY_RESERVE(series->results, series->n_max, series->n + 1);
        if (r == 0)
                r = ARRAY_RESERVE(series->values, series->n_values_max, (series->n + 1) * table->n_numbers);
        if (r == 0)
                r = add_counts(table, series, row);
        if (r < 0)
                return r;
        series->results[series->n] = *result;
        memcpy(&series->values[series->n * table->n_numbers], row->numbers, table->n_numbers * sizeof(*row->numbers));
        series->n++;
        table->n_results++;
        return 0;
}

int kpi_table_add(KpiTable *table, const PointRow *row) {
        KpiResult result = { .time_ms = row->time_ms & KPI_TIME_MS_MAX,
                             .batch = row->batch ? hash_text(HASH_BEGIN, row->batch) : 0,
                             .result = row->row };
        KpiSeries *series;
        size_t version;
        int r;

        if (skips(table->rules, row))
                return 0;
        r = find_version(table, row, &version);
        if (r == 0 && (table->n == 0 || row->series == 0 || row->series != table->last_series)) {
                r = find_series(table, row, &table->last);
                table->last_series = row->series;
        }
        if (r != 0)
                return r;

        series = &table->series[table->last];
        series->n_failed += row->has_failed;
        result.version = (uint16_t)version;
        return row->has_failed || !has_number(table, row->numbers) ? 0
                                                                   : add_result(table, series, &result, row);
}

void kpi_table_runs_deinit(KpiRuns *runs) {
        free(runs->items);
        *runs = (KpiRuns){};
}

int kpi_table_find_runs(const KpiTable *table, const KpiSeries *series, size_t number, KpiRuns *ret) {
        int r;

        assert(number < table->n_numbers);
        ret->n = 0;
        r = ARRAY_RESERVE(ret->items, ret->n_max, series->n);
        for (size_t i = 0; r == 0 && i < series->n; i++) {
                const KpiResult *result = &series->results[i];
                double value = series->values[i * table->n_numbers + number];

                if (isfinite(value))
                        ret->items[ret->n++] = (HistoryRun){
                                .value = value,
                                .n_values = series->counts ? series->counts[i * table->n_numbers + number] : 0,
                                .time_ms = result->time_ms,
                                .batch = result->batch,
                                .result = result->result,
                                .version = result->version > 0 ? table->versions[result->version - 1] : NULL,
                        };
        }
        return r;
}

KpiSeries *kpi_table_series(KpiTable *table, size_t *ret_n) {
        *ret_n = table->n;
        return table->series;
}

static int compare_values(JsonText a, JsonText b) {
        size_t n = a.n < b.n ? a.n : b.n;
        double x, y;

        if (a.text && b.text && json_text_double(a, &x) && json_text_double(b, &y))
                return COMPARE(x, y);
        if (!a.text || !b.text)
                return (a.text != NULL) - (b.text != NULL);
        return memcmp(a.text, b.text, n) ?: COMPARE(a.n, b.n);
}

static int compare(const void *a, const void *b, void *userdata) {
        const KpiSeries *x = a, *y = b;
        const Names *names = userdata;
        JsonText left = json_text_find(json_text(x->labels, strlen(x->labels)), "parameters"),
                 right = json_text_find(json_text(y->labels, strlen(y->labels)), "parameters");

        for (size_t i = 0; i < names->n; i++) {
                int r = compare_values(json_text_find_path(left, names->items[i]),
                                       json_text_find_path(right, names->items[i]));

                if (r != 0)
                        return r;
        }
        return strcmp(x->labels, y->labels);
}

void kpi_table_sort(KpiTable *table) {
        Names names = table->rules->sorted_by;

        if (table->n > 0)
                qsort_r(table->series, table->n, sizeof(*table->series), compare, &names);
        table->last_series = -1;
}
