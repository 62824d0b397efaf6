/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_export.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/parse.h"
#include "value/value_parse.h"

typedef enum SpdlColumn {
        COLUMN_TASKS,
        COLUMN_FAILURES,
        COLUMN_TASK_TIME,
        COLUMN_TASK_CLOCK,
        COLUMN_ITEMS,
        COLUMN_RATE,
        COLUMN_PUT,
        COLUMN_GET,
        COLUMN_READINESS,
        COLUMN_QUEUE_CLOCK,
        N_COLUMNS,
} SpdlColumn;

/* A longer suffix is before its own end. */
static const struct {
        const char *suffix;
        SpdlColumn column;
} suffixes[] = {
        { "_queue_occupancy_rate", COLUMN_READINESS }, { "_queue_occupation_rate", COLUMN_READINESS },
        { "_queue_ave_put_time", COLUMN_PUT },         { "_queue_ave_get_time", COLUMN_GET },
        { "_queue_num_items", COLUMN_ITEMS },          { "_queue_qps", COLUMN_RATE },
        { "_queue_put", COLUMN_PUT },                  { "_queue_get", COLUMN_GET },
        { "_queue_timestamp", COLUMN_QUEUE_CLOCK },    { "_occupancy_rate", COLUMN_READINESS },
        { "_occupation_rate", COLUMN_READINESS },      { "_ave_put_time", COLUMN_PUT },
        { "_ave_get_time", COLUMN_GET },               { "_num_items", COLUMN_ITEMS },
        { "_num_tasks", COLUMN_TASKS },                { "_num_failures", COLUMN_FAILURES },
        { "_ave_time", COLUMN_TASK_TIME },             { "_qps", COLUMN_RATE },
        { "_put", COLUMN_PUT },                        { "_get", COLUMN_GET },
        { "_timestamp", COLUMN_TASK_CLOCK },
};

#define SHARED_TIME "event_time"
#define PREFIX      "pipeline:"

/* Lists of one stage, borrowed from the document; NULL: not in the file. */
typedef struct StageColumns {
        const Value *items[N_COLUMNS];
} StageColumns;

typedef struct ExportReader {
        SpdlTable *table;
        StageColumns *columns; /* owned; of each stage of the table */
        size_t n_allocated, n_columns;
        const Value *shared_time; /* may be NULL */
        char *error;              /* SPDL_TABLE_ERROR_MAX bytes */
} ExportReader;

static void reader_deinit(ExportReader *reader) {
        free(reader->columns);
}

__attribute__((format(printf, 2, 3))) static int refuse(const ExportReader *reader, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(reader->error, SPDL_TABLE_ERROR_MAX, format, args);
        va_end(args);
        return SPDL_TABLE_INVALID;
}

/* --- members -------------------------------------------------------------------------------------- */

/* Returns the length of the label before a known suffix, or 0. */
static size_t split_key(const char *key, SpdlColumn *ret) {
        size_t n = strlen(key);

        for (size_t i = 0; i < N_ELEMENTS(suffixes); i++) {
                size_t n_suffix = strlen(suffixes[i].suffix);

                if (n <= n_suffix || strcmp(key + n - n_suffix, suffixes[i].suffix) != 0)
                        continue;
                *ret = suffixes[i].column;
                return n - n_suffix;
        }
        return 0;
}

static int find_columns(ExportReader *reader, size_t stage, StageColumns **ret) {
        if (ARRAY_RESERVE(reader->columns, reader->n_allocated, stage + 1) < 0)
                return -ENOMEM;
        if (stage == reader->n_columns)
                reader->columns[reader->n_columns++] = (StageColumns){};
        *ret = &reader->columns[stage];
        return 0;
}

/* Members that are not of a stage are ignored: exports may have other series. */
static int take_member(ExportReader *reader, const Member *member) {
        const char *key = member->key;
        StageColumns *columns = NULL;
        SpdlColumn column;
        size_t n_label, stage;
        int r;

        if (strcmp(key, SHARED_TIME) == 0 && member->value.type == VALUE_LIST)
                reader->shared_time = &member->value;
        if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
                key += strlen(PREFIX);
        n_label = split_key(key, &column);
        r = n_label == 0 ? SPDL_TABLE_NO_STAGE : spdl_table_find_stage(reader->table, key, n_label, &stage, reader->error);
        if (r == 0)
                r = find_columns(reader, stage, &columns);
        if (r != 0)
                return r == SPDL_TABLE_NO_STAGE ? 0 : r;
        if (member->value.type != VALUE_LIST)
                return refuse(reader, "'%.80s' is %s; expected a list", member->key, value_type_text(&member->value));
        if (columns->items[column])
                return refuse(reader, "'%.80s' is a second list of these values for the same stage; give each pipeline a file of its own",
                              member->key);
        columns->items[column] = &member->value;
        return 0;
}

/* --- values --------------------------------------------------------------------------------------- */

/* Reads value i of a column, NAN if it is missing. Returns false for a value that is not a number. */
static bool get_number(const Value *list, size_t i, double *ret) {
        const Value *value = list && i < list->n_items ? &list->items[i] : NULL;

        *ret = NAN;
        if (!value || value->type == VALUE_NULL)
                return true;
        if (value->type == VALUE_STRING)
                return parse_double(value->string, ret) == 0;
        if (!value_is_number(value))
                return false;
        *ret = value_number(value);
        return isfinite(*ret);
}

/* Returns a time, NAN if it is missing or no time. */
static double get_time(const Value *list, size_t i) {
        double time_s;

        return get_number(list, i, &time_s) && time_s >= 0 ? time_s : NAN;
}

/* The tasks and the queue of a stage have lists and intervals of their own. */
typedef struct ColumnGroup {
        PipelinePart part;
        SpdlColumn begin, clock;         /* the clock is the last column */
        SpdlValue values[N_COLUMNS]; /* of the columns from `begin`; N_SPDL_VALUES: not a value of a row */
} ColumnGroup;

static const ColumnGroup task_group = { PIPELINE_TASKS, COLUMN_TASKS, COLUMN_TASK_CLOCK, { SPDL_COUNT, SPDL_FAILURES, SPDL_TIME } };
static const ColumnGroup queue_group = { PIPELINE_QUEUE, COLUMN_ITEMS, COLUMN_QUEUE_CLOCK,
                                         { SPDL_COUNT, N_SPDL_VALUES, SPDL_TIME, SPDL_GET, SPDL_OCCUPANCY } };

static SpdlRow read_row(const StageColumns *columns, const ColumnGroup *group, const Value *times, size_t stage, size_t i) {
        SpdlRow row = spdl_table_row(stage, group->part, i + 1);

        for (SpdlColumn c = group->begin; c < group->clock; c++) {
                SpdlValue value = group->values[c - group->begin];

                if (value == N_SPDL_VALUES || get_number(columns->items[c], i, &row.values[value]))
                        continue;
                row.wrong = value;
                row.wrong_type = columns->items[c]->items[i].type;
        }
        row.end_s = get_time(times, i);
        return row;
}

/* Finds the median difference of the times, NAN without two of them. */
static int find_spacing(const Value *times, double *ret) {
        scoped(freep) double *differences = NULL;
        size_t n = 0;

        *ret = NAN;
        if (!times || times->n_items < 2)
                return 0;
        differences = calloc(times->n_items, sizeof(*differences));
        if (!differences)
                return -ENOMEM;
        for (size_t i = 1; i < times->n_items; i++) {
                double difference = get_time(times, i) - get_time(times, i - 1);

                if (difference > 0)
                        differences[n++] = difference;
        }
        if (n > 0)
                *ret = statistics_median_in_place(differences, n);
        return 0;
}

/* Computes the elapsed time, or the number of items, from the other one and the rate. */
static void complete_queue(SpdlRow *row, const Value *rates, double spacing) {
        double *items = &row->values[SPDL_COUNT], *elapsed = &row->values[SPDL_ELAPSED], rate;

        *elapsed = spacing;
        if (!get_number(rates, row->at - 1, &rate))
                rate = NAN;
        if (isnan(*items))
                *items = round(rate * spacing); /* a number of items, as the rate is that of whole items */
        if (rate > 0 && *items > 0)
                *elapsed = *items / rate;
}

/* A row with a wrong value is kept, so that the error is reported. */
static bool is_complete(const SpdlRow *row) {
        const double *values = row->values;

        if (row->wrong != N_SPDL_VALUES)
                return true;
        if (isnan(values[SPDL_COUNT]) || isnan(values[SPDL_TIME]))
                return false;
        return row->part == PIPELINE_TASKS || (!isnan(values[SPDL_ELAPSED]) && !isnan(values[SPDL_GET]));
}

static bool is_repeated(const Value *times, size_t i) {
        return i > 0 && get_time(times, i - 1) == get_time(times, i);
}

static int check_lengths(const ExportReader *reader, const ColumnGroup *group, size_t stage, size_t *ret) {
        const Value *const *lists = reader->columns[stage].items;

        *ret = 0;
        for (SpdlColumn c = group->begin; c < group->clock; c++)
                if (lists[c] && lists[c]->n_items > *ret)
                        *ret = lists[c]->n_items;
        for (SpdlColumn c = group->begin; c < group->clock; c++)
                if (lists[c] && lists[c]->n_items != *ret)
                        return refuse(reader, "stage '%.80s': the lists have %zu and %zu values; each needs one for each interval",
                                      reader->table->stages[stage].label, *ret, lists[c]->n_items);
        return 0;
}

/* Adds the rows of a group. *ret: number of intervals with a row. */
static int add_group(ExportReader *reader, const ColumnGroup *group, const Value *times, size_t stage, size_t *ret) {
        const StageColumns *columns = &reader->columns[stage];
        double spacing = NAN;
        size_t n;
        int r;

        *ret = 0;
        r = check_lengths(reader, group, stage, &n);
        if (r == 0)
                r = find_spacing(times, &spacing);
        for (size_t i = 0; r == 0 && i < n; i++) {
                SpdlRow row = read_row(columns, group, times, stage, i);

                if (group->part == PIPELINE_QUEUE)
                        complete_queue(&row, columns->items[COLUMN_RATE], spacing);
                else
                        row.values[SPDL_ELAPSED] = spacing;
                if (is_repeated(times, i) || !is_complete(&row)) {
                        reader->table->n_left_out++;
                        continue;
                }
                r = spdl_table_add(reader->table, &row);
                (*ret)++;
        }
        return r;
}

/*
 * Files of SPDL 0.6 have one clock for the tasks and the queue. If the queue has all intervals, the elapsed time of the tasks is that of
 * the queue, which is more exact than the spacing of the times.
 */
static int add_stage(ExportReader *reader, size_t stage) {
        const StageColumns *columns = &reader->columns[stage];
        const Value *of_tasks = columns->items[COLUMN_TASK_CLOCK], *of_queue = columns->items[COLUMN_QUEUE_CLOCK];
        size_t begin = reader->table->n, n_tasks, n_queue;
        int r;

        r = add_group(reader, &task_group, of_tasks ?: of_queue ?: reader->shared_time, stage, &n_tasks);
        if (r == 0)
                r = add_group(reader, &queue_group, of_queue ?: of_tasks ?: reader->shared_time, stage, &n_queue);
        for (size_t i = begin; r == 0 && n_tasks == n_queue && i < begin + n_tasks; i++)
                reader->table->rows[i].values[SPDL_ELAPSED] = NAN;
        return r;
}

/* --- the file ------------------------------------------------------------------------------------- */

int spdl_export_read(SpdlTable *table, const Buffer *text, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        scoped(arena_deinit) Arena arena = {};
        scoped(reader_deinit) ExportReader reader = { .table = table, .error = ret_error };
        const Value *document, *more;
        ValueReader values;
        ValueError error;
        int r;

        r = arena_init(&arena, value_parse_arena_size(text->n));
        if (r < 0)
                return r;
        value_parse_begin(&values, text->text ?: "", text->n);
        r = value_parse_next(&values, &arena, &document, &error);
        if (r == VALUE_MALFORMED)
                return refuse(&reader, "line %u, column %u: %s", error.line, error.column, error.text);
        if (r != 0 || document->type != VALUE_OBJECT || value_parse_next(&values, &arena, &more, &error) != VALUE_END)
                return refuse(&reader, "expected one JSON object");

        for (size_t i = 0; r == 0 && i < document->n_members; i++)
                r = take_member(&reader, &document->members[i]);
        if (r == 0 && table->n_stages == 0)
                return refuse(&reader, "no member is a stage of a pipeline, such as \"0:1:decode_num_tasks\"");
        for (size_t i = 0; r == 0 && i < table->n_stages; i++)
                r = add_stage(&reader, i);
        return r;
}
