/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_reader.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_diagnosis.h"
#include "store/read/read_connection.h"
#include "util/array.h"

#define SUM(Type, member, name, table) COLUMN(Type, member.name, table "." #name)
#define SUMS(Type, member, table)                                                                                      \
        SUM(Type, member, elapsed_s, table), SUM(Type, member, n, table), SUM(Type, member, n_failures, table),        \
                SUM(Type, member, time_s, table), SUM(Type, member, get_s, table), SUM(Type, member, ready_s, table),  \
                SUM(Type, member, judged_s, table)

/* --- series --------------------------------------------------------------------------------------- */

STATEMENT series_list = SELECT(PipelineSeriesRow,
        COLUMNS(COLUMN_REQUIRED(PipelineSeriesRow, stage, "s.stage"),
                COLUMN(PipelineSeriesRow, part, "s.part"),
                COLUMN_REQUIRED(PipelineSeriesRow, producer, "s.producer"),
                COLUMN(PipelineSeriesRow, end_ms, "s.end_ms"),
                COLUMN(PipelineSeriesRow, n_intervals, "s.n_intervals"),
                COLUMN(PipelineSeriesRow, n_last, "s.n_last"),
                COLUMN(PipelineSeriesRow, buffer_size, "s.buffer_size"),
                SUMS(PipelineSeriesRow, sums, "s"),
                SUMS(PipelineSeriesRow, first, "i")),
        " FROM job JOIN pipeline_series AS s ON s.job = job.row LEFT JOIN"
        /* The limit keeps SQLite from reading the intervals once for each series. */
        " (SELECT * FROM pipeline_interval WHERE job = (SELECT row FROM job WHERE id = ?1) AND level = -1 LIMIT -1)"
        " AS i"
        " ON i.series = s.row WHERE job.id = ?1 ORDER BY s.stage, s.part");

int pipeline_reader_list(Reader *reader, const char *job) {
        return read_connection_begin(reader_connection(reader), &series_list, FIELDS(field_string(job)));
}

int pipeline_reader_add_stage(PipelineStage **stages, size_t *n, const PipelineSeriesRow *row, bool is_start_known) {
        PipelineStage *last = *n > 0 ? &(*stages)[*n - 1] : NULL, stage;
        PipelineSums sums = row->sums;

        if (row->part < 0 || row->part >= N_PIPELINE_PARTS ||
            !pipeline_stage_parse(&stage, row->stage, strlen(row->stage)))
                return 0; /* checked when it was received */
        if (!last || pipeline_stage_compare(last, &stage) != 0 || last->concurrency != stage.concurrency) {
                if (ARRAY_EXTEND(*stages, *n) < 0)
                        return -ENOMEM;
                last = &(*stages)[(*n)++];
                *last = stage;
        }
        pipeline_report_drop_first(&sums, &row->first, row->n_intervals, is_start_known);
        pipeline_report_set_stage(last, (PipelinePart)row->part, &sums, row->n_last);
        if (row->part == PIPELINE_QUEUE)
                last->queue.buffer_size = row->buffer_size;
        return 0;
}

/* --- head ----------------------------------------------------------------------------------------- */

STATEMENT head_find = SELECT(PipelineHeadRow,
        COLUMNS(COLUMN(PipelineHeadRow, n_events, "n_events"),
                COLUMN(PipelineHeadRow, event_s, "event_s"),
                COLUMN(PipelineHeadRow, description, "description"),
                COLUMN(PipelineHeadRow, first_batch_ms, "ifnull(e.time_ms, 0)"),
                COLUMN(PipelineHeadRow, first_batch_s, "ifnull(e.seconds, 0)")),
        " FROM job JOIN pipeline ON pipeline.job = job.row"
        " LEFT JOIN pipeline_event AS e ON e.job = job.row AND e.name = '" PIPELINE_EVENT_FIRST_BATCH "'"
        " WHERE job.id = ?1 ORDER BY e.time_ms LIMIT 1");

int pipeline_reader_find_head(Reader *reader, const char *job, PipelineHeadRow *ret) {
        int r;

        r = read_connection_begin(reader_connection(reader), &head_find, FIELDS(field_string(job)));
        if (r == 0)
                r = reader_next(reader, ret, sizeof(*ret));
        if (r == READER_END)
                *ret = (PipelineHeadRow){};
        return r == READER_END ? 0 : r;
}

/* --- intervals ------------------------------------------------------------------------------------ */

STATEMENT interval_list = SELECT(PipelineIntervalRow,
        COLUMNS(COLUMN_REQUIRED(PipelineIntervalRow, stage, "s.stage"),
                COLUMN(PipelineIntervalRow, part, "s.part"),
                COLUMN(PipelineIntervalRow, level, "i.level"),
                COLUMN(PipelineIntervalRow, end_ms, "i.end_ms"),
                SUMS(PipelineIntervalRow, sums, "i"),
                COLUMN(PipelineIntervalRow, percentiles.p90_s, "i.p90_s"),
                COLUMN(PipelineIntervalRow, percentiles.p99_s, "i.p99_s"),
                COLUMN(PipelineIntervalRow, percentiles.get_p90_s, "i.get_p90_s"),
                COLUMN(PipelineIntervalRow, percentiles.get_p99_s, "i.get_p99_s")),
        " FROM job JOIN pipeline_interval AS i ON i.job = job.row JOIN pipeline_series AS s ON s.row = i.series"
        " WHERE job.id = ?1 AND s.stage = coalesce(?2, s.stage) AND i.end_ms >= ?3 AND i.end_ms < ?4"
        " AND (s.stage, s.part, i.end_ms) > (?5, ?6, ?7) ORDER BY s.stage, s.part, i.end_ms LIMIT ?8");

static Field until(const PipelineFilter *filter) {
        return field_u64(filter->until_ms > 0 ? filter->until_ms : UINT64_MAX);
}

int pipeline_reader_list_intervals(Reader *reader, const char *job, const PipelineFilter *filter) {
        const PipelinePlace *after = &filter->after;

        return read_connection_begin(reader_connection(reader), &interval_list,
                                     FIELDS(field_string(job), field_string(filter->stage), field_u64(filter->since_ms),
                                            until(filter), field_string(after->stage), field_u64(after->part),
                                            field_u64(after->end_ms), field_u64(filter->n_max)));
}

/* --- events --------------------------------------------------------------------------------------- */

STATEMENT event_list = SELECT(PipelineEventRow,
        COLUMNS(COLUMN_REQUIRED(PipelineEventRow, name, "e.name"),
                COLUMN(PipelineEventRow, begin_ms, "e.time_ms"),
                COLUMN(PipelineEventRow, seconds, "e.seconds")),
        " FROM job JOIN pipeline_event AS e ON e.job = job.row"
        " WHERE job.id = ?1 AND e.time_ms >= ?2 AND e.time_ms < ?3 ORDER BY e.time_ms");

int pipeline_reader_list_events(Reader *reader, const char *job, const PipelineFilter *filter) {
        assert(!filter->stage);
        return read_connection_begin(reader_connection(reader), &event_list,
                                     FIELDS(field_string(job), field_u64(filter->since_ms), until(filter)));
}

/* --- numbers of the writer ----------------------------------------------------------------------- */

void pipeline_reader_deinit_numbers(PipelineNumbers *numbers) {
        free(numbers->stages);
        *numbers = (PipelineNumbers){};
}

STATEMENT series_count = SQL(
        "SELECT ifnull(max(n_series), 0) FROM pipeline WHERE job = (SELECT row FROM job WHERE id = ?1)", 1);

int pipeline_reader_read_numbers(Database *database, Field job, PipelineNumbers *ret) {
        PipelineSeriesRow row = {};
        int64_t n_series = 0;
        Prepared *list;
        int r;

        r = database_get(database, &series_count, &job, 1, &n_series);
        if (r != 0 || n_series > N_PIPELINE_PARTS * PIPELINE_NUMBERS_STAGES_MAX)
                return r;
        list = database_prepare(database, &series_list, &job, 1);
        while ((r = database_step(database, list)) == DATABASE_ROW) {
                if (!statement_read(list, &row) || pipeline_reader_add_stage(&ret->stages, &ret->n, &row, false) < 0) {
                        sqlite3_reset(list->handle);
                        return -ENOMEM;
                }
        }
        if (r == 0 && ret->n > 0)
                qsort(ret->stages, ret->n, sizeof(*ret->stages), pipeline_stage_compare);
        return r;
}

/* A number that is not known is absent. */
static void put_finite(Json *json, const char *key, double value) {
        if (isfinite(value))
                json_put_double(json, key, value);
}

static void put_stage(Json *json, const PipelineStage *stage, const PipelineStage *input, double wait_share) {
        StageAccounting accounting;
        double readiness;

        json_put_object_begin(json, stage->name);
        if (pipeline_diagnosis_account(stage, input, &accounting)) {
                put_finite(json, "busy_share", accounting.busy);
                put_finite(json, "starved_share", accounting.starved);
                put_finite(json, "blocked_share", accounting.blocked);
        }
        if (stage->tasks.is_known) {
                json_put_double(json, "tasks", stage->tasks.n);
                json_put_double(json, "failures", stage->tasks.n_failures);
                put_finite(json, "task_seconds", pipeline_stage_mean_time(stage));
                json_put_double(json, "failure_share", pipeline_stage_failure_ratio(stage));
        }
        if (stage->queue.is_known) {
                json_put_double(json, "items", stage->queue.n_gets);
                put_finite(json, "items_per_second", pipeline_stage_rate(stage));
                json_put_double(json, "get_seconds", stage->queue.get_s);
                json_put_double(json, "put_seconds", stage->queue.put_s);
        }
        if (pipeline_stage_readiness(stage, &readiness) == PIPELINE_READINESS_KNOWN)
                put_finite(json, "readiness", readiness);
        put_finite(json, "wait_share", wait_share);
        json_object_end(json);
}

/* Returns the number of stages of the pipeline that begins at `first`. */
static size_t count_stages(const PipelineNumbers *numbers, size_t first) {
        size_t n = 1;

        while (first + n < numbers->n && numbers->stages[first + n].pipeline == numbers->stages[first].pipeline)
                n++;
        return n;
}

static void put_pipeline(const PipelineStage *stages, size_t n, Json *json) {
        const PipelineProcess unknown = pipeline_diagnosis_unknown_process(0);
        PipelineDiagnosis diagnosis = pipeline_diagnosis_of(stages, n, &unknown);

        json_object_begin(json);
        for (size_t i = 0; i < n; i++)
                put_stage(json, &stages[i], i > 0 ? &stages[i - 1] : NULL, i == n - 1 ? diagnosis.wait_share : NAN);
        json_object_end(json);
}

void pipeline_reader_write_numbers(const PipelineNumbers *numbers, Json *json) {
        json_array_begin(json);
        for (size_t i = 0; i < numbers->n; i += count_stages(numbers, i))
                put_pipeline(&numbers->stages[i], count_stages(numbers, i), json);
        json_array_end(json);
}

void pipeline_reader_write_first(const PipelineNumbers *numbers, Json *json) {
        if (numbers->n > 0) {
                put_pipeline(numbers->stages, count_stages(numbers, 0), json);
                return;
        }
        json_object_begin(json);
        json_object_end(json);
}
