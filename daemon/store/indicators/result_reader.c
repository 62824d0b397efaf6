/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/result_reader.h"

#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"

/* --- results ------------------------------------------------------------------------------------- */

static const StoreColumn result_columns[] = {
        COLUMN(ResultRow, row),
        COLUMN(ResultRow, id),
        COLUMN_REQUIRED(ResultRow, name),
        COLUMN_REQUIRED(ResultRow, component),
        COLUMN(ResultRow, version),
        COLUMN(ResultRow, job),
        COLUMN(ResultRow, uid),
        COLUMN(ResultRow, time_ms),
        COLUMN_OPTIONAL(ResultRow, score, has_score),
        COLUMN_REQUIRED(ResultRow, document),
        COLUMN_OPTIONAL(ResultRow, exit_status, has_exit_status),
        COLUMN_OPTIONAL(ResultRow, batch.id, batch.is_known),
        COLUMN(ResultRow, batch.index),
        COLUMN(ResultRow, run),
        COLUMN(ResultRow, claimed_ms),
        COLUMN(ResultRow, stack),
        COLUMN(ResultRow, stack_digest),
        COLUMN(ResultRow, specification_digest),
};

/*
 * A result may name any job, including one that begins later. store_indicators.c describes to which user such a result belongs.
 */
#define IS_OF_JOB                                                                                \
        "ifnull((SELECT r.job_row IS j.row OR r.uid IN (j.uid, j.begun_by) FROM job AS j WHERE j.id = r.job), TRUE)"

#define RESULT_COLUMNS                                                                           \
        "r.row, r.id, n.text, ifnull(c.shown, c.text), r.version, iif(" IS_OF_JOB ", r.job, NULL), r.uid, r.time_ms, r.score,"  \
        " r.document, r.exit_status, r.batch, r.batch_index, r.run, r.claimed_ms, ifnull(r.stack, 0)," \
        " (SELECT lower(hex(k.digest)) FROM stack AS k WHERE k.id = r.stack),"                             \
        " (SELECT lower(hex(p.digest)) FROM specification AS p WHERE p.id = r.specification)"

/* CROSS JOIN keeps the order: result by its index, then the two texts of each row. */
#define TERMS " CROSS JOIN term AS n ON n.id = r.name CROSS JOIN term AS c ON c.id = r.component"

enum {
        BY_NAME = 1,
        BY_COMPONENT = 2,
        BY_JOB = 4,
};

/* For reader_begin_page(). */
#define LIST(index, filters)                                                                     \
        { "SELECT " RESULT_COLUMNS " FROM result AS r INDEXED BY result_by_" index TERMS         \
          " WHERE r.time_ms >= ? AND (r.time_ms, r.row) < (?, ?)" filters                        \
          " ORDER BY r.time_ms DESC, r.row DESC", N_ELEMENTS(result_columns) }
#define OF_NAME " AND r.name = (SELECT id FROM term WHERE text = ?)"
#define OF_COMPONENT " AND r.component = (SELECT id FROM term WHERE text = lower(?))"
#define OF_JOB " AND r.job = ? AND " IS_OF_JOB

STATEMENT lists[] = {
        [0] = LIST("time", ""),
        [BY_NAME] = LIST("name", OF_NAME),
        [BY_COMPONENT] = LIST("time", OF_COMPONENT),
        [BY_NAME | BY_COMPONENT] = LIST("name", OF_NAME OF_COMPONENT),
        [BY_JOB] = LIST("job", OF_JOB),
        [BY_NAME | BY_JOB] = LIST("job", OF_NAME OF_JOB),
        [BY_COMPONENT | BY_JOB] = LIST("job", OF_COMPONENT OF_JOB),
        [BY_NAME | BY_COMPONENT | BY_JOB] = LIST("job", OF_NAME OF_COMPONENT OF_JOB),
};

STATEMENT result_find = { "SELECT " RESULT_COLUMNS " FROM result AS r" TERMS " WHERE r.row = ?", N_ELEMENTS(result_columns) };

int result_reader_list(Reader *reader, const ResultFilter *filter) {
        const PageFilter page = {
                filter->since_ms, filter->until_ms, filter->before, { filter->name, filter->component, filter->job },
        };

        return reader_begin_page(reader, lists, &page);
}

int result_reader_next(Reader *reader, ResultRow *ret) {
        return read_connection_next(reader_connection(reader), result_columns, N_ELEMENTS(result_columns), ret, sizeof(*ret));
}

int result_reader_find(Reader *reader, int64_t row, ResultRow *ret) {
        int r;

        r = read_connection_begin(reader_connection(reader), &result_find, FIELDS(field_i64(row)));
        return r != 0 ? r : result_reader_next(reader, ret);
}

/* --- batches ------------------------------------------------------------------------------------- */

static const StoreColumn batch_columns[] = {
        COLUMN(BatchRow, time_ms),
        COLUMN_OPTIONAL(BatchRow, score, has_score),
        COLUMN(BatchRow, version),
        COLUMN_OPTIONAL(BatchRow, exit_status, has_exit_status),
        COLUMN(BatchRow, run),
        COLUMN(BatchRow, document),
        COLUMN_REQUIRED(BatchRow, name),
        COLUMN_REQUIRED(BatchRow, component),
        COLUMN(BatchRow, batch_index),
};

/* The first result with the id determines the user of the batch. */
STATEMENT batch_list = {
        "SELECT r.time_ms, r.score, r.version, r.exit_status, r.run, r.document, n.text, ifnull(c.shown, c.text), r.batch_index"
        " FROM result AS r INDEXED BY result_by_batch" TERMS
        " WHERE r.batch = ?1"
        " AND r.uid = (SELECT uid FROM result WHERE row ="
        " (SELECT min(row) FROM result INDEXED BY result_by_batch WHERE batch = ?1))"
        " ORDER BY r.batch_index, r.row",
        N_ELEMENTS(batch_columns),
};

int result_reader_list_batch(Reader *reader, const uint8_t id[static 16]) {
        return read_connection_begin(reader_connection(reader), &batch_list, FIELDS(field_blob(id, 16)));
}

int result_reader_next_of_batch(Reader *reader, BatchRow *ret) {
        return read_connection_next(reader_connection(reader), batch_columns, N_ELEMENTS(batch_columns), ret, sizeof(*ret));
}

/* --- specifications ------------------------------------------------------------------------------ */

static const StoreColumn specification_columns[] = {
        COLUMN_REQUIRED(SpecificationRow, document),
        COLUMN(SpecificationRow, n_results),
};

STATEMENT specification_find = {
        "SELECT document, n_results FROM specification WHERE digest = ?1", N_ELEMENTS(specification_columns),
};

int result_reader_find_specification(Reader *reader, const uint8_t digest[static SHA256_BYTES], SpecificationRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        int r;

        r = read_connection_begin(connection, &specification_find, FIELDS(field_blob(digest, SHA256_BYTES)));
        return r != 0 ? r : read_connection_next(connection, specification_columns, N_ELEMENTS(specification_columns), ret, sizeof(*ret));
}

/* --- runs ---------------------------------------------------------------------------------------- */

typedef struct RunTexts {
        uint64_t duration_ms;
        JobNumberTexts numbers;
        const char *run, *stack_digest;
} RunTexts;

static const StoreColumn run_columns[] = {
        COLUMN(RunTexts, duration_ms),         COLUMN(RunTexts, numbers.metric_keys), COLUMN(RunTexts, numbers.metrics),
        COLUMN(RunTexts, numbers.usage_keys),  COLUMN(RunTexts, numbers.usage),       COLUMN(RunTexts, run),
        COLUMN(RunTexts, stack_digest),
};

/* A result that came before its job has no row of the job: the job is that of its user. */
STATEMENT run_find = {
        "SELECT ifnull(j.end_ms - j.begin_ms, 0), m.keys, j.metrics, u.keys, j.usage, r.run, lower(hex(k.digest))"
        " FROM result AS r LEFT JOIN job AS j"
        " ON j.row = coalesce(r.job_row, (SELECT b.row FROM job AS b WHERE b.id = r.job AND b.uid = r.uid))"
        " LEFT JOIN layout AS m ON m.id = j.layout LEFT JOIN layout AS u ON u.id = j.usage_layout"
        " LEFT JOIN stack AS k ON k.id = r.stack WHERE r.row = ?1",
        N_ELEMENTS(run_columns),
};

int result_reader_find_run(Reader *reader, int64_t result, RunRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        RunTexts texts = {};
        int r;

        r = read_connection_begin(connection, &run_find, FIELDS(field_i64(result)));
        if (r == 0)
                r = read_connection_next(connection, run_columns, N_ELEMENTS(run_columns), &texts, sizeof(texts));
        if (r != 0)
                return r;

        *ret = (RunRow){ .duration_ms = texts.duration_ms, .run = texts.run, .stack_digest = texts.stack_digest };
        ret->has_job = job_text_read_numbers(&texts.numbers, &ret->metrics, &ret->usage) && ret->duration_ms > 0;
        return 0;
}
