/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "util/array.h"

static const char *const names[N_PIPELINE_PARTS][N_SPDL_VALUES] = {
        [PIPELINE_TASKS] = {
                [SPDL_ELAPSED] = "elapsed", [SPDL_COUNT] = "num_tasks", [SPDL_FAILURES] = "num_failures", [SPDL_TIME] = "ave_time",
                [SPDL_P90] = "p90_time", [SPDL_P99] = "p99_time",
        },
        [PIPELINE_QUEUE] = {
                [SPDL_ELAPSED] = "elapsed", [SPDL_COUNT] = "num_items", [SPDL_TIME] = "ave_put_time", [SPDL_P90] = "p90_put_time",
                [SPDL_P99] = "p99_put_time", [SPDL_GET] = "ave_get_time", [SPDL_GET_P90] = "p90_get_time",
                [SPDL_GET_P99] = "p99_get_time", [SPDL_OCCUPANCY] = "occupancy_rate",
        },
};

void spdl_table_deinit(SpdlTable *table) {
        free(table->stages);
        free(table->rows);
        *table = (SpdlTable){};
}

/* --- stages and rows ------------------------------------------------------------------------------ */

int spdl_table_find_stage(SpdlTable *table, const char *label, size_t n, size_t *ret, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        PipelineStage stage;
        SpdlStage *added;

        if (n > PIPELINE_LABEL_MAX || !pipeline_stage_parse(&stage, label, n))
                return SPDL_TABLE_NO_STAGE;
        /* A log has the stages in the same order again and again. */
        for (size_t i = 0; i < table->n_stages; i++) {
                *ret = (table->last_stage + i) % table->n_stages;
                if (pipeline_stage_compare(&table->stages[*ret].stage, &stage) == 0) {
                        table->last_stage = *ret;
                        return 0;
                }
        }
        if (table->n_stages == PIPELINE_STAGES_MAX) {
                (void)snprintf(ret_error, SPDL_TABLE_ERROR_MAX, "more than %u stages", PIPELINE_STAGES_MAX);
                return SPDL_TABLE_INVALID;
        }
        if (ARRAY_RESERVE(table->stages, table->n_stages_allocated, table->n_stages + 1) < 0)
                return -ENOMEM;
        *ret = table->last_stage = table->n_stages++;
        added = &table->stages[*ret];
        *added = (SpdlStage){ .stage = stage };
        memcpy(added->label, label, n);
        return 0;
}

SpdlRow spdl_table_row(size_t stage, PipelinePart part, size_t at) {
        SpdlRow row = { .stage = stage, .part = part, .at = at, .end_s = NAN, .wrong = N_SPDL_VALUES };

        for (SpdlValue i = 0; i < N_SPDL_VALUES; i++)
                row.values[i] = NAN;
        return row;
}

int spdl_table_add(SpdlTable *table, const SpdlRow *row) {
        if (ARRAY_RESERVE(table->rows, table->n_allocated, table->n + 1) < 0)
                return -ENOMEM;
        table->rows[table->n++] = *row;
        return 0;
}

/* --- times ---------------------------------------------------------------------------------------- */

/* Ends of the intervals of a queue, which follow each other. */
typedef struct QueueEnds {
        double *items; /* owned */
        size_t n, n_allocated;
        size_t n_used; /* by the tasks of the stage */
} QueueEnds;

typedef struct StageEnds {
        QueueEnds *queues; /* owned; one for each stage */
        size_t n;
} StageEnds;

static void ends_deinit(StageEnds *ends) {
        for (size_t i = 0; ends->queues && i < ends->n; i++)
                free(ends->queues[i].items);
        free(ends->queues);
}

static int add_end(QueueEnds *ends, double begin_s, SpdlRow *row) {
        if (ARRAY_RESERVE(ends->items, ends->n_allocated, ends->n + 1) < 0)
                return -ENOMEM;
        if (isnan(row->end_s))
                row->end_s = (ends->n > 0 ? ends->items[ends->n - 1] : begin_s) + fmax(0, row->values[SPDL_ELAPSED]);
        ends->items[ends->n++] = row->end_s;
        return 0;
}

static int refuse_row(const SpdlTable *table, const SpdlRow *row, const char *advice, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        char place[SPDL_TABLE_PLACE_MAX];

        spdl_table_put_place(table, row, place);
        (void)snprintf(ret_error, SPDL_TABLE_ERROR_MAX, "%s: %s", place, advice);
        return SPDL_TABLE_INVALID;
}

/* Tasks are measured over the intervals of the queue of their stage. */
static int date_rows(SpdlTable *table, double begin_s, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        scoped(ends_deinit) StageEnds ends = { calloc(table->n_stages + 1, sizeof(*ends.queues)), table->n_stages };
        int r = ends.queues ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < table->n; i++)
                if (table->rows[i].part == PIPELINE_QUEUE)
                        r = add_end(&ends.queues[table->rows[i].stage], begin_s, &table->rows[i]);
        for (size_t i = 0; r == 0 && i < table->n; i++) {
                SpdlRow *row = &table->rows[i];
                QueueEnds *queue = &ends.queues[row->stage];

                if (row->part != PIPELINE_TASKS)
                        continue;
                if (isnan(row->end_s) && queue->n_used == queue->n)
                        return refuse_row(table, row, "the tasks have no time, and no interval of their queue has one: add a time to each "
                                                      "line, or leave out the line", ret_error);
                if (isnan(row->end_s))
                        row->end_s = queue->items[queue->n_used];
                queue->n_used += queue->n_used < queue->n;
        }
        return r;
}

/* Orders rows by time, then as they were read. */
static int compare_rows(const void *a, const void *b) {
        const SpdlRow *x = a, *y = b;

        if (x->end_s != y->end_s)
                return x->end_s < y->end_s ? -1 : 1;
        if (x->at != y->at)
                return x->at < y->at ? -1 : 1;
        return x->stage != y->stage ? (x->stage < y->stage ? -1 : 1) : (int)x->part - (int)y->part;
}

bool spdl_table_has_times(const SpdlTable *table) {
        for (size_t i = 0; i < table->n; i++)
                if (isnan(table->rows[i].end_s))
                        return false;
        return true;
}

int spdl_table_order(SpdlTable *table, double begin_s, char ret_error[static SPDL_TABLE_ERROR_MAX]) {
        int r = 0;

        for (size_t i = 0; isnan(begin_s) && i < table->n; i++)
                if (isnan(table->rows[i].end_s))
                        return refuse_row(table, &table->rows[i], table->is_log
                                          ? "no date and time before the stage, such as 2026-11-23 05:12:37: use --begin with the time at "
                                            "which the pipeline began; the intervals then follow each other"
                                          : "no time: add the list \"event_time\" with the Unix time of the end of each interval, or give "
                                            "the time at which the pipeline began with --begin", ret_error);
        if (!isnan(begin_s))
                r = date_rows(table, begin_s, ret_error);
        if (r == 0 && table->n > 0)
                qsort(table->rows, table->n, sizeof(*table->rows), compare_rows);
        return r;
}

/* --- lines ---------------------------------------------------------------------------------------- */

void spdl_table_put(const SpdlTable *table, const SpdlRow *row, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_put_string(&json, "stage", table->stages[row->stage].label);
        if (!isnan(row->end_s))
                json_put_double(&json, "time", row->end_s);
        for (SpdlValue i = 0; i < N_SPDL_VALUES; i++) {
                const char *name = names[row->part][i];

                if (row->wrong == i)
                        value_put_json(&(Value){ .type = row->wrong_type, .string = row->wrong_type == VALUE_STRING ? "" : NULL }, name,
                                       &json);
                else if (name && !isnan(row->values[i]))
                        json_put_double(&json, name, row->values[i]);
        }
        json_object_end(&json);
}

void spdl_table_put_place(const SpdlTable *table, const SpdlRow *row, char ret[static SPDL_TABLE_PLACE_MAX]) {
        if (table->is_log)
                (void)snprintf(ret, SPDL_TABLE_PLACE_MAX, "line %zu", row->at);
        else
                (void)snprintf(ret, SPDL_TABLE_PLACE_MAX, "stage '%s', %s, interval %zu", table->stages[row->stage].label,
                               row->part == PIPELINE_TASKS ? "tasks" : "queue", row->at);
}
