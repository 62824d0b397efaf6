/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_reader.h"

#include <assert.h>

#include "store/read/read_connection.h"

#define SUMS(Type, member)                                                                                              \
        COLUMN(Type, member.elapsed_s), COLUMN(Type, member.n), COLUMN(Type, member.n_failures), COLUMN(Type, member.time_s), \
        COLUMN(Type, member.get_s), COLUMN(Type, member.ready_s), COLUMN(Type, member.judged_s)
#define SUMS_SQL(table) \
        table ".elapsed_s, " table ".n, " table ".n_failures, " table ".time_s, " table ".get_s, " table ".ready_s, " table ".judged_s"

/* --- series --------------------------------------------------------------------------------------- */

static const StoreColumn series_columns[] = {
        COLUMN_REQUIRED(PipelineSeriesRow, stage),
        COLUMN(PipelineSeriesRow, part),
        COLUMN_REQUIRED(PipelineSeriesRow, producer),
        COLUMN(PipelineSeriesRow, end_ms),
        COLUMN(PipelineSeriesRow, n_intervals),
        COLUMN(PipelineSeriesRow, n_last),
        COLUMN(PipelineSeriesRow, buffer_size),
        SUMS(PipelineSeriesRow, sums),
        SUMS(PipelineSeriesRow, first),
};

const Statement pipeline_reader_series __attribute__((section("statements"))) = {
        "WITH i AS MATERIALIZED (SELECT * FROM pipeline_interval WHERE job = (SELECT row FROM job WHERE id = ?1) AND level = -1)"
        " SELECT s.stage, s.part, s.producer, s.end_ms, s.n_intervals, s.n_last, s.buffer_size, " SUMS_SQL("s") ", " SUMS_SQL("i")
        " FROM job JOIN pipeline_series AS s ON s.job = job.row"
        " LEFT JOIN i ON i.series = s.row"
        " WHERE job.id = ?1 ORDER BY s.stage, s.part",
        N_ELEMENTS(series_columns),
};

int pipeline_reader_list(Reader *reader, const char *job) {
        return read_connection_begin(reader_connection(reader), &pipeline_reader_series, FIELDS(field_string(job)));
}

bool pipeline_reader_read_series(const Prepared *row, PipelineSeriesRow *ret) {
        return statement_read(row, 0, series_columns, N_ELEMENTS(series_columns), ret);
}

int pipeline_reader_next(Reader *reader, PipelineSeriesRow *ret) {
        return read_connection_next(reader_connection(reader), series_columns, N_ELEMENTS(series_columns), ret, sizeof(*ret));
}

/* --- head ----------------------------------------------------------------------------------------- */

static const StoreColumn head_columns[] = {
        COLUMN(PipelineHeadRow, n_events),
        COLUMN(PipelineHeadRow, event_s),
        COLUMN(PipelineHeadRow, description),
        COLUMN(PipelineHeadRow, first_batch_ms),
        COLUMN(PipelineHeadRow, first_batch_s),
};

STATEMENT head_find = {
        "SELECT n_events, event_s, description, ifnull(e.time_ms, 0), ifnull(e.seconds, 0)"
        " FROM job JOIN pipeline ON pipeline.job = job.row"
        " LEFT JOIN pipeline_event AS e ON e.job = job.row AND e.name = '" PIPELINE_EVENT_FIRST_BATCH "'"
        " WHERE job.id = ?1 ORDER BY e.time_ms LIMIT 1",
        N_ELEMENTS(head_columns),
};

int pipeline_reader_find_head(Reader *reader, const char *job, PipelineHeadRow *ret) {
        int r;

        r = read_connection_begin(reader_connection(reader), &head_find, FIELDS(field_string(job)));
        if (r == 0)
                r = read_connection_next(reader_connection(reader), head_columns, N_ELEMENTS(head_columns), ret, sizeof(*ret));
        if (r == READER_END)
                *ret = (PipelineHeadRow){};
        return r == READER_END ? 0 : r;
}

/* --- intervals ------------------------------------------------------------------------------------ */

static const StoreColumn interval_columns[] = {
        COLUMN_REQUIRED(PipelineIntervalRow, stage),
        COLUMN(PipelineIntervalRow, part),
        COLUMN(PipelineIntervalRow, level),
        COLUMN(PipelineIntervalRow, end_ms),
        SUMS(PipelineIntervalRow, sums),
        COLUMN(PipelineIntervalRow, percentiles.p90_s),
        COLUMN(PipelineIntervalRow, percentiles.p99_s),
        COLUMN(PipelineIntervalRow, percentiles.get_p90_s),
        COLUMN(PipelineIntervalRow, percentiles.get_p99_s),
};

STATEMENT interval_list = {
        "SELECT s.stage, s.part, i.level, i.end_ms, " SUMS_SQL("i") ", i.p90_s, i.p99_s, i.get_p90_s, i.get_p99_s"
        " FROM job JOIN pipeline_interval AS i ON i.job = job.row JOIN pipeline_series AS s ON s.row = i.series"
        " WHERE job.id = ?1 AND s.stage = coalesce(?2, s.stage) AND i.end_ms >= ?3 AND i.end_ms < ?4"
        " AND (s.stage, s.part, i.end_ms) > (?5, ?6, ?7) ORDER BY s.stage, s.part, i.end_ms LIMIT ?8",
        N_ELEMENTS(interval_columns),
};

static Field until(const PipelineFilter *filter) {
        return field_u64(filter->until_ms > 0 ? filter->until_ms : UINT64_MAX);
}

int pipeline_reader_list_intervals(Reader *reader, const char *job, const PipelineFilter *filter) {
        const PipelinePlace *after = &filter->after;

        return read_connection_begin(reader_connection(reader), &interval_list,
                                     FIELDS(field_string(job), field_string(filter->stage), field_u64(filter->since_ms), until(filter),
                                            field_string(after->stage), field_u64(after->part), field_u64(after->end_ms),
                                            field_u64(filter->n_max)));
}

int pipeline_reader_next_interval(Reader *reader, PipelineIntervalRow *ret) {
        return read_connection_next(reader_connection(reader), interval_columns, N_ELEMENTS(interval_columns), ret, sizeof(*ret));
}

/* --- events --------------------------------------------------------------------------------------- */

static const StoreColumn event_columns[] = {
        COLUMN_REQUIRED(PipelineEventRow, name),
        COLUMN(PipelineEventRow, begin_ms),
        COLUMN(PipelineEventRow, seconds),
};

STATEMENT event_list = {
        "SELECT e.name, e.time_ms, e.seconds FROM job JOIN pipeline_event AS e ON e.job = job.row"
        " WHERE job.id = ?1 AND e.time_ms >= ?2 AND e.time_ms < ?3 ORDER BY e.time_ms",
        N_ELEMENTS(event_columns),
};

int pipeline_reader_list_events(Reader *reader, const char *job, const PipelineFilter *filter) {
        assert(!filter->stage);
        return read_connection_begin(reader_connection(reader), &event_list,
                                     FIELDS(field_string(job), field_u64(filter->since_ms), until(filter)));
}

int pipeline_reader_next_event(Reader *reader, PipelineEventRow *ret) {
        return read_connection_next(reader_connection(reader), event_columns, N_ELEMENTS(event_columns), ret, sizeof(*ret));
}
