/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indexing.h"

#include <errno.h>

#include "store/indicators/series.h"
#include "store/indicators/shape.h"

#define STEP_ROWS 256

/* What of a row is needed once it is no longer read. */
typedef struct Row {
        Point point;
        int64_t name, component, shape, old_series;
        bool has_failed, has_version, has_hardware;
        Buffer keys, version, hardware, parameters, numbers; /* owned */
} Row;

static void row_deinit(Row *row) {
        buffer_deinit(&row->keys);
        buffer_deinit(&row->version);
        buffer_deinit(&row->hardware);
        buffer_deinit(&row->parameters);
        buffer_deinit(&row->numbers);
}

static JsonText text_at(sqlite3_stmt *statement, int i) {
        const char *text = (const char *)sqlite3_column_text(statement, i);

        return json_text(text, text ? (size_t)sqlite3_column_bytes(statement, i) : 0);
}

static int read_row(sqlite3_stmt *statement, Row *row) {
        JsonText document = text_at(statement, 9), keys = text_at(statement, 11), version = text_at(statement, 5);

        row->point.row = sqlite3_column_int64(statement, 0);
        row->point.time_ms = (uint64_t)sqlite3_column_int64(statement, 1);
        row->name = sqlite3_column_int64(statement, 2);
        row->component = sqlite3_column_int64(statement, 3);
        row->point.has_score = sqlite3_column_type(statement, 4) != SQLITE_NULL;
        row->point.score = sqlite3_column_double(statement, 4);
        row->has_failed = sqlite3_column_int64(statement, 6) != 0;
        row->old_series = sqlite3_column_int64(statement, 7);
        row->shape = sqlite3_column_int64(statement, 10);

        row->has_version = sqlite3_column_type(statement, 5) != SQLITE_NULL;
        buffer_puts(&row->version, "");
        buffer_put(&row->version, version.text ? version.text : "", version.n);
        buffer_put(&row->keys, keys.text ? keys.text : "", keys.n);
        buffer_puts(&row->hardware, "");
        row->has_hardware = run_put_hardware(text_at(statement, 8), &row->hardware);
        if (document_put_parameters(document, &row->parameters) < 0)
                return -ENOMEM;
        document_put_numbers(document, keys, &row->numbers);
        return buffer_error(&row->keys) < 0 || buffer_error(&row->version) < 0 || buffer_error(&row->hardware) < 0 ||
                               buffer_error(&row->numbers) < 0 ? -ENOMEM : 0;
}

static Text text_of(const Buffer *buffer, bool is_there) {
        return is_there ? (Text){ buffer->text ? buffer->text : "", (int)buffer->n } : (Text){};
}

/* A row of an index before is not needed any more; with it goes its series when it was the last. */
static int drop_old_point(Database *database, const Row *row) {
        sqlite3_stmt *remove = database_statement(database, STATEMENT_POINT_REMOVE);

        if (row->old_series == 0 || row->old_series == row->point.series)
                return 0;

        sqlite3_bind_int64(remove, 1, row->old_series);
        bind_u64(remove, 2, row->point.time_ms);
        sqlite3_bind_int64(remove, 3, row->point.row);
        return database_run(database, STATEMENT_POINT_REMOVE);
}

static int write_row(Database *database, Catalog *catalog, Row *row) {
        SeriesKey key = {
                .name = row->name, .component = row->component, .shape = text_of(&row->keys, true),
                .version = text_of(&row->version, row->has_version), .hardware = text_of(&row->hardware, row->has_hardware),
                .parameters = text_of(&row->parameters, true),
        };
        sqlite3_stmt *note = database_statement(database, STATEMENT_RESULT_SERIES);
        SeriesEntry series;
        int r;

        r = series_find(catalog_series(catalog), database, &key, NULL, &series);
        if (r != 0)
                return r;

        row->point.series = series.id;
        row->point.numbers = text_of(&row->numbers, !row->has_failed);
        r = point_put(database, &row->point);
        if (r == 0 && row->old_series != series.id) {
                sqlite3_bind_int64(note, 1, row->point.row);
                sqlite3_bind_int64(note, 2, series.id);
                r = database_run(database, STATEMENT_RESULT_SERIES);
        }
        return r == 0 ? drop_old_point(database, row) : r;
}

/* The row of [low, *top] that is next, and *top below it. DATABASE_ROW, 0 when there is none, or an outcome. */
static int index_next(Database *database, Catalog *catalog, int64_t low, int64_t *top) {
        sqlite3_stmt *next = database_statement(database, STATEMENT_UNINDEXED_NEXT);
        scoped(row_deinit) Row row = {};
        int r, of_end;

        sqlite3_bind_int64(next, 1, low);
        sqlite3_bind_int64(next, 2, *top);
        r = database_step(database, STATEMENT_UNINDEXED_NEXT);
        if (r != DATABASE_ROW)
                return r;

        r = read_row(next, &row);
        of_end = database_run(database, STATEMENT_UNINDEXED_NEXT);
        if (r == 0)
                r = of_end;
        if (r == 0)
                r = write_row(database, catalog, &row);
        if (r != 0)
                return r;

        *top = row.point.row - 1;
        return DATABASE_ROW;
}

int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more) {
        int64_t top = 0, low;
        int r;

        r = database_get(database, STATEMENT_UNINDEXED_TOP, &top);
        if (r != 0)
                return r;

        low = top > STEP_ROWS ? top - STEP_ROWS : 0;
        do
                r = index_next(database, catalog, low, &top);
        while (r == DATABASE_ROW);
        if (r != 0)
                return r;

        /* Rows are numbered from 1: what is indexed from there is indexed whole. */
        sqlite3_bind_int64(database_statement(database, STATEMENT_UNINDEXED_DONE), 1, low);
        r = database_run(database, STATEMENT_UNINDEXED_DONE);
        if (r == 0)
                *ret_has_more = low > 0;
        return r;
}
