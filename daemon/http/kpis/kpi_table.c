/* SPDX-License-Identifier: Apache-2.0 */
#include "http/kpis/kpi_table.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/array.h"

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
                if (!kpi_rules_divides(table->rules, key) || json_text_kind(value) == JSON_KIND_NULL)
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
        const KpiNames *compared = &table->rules->compared;
        bool is_known = false;

        buffer_puts(out, "");
        for (size_t i = 0; i < compared->n; i++) {
                const char *text = NULL;
                JsonText value = {};

                kpi_rules_find(table->rules, i, row, &value, &text);
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

static int add_result(KpiTable *table, KpiSeries *series, const KpiResult *result, const double *numbers) {
        size_t n_bytes = sizeof(KpiResult) + table->n_numbers * sizeof(double) + sizeof(HistoryRun);
        int r;

        if (table->n_results >= KPI_TABLE_BYTES_MAX / n_bytes)
                return KPI_MANY_RUNS;
        r = ARRAY_RESERVE(series->results, series->n_max, series->n + 1);
        if (r == 0)
                r = ARRAY_RESERVE(series->values, series->n_values_max, (series->n + 1) * table->n_numbers);
        if (r < 0)
                return r;
        series->results[series->n] = *result;
        memcpy(&series->values[series->n * table->n_numbers], numbers, table->n_numbers * sizeof(*numbers));
        series->n++;
        table->n_results++;
        return 0;
}

int kpi_table_add(KpiTable *table, const PointRow *row) {
        KpiResult result = { .time_ms = row->time_ms & KPI_TIME_MS_MAX, .batch = row->batch ? hash_text(HASH_BEGIN, row->batch) : 0,
                             .result = row->row };
        KpiSeries *series;
        size_t version;
        int r;

        if (kpi_rules_skips(table->rules, row))
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
        return row->has_failed || !has_number(table, row->numbers) ? 0 : add_result(table, series, &result, row->numbers);
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
                                .value = value, .time_ms = result->time_ms, .batch = result->batch, .result = result->result,
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
                return (x > y) - (x < y);
        if (!a.text || !b.text)
                return (a.text != NULL) - (b.text != NULL);
        return memcmp(a.text, b.text, n) ?: (a.n > b.n) - (a.n < b.n);
}

static int compare(const void *a, const void *b, void *userdata) {
        const KpiSeries *x = a, *y = b;
        const KpiNames *names = userdata;
        JsonText left = json_text_find(json_text(x->labels, strlen(x->labels)), "parameters"),
                 right = json_text_find(json_text(y->labels, strlen(y->labels)), "parameters");

        for (size_t i = 0; i < names->n; i++) {
                int r = compare_values(json_text_find_path(left, names->items[i]), json_text_find_path(right, names->items[i]));

                if (r != 0)
                        return r;
        }
        return strcmp(x->labels, y->labels);
}

void kpi_table_sort(KpiTable *table) {
        KpiNames names = table->rules->sorted_by;

        if (table->n > 0)
                qsort_r(table->series, table->n, sizeof(*table->series), compare, &names);
        table->last_series = -1;
}
