/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/result_reader.h"

#include <string.h>

#include "store/read_connection.h"

/* --- results ------------------------------------------------------------------------------------- */

enum {
        RESULT_ROW,
        RESULT_ID,
        RESULT_NAME,
        RESULT_COMPONENT,
        RESULT_VERSION,
        RESULT_JOB,
        RESULT_UID,
        RESULT_TIME,
        RESULT_SCORE,
        RESULT_DOCUMENT,
        RESULT_EXIT_STATUS,
        RESULT_BATCH,
        RESULT_BATCH_INDEX,
        RESULT_RUN,
        N_RESULT_COLUMNS,
};

#define RESULT_COLUMNS                                                                           \
        "r.row, r.id, n.text, c.text, r.version, r.job, r.uid, r.time_ms, r.score, r.document,"  \
        " r.exit_status, r.batch, r.batch_index, r.run"

/* CROSS JOIN keeps the order: result by its index, then the two texts of each row. */
#define TERMS " CROSS JOIN term AS n ON n.id = r.name CROSS JOIN term AS c ON c.id = r.component"

enum {
        BY_NAME = 1,
        BY_COMPONENT = 2,
        BY_JOB = 4,
};

/* job_reader.c says why there is a statement for each set of filters. */
#define LIST(index, filters)                                                                     \
        { "SELECT " RESULT_COLUMNS " FROM result AS r INDEXED BY result_by_" index TERMS         \
          " WHERE r.time_ms >= ? AND (r.time_ms, r.row) < (?, ?)" filters                        \
          " ORDER BY r.time_ms DESC, r.row DESC", N_RESULT_COLUMNS }
#define OF_NAME " AND r.name = (SELECT id FROM term WHERE text = ?)"
#define OF_COMPONENT " AND r.component = (SELECT id FROM term WHERE text = ?)"
#define OF_JOB " AND r.job = ?"

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

STATEMENT result_find = { "SELECT " RESULT_COLUMNS " FROM result AS r" TERMS " WHERE r.row = ?", N_RESULT_COLUMNS };

int result_reader_list(Reader *reader, const ResultFilter *filter) {
        unsigned by = (filter->name ? BY_NAME : 0U) | (filter->component ? BY_COMPONENT : 0U) | (filter->job ? BY_JOB : 0U);
        Prepared *list;
        int r;

        r = read_connection_begin(reader_connection(reader), &lists[by], &list);
        if (r != 0)
                return r;

        page_bind(list, filter->since_ms, filter->until_ms, &filter->before);
        if (filter->name)
                statement_bind_string(list, filter->name);
        if (filter->component)
                statement_bind_string(list, filter->component);
        if (filter->job)
                statement_bind_string(list, filter->job);
        return 0;
}

/* True with the 16 bytes of an id. */
static bool read_id(const Prepared *row, int column, uint8_t ret[static 16]) {
        const void *id = sqlite3_column_blob(row->handle, column);

        if (!id || column_bytes(row, column) != 16)
                return false;

        memcpy(ret, id, 16);
        return true;
}

int result_reader_next(Reader *reader, ResultRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        const Prepared *row;
        int r;

        r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        *ret = (ResultRow){
                .row = column_i64(row, RESULT_ROW),
                .name = column_text(row, RESULT_NAME),
                .component = column_text(row, RESULT_COMPONENT),
                .version = column_text(row, RESULT_VERSION),
                .job = column_text(row, RESULT_JOB),
                .uid = (uint32_t)column_u64(row, RESULT_UID),
                .time_ms = column_u64(row, RESULT_TIME),
                .has_score = !column_is_null(row, RESULT_SCORE),
                .score = column_double(row, RESULT_SCORE),
                .document = column_text(row, RESULT_DOCUMENT),
                .has_exit_status = !column_is_null(row, RESULT_EXIT_STATUS),
                .exit_status = column_i64(row, RESULT_EXIT_STATUS),
                .batch_index = column_u64(row, RESULT_BATCH_INDEX),
                .run = column_text(row, RESULT_RUN),
        };
        (void)read_id(row, RESULT_ID, ret->id);
        ret->has_batch = read_id(row, RESULT_BATCH, ret->batch);

        /* SQLite reports "out of memory" as NULL in a column that is never null. */
        return ret->name && ret->component && ret->document ? 0 : read_connection_fail(connection, SQLITE_NOMEM);
}

int result_reader_find(Reader *reader, int64_t row, ResultRow *ret) {
        Prepared *find;
        int r;

        r = read_connection_begin(reader_connection(reader), &result_find, &find);
        if (r != 0)
                return r;

        statement_bind_i64(find, row);
        return result_reader_next(reader, ret);
}

/* --- batches ------------------------------------------------------------------------------------- */

enum {
        BATCH_TIME,
        BATCH_SCORE,
        BATCH_VERSION,
        BATCH_EXIT_STATUS,
        BATCH_RUN,
        BATCH_DOCUMENT,
        BATCH_NAME,
        BATCH_COMPONENT,
        BATCH_INDEX,
        N_BATCH_COLUMNS,
};

/* The first result of the id tells the user whose batch it is. */
STATEMENT batch_list = {
        "SELECT r.time_ms, r.score, r.version, r.exit_status, r.run, r.document, n.text, c.text, r.batch_index"
        " FROM result AS r INDEXED BY result_by_batch" TERMS
        " WHERE r.batch = ?1"
        " AND r.uid = (SELECT uid FROM result WHERE row ="
        " (SELECT min(row) FROM result INDEXED BY result_by_batch WHERE batch = ?1))"
        " ORDER BY r.batch_index, r.row",
        N_BATCH_COLUMNS,
};

int result_reader_list_batch(Reader *reader, const uint8_t id[static 16]) {
        Prepared *list;
        int r;

        r = read_connection_begin(reader_connection(reader), &batch_list, &list);
        if (r == 0)
                statement_bind_blob_copy(list, id, 16);
        return r;
}

int result_reader_next_of_batch(Reader *reader, BatchRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        const Prepared *row;
        int r;

        r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        *ret = (BatchRow){
                .name = column_text(row, BATCH_NAME),
                .component = column_text(row, BATCH_COMPONENT),
                .version = column_text(row, BATCH_VERSION),
                .time_ms = column_u64(row, BATCH_TIME),
                .batch_index = column_u64(row, BATCH_INDEX),
                .has_exit_status = !column_is_null(row, BATCH_EXIT_STATUS),
                .exit_status = column_i64(row, BATCH_EXIT_STATUS),
                .has_score = !column_is_null(row, BATCH_SCORE),
                .score = column_double(row, BATCH_SCORE),
                .document = column_json(row, BATCH_DOCUMENT),
                .run = column_json(row, BATCH_RUN),
        };
        return ret->name && ret->component ? 0 : read_connection_fail(connection, SQLITE_NOMEM);
}
