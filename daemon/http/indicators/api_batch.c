/* SPDX-License-Identifier: Apache-2.0 */
/* Answers with the statistics of a batch, for each column of its runs. Failed runs are counted, but are not part of the
 * statistics. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "http/indicators/indicators_subject.h"
#include "http/indicators/vocabulary.h"
#include "http/selection/grouping.h"
#include "store/indicators/points.h"
#include "store/indicators/result_reader.h"
#include "util/parse.h"

#define COLUMNS_MAX 1024U
#define BATCH_ID_BYTES 16U

typedef struct Column {
        char *name; /* owned */
        Sequence values;
} Column;

typedef struct BatchTable {
        Column *columns; /* owned */
        size_t n_columns, n_values;
        uint64_t n, n_failed, first_ms, last_ms;
        bool is_cut;
        char *name, *component, *version; /* owned; of the first run */
        Buffer failed; /* owned: JSON, without the brackets */
} BatchTable;

static void batch_deinit(BatchTable *batch) {
        for (size_t i = 0; i < batch->n_columns; i++) {
                free(batch->columns[i].name);
                free(batch->columns[i].values.values);
        }
        free(batch->columns);
        free(batch->name);
        free(batch->component);
        free(batch->version);
        buffer_deinit(&batch->failed);
}

/* --- columns ------------------------------------------------------------------------------------- */

static int find_column(BatchTable *batch, const char *name, Column **ret) {
        for (size_t i = 0; i < batch->n_columns; i++)
                if (strcmp(batch->columns[i].name, name) == 0) {
                        *ret = &batch->columns[i];
                        return 0;
                }

        if (batch->n_columns == COLUMNS_MAX) {
                batch->is_cut = true;
                *ret = NULL;
                return 0;
        }
        if (!batch->columns)
                batch->columns = calloc(COLUMNS_MAX, sizeof(*batch->columns));
        if (!batch->columns)
                return -ENOMEM;

        *ret = &batch->columns[batch->n_columns];
        (*ret)->name = strdup(name);
        if (!(*ret)->name)
                return -ENOMEM;
        batch->n_columns++;
        return 0;
}

static int add_value(BatchTable *batch, const char *name, double value) {
        Column *column;
        int r;

        r = find_column(batch, name, &column);
        if (r < 0 || !column)
                return r;
        if (batch->n_values == VALUES_MAX) {
                batch->is_cut = true;
                return 0;
        }

        batch->n_values++;
        return grouping_sequence_add(&column->values, value);
}

/* Adds a value to the column of each member of the object that is a number, and that the model does not derive. */
static int add_numbers(BatchTable *batch, JsonText object, const DerivedModel *model) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, value;
        int r = 0;

        while (r == 0 && walk.is_object && json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};
                double number;

                if (!json_text_double(value, &number))
                        continue;
                json_text_decode(key, &name);
                r = buffer_error(&name);
                if (r == 0 && !(model && derived_model_find(model, name.text ?: "")))
                        r = add_value(batch, name.text ? name.text : "", number);
        }
        return r;
}

static int keep_text(char **to, const char *text) {
        if (*to || !text)
                return 0;

        *to = strdup(text);
        return *to ? 0 : -ENOMEM;
}

/* Adds the numbers of a run and those that the model derives from them. */
static int add_results(BatchTable *batch, const BatchRow *row, const DerivedModels *models) {
        const DerivedModel *model = derived_models_find(models, row->component);
        char unused[EXPRESSION_TEXT_MAX];
        int r;

        r = add_numbers(batch, json_text_find(row->document, "@result"), model);
        for (size_t i = 0; r == 0 && model && i < model->n; i++) {
                double value = 0;

                r = expression_evaluate(&model->items[i]->expression, row->document, &value, unused);
                r = r == 0 ? add_value(batch, model->items[i]->name, value) : r < 0 ? r : 0;
        }
        return r;
}

static int add_run(BatchTable *batch, const BatchRow *row, const DerivedModels *derived) {
        int r;

        r = keep_text(&batch->name, row->name);
        if (r == 0)
                r = keep_text(&batch->component, row->component);
        if (r == 0)
                r = keep_text(&batch->version, row->version);
        if (r < 0)
                return r;

        if (batch->n + batch->n_failed == 0 || row->time_ms < batch->first_ms)
                batch->first_ms = row->time_ms;
        if (row->time_ms > batch->last_ms)
                batch->last_ms = row->time_ms;
        if (row->exit_status != 0) {
                buffer_printf(&batch->failed, "%s{\"index\":%" PRIu64 ",\"exit_status\":%" PRId64 "}",
                              batch->n_failed ? "," : "", row->batch_index, row->exit_status);
                batch->n_failed++;
                return buffer_error(&batch->failed);
        }

        batch->n++;
        r = add_results(batch, row, derived);
        if (r == 0 && row->has_score)
                r = add_value(batch, "overall_score", row->score);
        return r == 0 ? add_numbers(batch, json_text_find(row->run, "rusage"), NULL) : r;
}

/* --- the answer ---------------------------------------------------------------------------------- */

static void write_statistics(Json *json, Column *column) {
        Statistics statistics;

        statistics_of(column->values.values, column->values.n, &statistics);
        json_put_object_begin(json, column->name);
        json_put_uint(json, "n", statistics.n);
        for (const AggregateField *field = aggregate_fields + 1; field < aggregate_fields + N_AGGREGATE_FIELDS; field++)
                json_put_double(json, field->name, *(const double *)((const char *)&statistics + field->offset));
        json_object_end(json);
}

/* Units of getrusage(2) on Linux. */
static const char *unit_of_rusage(const char *key) {
        static const char *const units[][2] = { { "ru_utime", "s" }, { "ru_stime", "s" }, { "ru_maxrss", "KiB" } };

        for (size_t i = 0; i < N_ELEMENTS(units); i++)
                if (strcmp(key, units[i][0]) == 0)
                        return units[i][1];
        return NULL;
}

/* Writes the units that models declare, and those of the kernel. */
static void write_units(Json *json, const BatchTable *batch, const Vocabulary *vocabulary) {
        json_put_object_begin(json, "units");
        for (size_t i = 0; i < batch->n_columns; i++) {
                const char *name = batch->columns[i].name;
                scoped(buffer_deinit) Buffer unit = {};

                if (vocabulary_say(vocabulary, name, "unit", &unit) != 0 && unit_of_rusage(name))
                        buffer_puts(&unit, unit_of_rusage(name));
                if (unit.n > 0 && buffer_error(&unit) == 0)
                        json_put_string(json, name, unit.text);
        }
        json_object_end(json);
}

static void write_batch(const Target *target, Response *response, BatchTable *batch, const Vocabulary *vocabulary) {
        Json json = { .out = response->body };

        json_object_begin(&json);
        json_put_string(&json, "id", target->argument);
        json_put_string(&json, "name", batch->name);
        json_put_string(&json, "component", batch->component);
        json_put_string(&json, "version", batch->version);
        json_put_uint(&json, "n", batch->n);
        json_put_uint(&json, "n_failed", batch->n_failed);
        json_put_uint(&json, "first_ms", batch->first_ms);
        json_put_uint(&json, "last_ms", batch->last_ms);
        json_put_object_begin(&json, "statistics");
        for (size_t i = 0; i < batch->n_columns; i++)
                write_statistics(&json, &batch->columns[i]);
        json_object_end(&json);
        write_units(&json, batch, vocabulary);
        json_put_array_begin(&json, "failed");
        if (batch->n_failed > 0)
                json_raw(&json, batch->failed.text);
        json_array_end(&json);
        json_put_bool(&json, "truncated", batch->is_cut);
        json_object_end(&json);
}

/* The first run names the indicator of all. */
static int read_names(const Target *target, const Sources *sources, Response *response,
                      const uint8_t id[static BATCH_ID_BYTES], BatchTable *batch) {
        BatchRow row;
        int r;

        r = result_reader_list_batch(sources->reader, id);
        if (r == 0)
                r = result_reader_next_of_batch(sources->reader, &row);
        if (r == READER_END)
                return exchange_error(response, 404, "no batch '%s'", target->argument);
        if (r == 0)
                r = keep_text(&batch->name, row.name);
        if (r == 0)
                r = keep_text(&batch->component, row.component);
        return r == 0 ? 0 : exchange_store_error(response, r);
}

void indicators_subject_batch(const Target *target, const Sources *sources, Response *response) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
        scoped(batch_deinit) BatchTable batch = {};
        uint8_t id[BATCH_ID_BYTES];
        BatchRow row;
        int r;

        if (parse_hex(target->argument, id, sizeof(id)) != 0) {
                (void)exchange_error(response, 400, "batch id must be %u hexadecimal digits (0-9 a-f)",
                                     2 * BATCH_ID_BYTES);
                return;
        }

        if (read_names(target, sources, response, id, &batch) > 0 ||
            vocabulary_new_known(&vocabulary, target, sources, response,
                                 &(PointFilter){ .name = batch.name, .component = batch.component }) > 0)
                return;

        r = result_reader_list_batch(sources->reader, id);
        while (r == 0 && (r = result_reader_next_of_batch(sources->reader, &row)) == 0)
                r = add_run(&batch, &row, vocabulary_derived(vocabulary));
        if (r != READER_END)
                (void)exchange_store_error(response, r);
        else
                write_batch(target, response, &batch, vocabulary);
}
