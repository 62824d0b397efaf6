/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/spdl_export.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/value_parse.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/parse.h"
#include "util/statistics.h"

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

typedef struct StageRow {
        PipelineStage stage;
        const Value *columns[N_COLUMNS]; /* borrowed from the document; NULL: not in the file */
} StageRow;

typedef struct StageRows {
        StageRow *items; /* owned */
        size_t n;
        const Value *shared_time; /* borrowed; may be NULL */
} StageRows;

static void rows_deinit(StageRows *rows) {
        free(rows->items);
}

void spdl_export_deinit(SpdlExport *export) {
        free(export->stages);
        *export = (SpdlExport){};
}

int spdl_export_refuse(SpdlExport *export, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(export->error, sizeof(export->error), format, args);
        va_end(args);
        return SPDL_EXPORT_INVALID;
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

static int find_row(StageRows *rows, const PipelineStage *stage, StageRow **ret) {
        for (size_t i = rows->n; i-- > 0;)
                if (pipeline_stage_compare(&rows->items[i].stage, stage) == 0) {
                        *ret = &rows->items[i];
                        return 0;
                }
        if (ARRAY_EXTEND(rows->items, rows->n) < 0)
                return -ENOMEM;
        *ret = &rows->items[rows->n++];
        **ret = (StageRow){ .stage = *stage };
        return 0;
}

/* Members that are not of a stage are ignored: exports may have other series. */
static int take_member(SpdlExport *export, StageRows *rows, const char *name, const Member *member) {
        const char *key = member->key;
        PipelineStage stage;
        SpdlColumn column;
        size_t n_label;
        StageRow *row;
        int r;

        if (strcmp(key, SHARED_TIME) == 0 && member->value.type == VALUE_LIST)
                rows->shared_time = &member->value;
        if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
                key += strlen(PREFIX);
        n_label = split_key(key, &column);
        if (n_label == 0 || !pipeline_stage_parse(&stage, key, n_label))
                return 0;
        if (member->value.type != VALUE_LIST)
                return spdl_export_refuse(export, "%s: '%.80s' is %s; expected a list", name, member->key, value_type_text(&member->value));

        r = find_row(rows, &stage, &row);
        if (r < 0)
                return r;
        if (rows->n > PIPELINE_STAGES_MAX)
                return spdl_export_refuse(export, "%s: more than %u stages", name, PIPELINE_STAGES_MAX);
        if (row->columns[column])
                return spdl_export_refuse(export, "%s: '%.80s' is a second list of these values for the same stage; give each pipeline a "
                                          "file of its own", name, member->key);
        row->columns[column] = &member->value;
        return 0;
}

/* --- values --------------------------------------------------------------------------------------- */

/* Reads value i of a column, NAN if it is missing. Returns false for a value that is not a number, or negative. */
static bool get_number(const Value *list, size_t i, double *ret) {
        const Value *value = list && i < list->n_items ? &list->items[i] : NULL;

        *ret = NAN;
        if (!value || value->type == VALUE_NULL)
                return true;
        if (value->type == VALUE_STRING)
                return parse_double(value->string, ret) == 0 && *ret >= 0;
        if (!value_is_number(value))
                return false;
        *ret = value_number(value);
        return isfinite(*ret) && *ret >= 0;
}

/* Columns of tasks and of queues have intervals of their own. */
typedef struct SpdlGroup {
        SpdlColumn begin, clock; /* the clock is the last column */
} SpdlGroup;

static const SpdlGroup task_group = { COLUMN_TASKS, COLUMN_TASK_CLOCK }, queue_group = { COLUMN_ITEMS, COLUMN_QUEUE_CLOCK };

static int get_values(SpdlExport *export, const char *name, const StageRow *row, const SpdlGroup *group, size_t i,
                      double ret[static N_COLUMNS]) {
        for (SpdlColumn c = group->begin; c < group->clock; c++)
                if (!get_number(row->columns[c], i, &ret[c]))
                        return spdl_export_refuse(export, "%s: stage '%.80s', interval %zu: expected a number that is not negative",
                                                  name, row->stage.name, i + 1);
        if (group == &task_group && ret[COLUMN_FAILURES] > ret[COLUMN_TASKS])
                return spdl_export_refuse(export, "%s: stage '%.80s', interval %zu: more failures than tasks", name,
                                          row->stage.name, i + 1);
        if (group == &queue_group && ret[COLUMN_READINESS] > 1)
                return spdl_export_refuse(export, "%s: stage '%.80s', interval %zu: the occupancy is above 1", name,
                                          row->stage.name, i + 1);
        return 0;
}

/* Finds the median difference of the times, NAN without two of them. */
static int find_spacing(const Value *times, double *ret) {
        scoped(freep) double *differences = NULL;
        double before, now;
        size_t n = 0;

        *ret = NAN;
        if (!times || times->n_items < 2)
                return 0;
        differences = calloc(times->n_items, sizeof(*differences));
        if (!differences)
                return -ENOMEM;
        for (size_t i = 1; i < times->n_items; i++)
                if (get_number(times, i - 1, &before) && get_number(times, i, &now) && now > before)
                        differences[n++] = now - before;
        if (n > 0)
                *ret = statistics_median_in_place(differences, n);
        return 0;
}

/* Returns false if the interval has no elapsed time or no number of items. */
static bool complete_queue(double values[static N_COLUMNS], double spacing, double *ret_elapsed) {
        double *items = &values[COLUMN_ITEMS], rate = values[COLUMN_RATE];

        *ret_elapsed = spacing;
        if (isnan(*items))
                *items = rate * spacing;
        else if (rate > 0)
                *ret_elapsed = *items / rate;
        return !isnan(*items) && !isnan(*ret_elapsed) && !isnan(values[COLUMN_PUT]) && !isnan(values[COLUMN_GET]);
}

static bool add_tasks(StageRow *row, const double values[static N_COLUMNS], double spacing) {
        double failures = isnan(values[COLUMN_FAILURES]) ? 0 : values[COLUMN_FAILURES];

        if (isnan(values[COLUMN_TASKS]) || isnan(values[COLUMN_TASK_TIME]))
                return false;
        pipeline_stage_add_tasks(&row->stage, isnan(spacing) ? 0 : spacing, values[COLUMN_TASKS], failures, values[COLUMN_TASK_TIME]);
        return true;
}

static bool add_queue(StageRow *row, double values[static N_COLUMNS], double spacing, const SpdlSettings *settings) {
        double elapsed_s;
        bool is_right;

        if (!complete_queue(values, spacing, &elapsed_s))
                return false;
        is_right = values[COLUMN_ITEMS] > 0 || settings->counts_open_periods;
        pipeline_stage_add_queue(&row->stage, elapsed_s, values[COLUMN_ITEMS], values[COLUMN_PUT], values[COLUMN_GET],
                                 is_right ? values[COLUMN_READINESS] : NAN);
        return true;
}

static bool is_repeated(const Value *times, size_t i) {
        double before, now;

        return i > 0 && times && get_number(times, i - 1, &before) && get_number(times, i, &now) && before == now;
}

static int check_lengths(SpdlExport *export, const char *name, const StageRow *row, const SpdlGroup *group, size_t *ret) {
        *ret = 0;
        for (SpdlColumn c = group->begin; c < group->clock; c++)
                if (row->columns[c] && row->columns[c]->n_items > *ret)
                        *ret = row->columns[c]->n_items;
        for (SpdlColumn c = group->begin; c < group->clock; c++)
                if (row->columns[c] && row->columns[c]->n_items != *ret)
                        return spdl_export_refuse(export, "%s: stage '%.80s': the lists have %zu and %zu values; each needs one for each "
                                                  "interval", name, row->stage.name, *ret, row->columns[c]->n_items);
        return 0;
}

static int add_group(SpdlExport *export, const char *name, const Value *times, StageRow *row, const SpdlGroup *group,
                     const SpdlSettings *settings) {
        double values[N_COLUMNS], spacing;
        size_t n;
        int r;

        r = check_lengths(export, name, row, group, &n);
        if (r == 0)
                r = find_spacing(times, &spacing);
        for (size_t i = n >= 3; r == 0 && i < n; i++) {
                bool is_added;

                r = get_values(export, name, row, group, i, values);
                if (r != 0)
                        return r;
                if (is_repeated(times, i))
                        is_added = false;
                else if (group == &task_group)
                        is_added = add_tasks(row, values, spacing);
                else
                        is_added = add_queue(row, values, spacing, settings);
                export->n_left_out += !is_added;
        }
        return r;
}

/* Files of SPDL 0.6 have one clock for the tasks and the queue. */
static int add_row(SpdlExport *export, const char *name, const StageRows *rows, StageRow *row, const SpdlSettings *settings) {
        const Value *of_tasks = row->columns[COLUMN_TASK_CLOCK], *of_queue = row->columns[COLUMN_QUEUE_CLOCK];
        int r;

        r = add_group(export, name, of_tasks ?: of_queue ?: rows->shared_time, row, &task_group, settings);
        return r == 0 ? add_group(export, name, of_queue ?: of_tasks ?: rows->shared_time, row, &queue_group, settings) : r;
}

/* --- the file ------------------------------------------------------------------------------------- */

static int add_rows(SpdlExport *export, const char *name, StageRows *rows, const SpdlSettings *settings) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < rows->n; i++)
                r = add_row(export, name, rows, &rows->items[i], settings);
        if (r != 0)
                return r;
        if (rows->n == 0)
                return spdl_export_refuse(export, "%s: no member is a stage of a pipeline, such as \"0:1:decode_num_tasks\"", name);

        export->stages = calloc(rows->n, sizeof(*export->stages));
        if (!export->stages)
                return -ENOMEM;
        for (size_t i = 0; i < rows->n; i++)
                export->stages[i] = rows->items[i].stage;
        export->n = rows->n;
        qsort(export->stages, export->n, sizeof(*export->stages), pipeline_stage_compare);
        return 0;
}

int spdl_export_read(SpdlExport *export, const char *name, const Buffer *text, const SpdlSettings *settings) {
        scoped(arena_deinit) Arena arena = {};
        scoped(rows_deinit) StageRows rows = {};
        const Value *document, *more;
        ValueReader reader;
        ValueError error;
        int r;

        *export = (SpdlExport){};
        r = arena_init(&arena, value_parse_arena_size(text->n));
        if (r < 0)
                return r;
        value_parse_begin(&reader, text->text ?: "", text->n);
        r = value_parse_next(&reader, &arena, &document, &error);
        if (r == VALUE_MALFORMED)
                return spdl_export_refuse(export, "%s:%u:%u: %s", name, error.line, error.column, error.text);
        if (r != 0 || document->type != VALUE_OBJECT || value_parse_next(&reader, &arena, &more, &error) != VALUE_END)
                return spdl_export_refuse(export, "%s: expected one JSON object", name);

        for (size_t i = 0; r == 0 && i < document->n_members; i++)
                r = take_member(export, &rows, name, &document->members[i]);
        return r == 0 ? add_rows(export, name, &rows, settings) : r;
}
