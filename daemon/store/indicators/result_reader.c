/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/result_reader.h"

#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"

/* --- results ------------------------------------------------------------------------------------- */

/*
 * A result may name any job, including one that begins later. store_indicators.c describes to which user such a
 * result belongs. A job that is hidden from the reader is as one that has not begun.
 */
#define IS_OF_JOB                                                                                \
        "ifnull((SELECT r.job_row IS j.row OR r.uid IN (j.uid, j.begun_by) FROM job AS j"                    \
        " WHERE j.id = r.job AND visible(j.uid)), TRUE)"

static const StoreColumn result_columns[] = {
        COLUMN(ResultRow, row, "r.row"),
        COLUMN(ResultRow, id, "r.id"),
        COLUMN_REQUIRED(ResultRow, name, "n.text"),
        COLUMN_REQUIRED(ResultRow, component, "ifnull(c.shown, c.text)"),
        COLUMN(ResultRow, version, "r.version"),
        COLUMN(ResultRow, job, "iif(" IS_OF_JOB ", r.job, NULL)"),
        COLUMN(ResultRow, uid, "r.uid"),
        COLUMN(ResultRow, time_ms, "r.time_ms"),
        COLUMN_OPTIONAL(ResultRow, score, has_score, "r.score"),
        COLUMN_REQUIRED(ResultRow, document, "r.document"),
        COLUMN_OPTIONAL(ResultRow, exit_status, has_exit_status, "r.exit_status"),
        COLUMN_OPTIONAL(ResultRow, batch.id, batch.is_known, "r.batch"),
        COLUMN(ResultRow, batch.index, "r.batch_index"),
        COLUMN(ResultRow, run, "r.run"),
        COLUMN(ResultRow, claimed_ms, "r.claimed_ms"),
        COLUMN(ResultRow, stack, "ifnull(r.stack, 0)"),
        COLUMN(ResultRow, stack_digest, "(SELECT lower(hex(k.digest)) FROM stack AS k WHERE k.id = r.stack)"),
        COLUMN(ResultRow, specification_digest,
               "(SELECT lower(hex(p.digest)) FROM specification AS p WHERE p.id = r.specification)"),
};

/* CROSS JOIN keeps the order: result by its index, then the two texts of each row. */
#define TERMS " CROSS JOIN term AS n ON n.id = r.name CROSS JOIN term AS c ON c.id = r.component"

enum {
        BY_NAME = 1,
        BY_COMPONENT = 2,
        BY_JOB = 4,
};

/* For reader_begin_page(). */
#define LIST(index, filters)                                                                       \
        SELECT(ResultRow, result_columns, " FROM result AS r INDEXED BY result_by_" index TERMS     \
               " WHERE r.time_ms >= ? AND (r.time_ms, r.row) < (?, ?) AND visible(r.uid)" filters   \
               " ORDER BY r.time_ms DESC, r.row DESC")
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

STATEMENT result_find = SELECT(ResultRow, result_columns,
        " FROM result AS r" TERMS " WHERE r.row = ? AND visible(r.uid)");

int result_reader_list(Reader *reader, const ResultFilter *filter) {
        const PageFilter page = {
                filter->since_ms, filter->until_ms, filter->before, { filter->name, filter->component, filter->job },
        };

        return reader_begin_page(reader, lists, &page);
}

int result_reader_find(Reader *reader, int64_t row, ResultRow *ret) {
        int r;

        r = read_connection_begin(reader_connection(reader), &result_find, FIELDS(field_i64(row)));
        return r != 0 ? r : result_reader_next(reader, ret);
}

/* --- batches ------------------------------------------------------------------------------------- */

/* The first result with the id determines the user of the batch. */
STATEMENT batch_list = SELECT(BatchRow,
        COLUMNS(COLUMN(BatchRow, time_ms, "r.time_ms"),
                COLUMN_OPTIONAL(BatchRow, score, has_score, "r.score"),
                COLUMN(BatchRow, version, "r.version"),
                COLUMN_OPTIONAL(BatchRow, exit_status, has_exit_status, "r.exit_status"),
                COLUMN(BatchRow, run, "r.run"),
                COLUMN(BatchRow, document, "r.document"),
                COLUMN_REQUIRED(BatchRow, name, "n.text"),
                COLUMN_REQUIRED(BatchRow, component, "ifnull(c.shown, c.text)"),
                COLUMN(BatchRow, batch_index, "r.batch_index")),
        " FROM result AS r INDEXED BY result_by_batch" TERMS
        " WHERE r.batch = ?1 AND visible(r.uid)"
        " AND r.uid = (SELECT uid FROM result WHERE row ="
        " (SELECT min(row) FROM result INDEXED BY result_by_batch WHERE batch = ?1))"
        " ORDER BY r.batch_index, r.row");

int result_reader_list_batch(Reader *reader, const uint8_t id[static 16]) {
        return read_connection_begin(reader_connection(reader), &batch_list, FIELDS(field_blob(id, 16)));
}

/* --- specifications ------------------------------------------------------------------------------ */

STATEMENT specification_find = SELECT(SpecificationRow,
        COLUMNS(COLUMN_REQUIRED(SpecificationRow, document, "document"),
                COLUMN(SpecificationRow, n_results, "n_results")),
        " FROM specification AS p WHERE digest = ?1 AND"
        " (visible(-1) OR EXISTS (SELECT 1 FROM result AS r WHERE r.specification = p.id AND visible(r.uid)))");

int result_reader_find_specification(Reader *reader, const uint8_t digest[static SHA256_BYTES], SpecificationRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        int r;

        r = read_connection_begin(connection, &specification_find, FIELDS(field_blob(digest, SHA256_BYTES)));
        return r != 0 ? r : read_connection_next(connection, ret, sizeof(*ret));
}

/* --- runs ---------------------------------------------------------------------------------------- */

typedef struct RunTexts {
        uint64_t duration_ms;
        JobNumberTexts numbers;
        const char *run, *stack_digest;
} RunTexts;

/* A result that came before its job has no row of the job: the job is that of its user. */
STATEMENT run_find = SELECT(RunTexts,
        COLUMNS(COLUMN(RunTexts, duration_ms, "ifnull(j.end_ms - j.begin_ms, 0)"),
                JOB_NUMBER_COLUMNS(RunTexts, numbers),
                COLUMN(RunTexts, run, "r.run"),
                COLUMN(RunTexts, stack_digest, "lower(hex(k.digest))")),
        " FROM result AS r LEFT JOIN job AS j"
        " ON j.row = coalesce(r.job_row, (SELECT b.row FROM job AS b WHERE b.id = r.job AND b.uid = r.uid))"
        JOB_LAYOUTS("j")
        " LEFT JOIN stack AS k ON k.id = r.stack WHERE r.row = ?1 AND visible(r.uid)");

int result_reader_find_run(Reader *reader, int64_t result, RunRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        RunTexts texts = {};
        int r;

        r = read_connection_begin(connection, &run_find, FIELDS(field_i64(result)));
        if (r == 0)
                r = read_connection_next(connection, &texts, sizeof(texts));
        if (r != 0)
                return r;

        *ret = (RunRow){ .duration_ms = texts.duration_ms, .run = texts.run, .stack_digest = texts.stack_digest };
        ret->has_job = job_text_read_numbers(&texts.numbers, &ret->metrics, &ret->usage) && ret->duration_ms > 0;
        return 0;
}
