/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/indexing.h"

#include <assert.h>
#include <errno.h>

#include "store/indicators/series.h"
#include "store/indicators/shape.h"

#define STEP_ROWS 256

/* A stored result with what its point needs. */
typedef struct Unindexed {
        Point point;
        int64_t name, component, old_series;
        bool has_failed, has_version, has_hardware;
        Buffer keys, version, hardware, parameters, numbers; /* owned */
} Unindexed;

static void unindexed_deinit(Unindexed *row) {
        buffer_deinit(&row->keys);
        buffer_deinit(&row->version);
        buffer_deinit(&row->hardware);
        buffer_deinit(&row->parameters);
        buffer_deinit(&row->numbers);
}

/* --- the next row -------------------------------------------------------------------------------- */

enum {
        UNINDEXED_ROW,
        UNINDEXED_TIME,
        UNINDEXED_NAME,
        UNINDEXED_COMPONENT,
        UNINDEXED_SCORE,
        UNINDEXED_VERSION,
        UNINDEXED_EXIT_STATUS,
        UNINDEXED_SERIES,
        UNINDEXED_RUN,
        UNINDEXED_DOCUMENT,
        UNINDEXED_KEYS,
        N_UNINDEXED_COLUMNS,
};

/* One row at a time, downwards. */
STATEMENT unindexed_next = {
        "SELECT r.row, r.time_ms, r.name, r.component, r.score, r.version, r.exit_status, r.series,"
        " r.run, r.document, s.keys FROM result AS r"
        " CROSS JOIN indicator AS i ON i.name = r.name AND i.component = r.component"
        " CROSS JOIN shape AS s ON s.id = i.shape"
        " WHERE r.row >= ?1 AND r.row <= ?2 AND r.row < i.indexed_from ORDER BY r.row DESC LIMIT 1",
        N_UNINDEXED_COLUMNS,
};

static int read_row(const Prepared *at, Unindexed *row) {
        JsonText document = column_json(at, UNINDEXED_DOCUMENT), keys = column_json(at, UNINDEXED_KEYS);
        JsonText version = column_json(at, UNINDEXED_VERSION);

        row->point.row = column_i64(at, UNINDEXED_ROW);
        row->point.time_ms = column_u64(at, UNINDEXED_TIME);
        row->name = column_i64(at, UNINDEXED_NAME);
        row->component = column_i64(at, UNINDEXED_COMPONENT);
        row->point.score = field_if(!column_is_null(at, UNINDEXED_SCORE), field_double(column_double(at, UNINDEXED_SCORE)));
        row->has_failed = column_i64(at, UNINDEXED_EXIT_STATUS) != 0;
        row->old_series = column_i64(at, UNINDEXED_SERIES);

        row->has_version = !column_is_null(at, UNINDEXED_VERSION);
        buffer_puts(&row->version, "");
        buffer_put(&row->version, version.text ? version.text : "", version.n);
        buffer_put(&row->keys, keys.text ? keys.text : "", keys.n);
        buffer_puts(&row->hardware, "");
        row->has_hardware = shape_put_hardware(column_json(at, UNINDEXED_RUN), &row->hardware);
        if (shape_put_parameters(document, &row->parameters) < 0)
                return -ENOMEM;
        shape_put_numbers(document, keys, &row->numbers);
        return buffer_error(&row->keys) < 0 || buffer_error(&row->version) < 0 || buffer_error(&row->hardware) < 0 ||
                               buffer_error(&row->numbers) < 0 ? -ENOMEM : 0;
}

/* --- its point ----------------------------------------------------------------------------------- */

STATEMENT result_series = { "UPDATE result SET series = ?2 WHERE row = ?1", 0 };

/* The point of another shape is not needed any more. */
static int drop_old_point(Database *database, const Unindexed *row) {
        if (row->old_series == 0 || row->old_series == row->point.series)
                return 0;
        return series_remove_point(database, row->old_series, row->point.time_ms, row->point.row);
}

static int write_row(Database *database, Catalog *catalog, Unindexed *row) {
        SeriesKey key = {
                .name = row->name, .component = row->component, .shape = field_buffer(&row->keys),
                .version = field_if(row->has_version, field_buffer(&row->version)),
                .hardware = field_if(row->has_hardware, field_buffer(&row->hardware)),
                .parameters = field_buffer(&row->parameters),
        };
        SeriesEntry series;
        int r;

        r = series_find(catalog_series(catalog), database, &key, NULL, &series);
        if (r != 0)
                return r;

        row->point.series = series.id;
        row->point.numbers = field_if(!row->has_failed, field_blob(row->numbers.text ? row->numbers.text : "", row->numbers.n));
        r = series_put_point(database, &row->point);
        if (r == 0 && row->old_series != series.id)
                r = database_run(database, &result_series, FIELDS(field_i64(row->point.row), field_i64(series.id)));
        return r == 0 ? drop_old_point(database, row) : r;
}

/* --- steps --------------------------------------------------------------------------------------- */

/* Indexes the highest row of [low, *top] that needs it, and moves *top below. DATABASE_ROW, 0 when there is none, or an outcome. */
static int index_next(Database *database, Catalog *catalog, int64_t low, int64_t *top) {
        Prepared *next = database_prepare(database, &unindexed_next, FIELDS(field_i64(low), field_i64(*top)));
        scoped(unindexed_deinit) Unindexed row = {};
        int r, of_end;

        r = database_step(database, next);
        if (r != DATABASE_ROW)
                return r;

        r = read_row(next, &row);
        of_end = database_finish(database, next);
        if (r == 0)
                r = of_end;
        if (r == 0)
                r = write_row(database, catalog, &row);
        if (r != 0)
                return r;

        assert(row.point.row >= low && row.point.row <= *top);
        *top = row.point.row - 1;
        return DATABASE_ROW;
}

/* Last row that is not indexed yet. */
STATEMENT unindexed_top = {
        "SELECT max(row) FROM result WHERE row < (SELECT max(indexed_from) FROM indicator"
        " WHERE shape IS NOT NULL AND indexed_from > 0)",
        1,
};

STATEMENT unindexed_done = {
        "UPDATE indicator SET indexed_from = ?1 WHERE shape IS NOT NULL AND indexed_from > 0 AND indexed_from > ?1",
        0,
};

int indexing_find(Database *database, bool *ret_has_work) {
        int64_t top = 0;
        int r;

        r = database_get(database, &unindexed_top, NULL, 0, &top);
        if (r == 0)
                *ret_has_work = top > 0;
        return r;
}

int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more) {
        int64_t top = 0, low;
        int r;

        r = database_get(database, &unindexed_top, NULL, 0, &top);
        if (r != 0)
                return r;

        low = top > STEP_ROWS ? top - STEP_ROWS : 0;
        do
                r = index_next(database, catalog, low, &top);
        while (r == DATABASE_ROW);
        if (r != 0)
                return r;

        /* Rows are numbered from 1: an indicator that is indexed from row 0 is indexed whole. */
        r = database_run(database, &unindexed_done, FIELDS(field_i64(low)));
        if (r == 0)
                *ret_has_more = low > 0;
        return r;
}
