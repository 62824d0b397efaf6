/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/indexing.h"

#include <assert.h>
#include <errno.h>

#include "store/catalog/shape_update.h"
#include "store/catalog/series.h"
#include "store/catalog/shape.h"

#define STEP_ROWS 256

/* A stored result with the data for its point. */
typedef struct Unindexed {
        Point point;
        int64_t name, component, uid, stack, old_series;
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
        UNINDEXED_UID,
        UNINDEXED_SCORE,
        UNINDEXED_VERSION,
        UNINDEXED_EXIT_STATUS,
        UNINDEXED_SERIES,
        UNINDEXED_STACK,
        UNINDEXED_RUN,
        UNINDEXED_DOCUMENT,
        UNINDEXED_KEYS,
        N_UNINDEXED_COLUMNS,
};

STATEMENT unindexed_row = {
        "SELECT r.row, r.time_ms, r.name, r.component, r.uid, r.score, r.version, r.exit_status, r.series, ifnull(r.stack, 0),"
        " r.run, r.document, s.keys FROM result AS r"
        " CROSS JOIN indicator AS i ON i.name = r.name AND i.component = r.component AND i.uid = r.uid"
        " CROSS JOIN shape AS s ON s.id = i.shape"
        " WHERE r.row = ?1",
        N_UNINDEXED_COLUMNS,
};

static int read_row(const Prepared *at, Unindexed *row) {
        JsonText document = column_json(at, UNINDEXED_DOCUMENT), keys = column_json(at, UNINDEXED_KEYS);
        JsonText version = column_json(at, UNINDEXED_VERSION);

        row->point.row = column_i64(at, UNINDEXED_ROW);
        row->point.time_ms = column_u64(at, UNINDEXED_TIME);
        row->name = column_i64(at, UNINDEXED_NAME);
        row->component = column_i64(at, UNINDEXED_COMPONENT);
        row->uid = column_i64(at, UNINDEXED_UID);
        row->point.score = field_if(!column_is_null(at, UNINDEXED_SCORE), field_double(column_double(at, UNINDEXED_SCORE)));
        row->has_failed = column_i64(at, UNINDEXED_EXIT_STATUS) != 0;
        row->stack = column_i64(at, UNINDEXED_STACK);
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

/* --- the point of a row -------------------------------------------------------------------------- */

STATEMENT result_series = { "UPDATE result SET series = ?2 WHERE row = ?1", 0 };

/* The point of another shape is not needed any more. */
static int drop_old_point(Database *database, const Unindexed *row) {
        if (row->old_series == 0 || row->old_series == row->point.series)
                return 0;
        return series_remove_point(database, row->old_series, row->point.time_ms, row->point.row);
}

static int write_row(Database *database, Catalog *catalog, Unindexed *row, int64_t *n_new_max) {
        SeriesKey key = {
                .name = row->name, .component = row->component, .uid = row->uid, .stack = row->stack, .shape = field_buffer(&row->keys),
                .version = field_if(row->has_version, field_buffer(&row->version)),
                .hardware = field_if(row->has_hardware, field_buffer(&row->hardware)),
                .parameters = field_buffer(&row->parameters),
        };
        SeriesEntry series;
        int r;

        r = series_find(catalog_series(catalog), database, &key, NULL, n_new_max, &series);
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

int indexing_index_row(Database *database, Catalog *catalog, int64_t number, int64_t *n_new_max) {
        Prepared *find = database_prepare(database, &unindexed_row, FIELDS(field_i64(number)));
        scoped(unindexed_deinit) Unindexed row = {};
        int r, of_end;

        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;

        r = read_row(find, &row);
        of_end = database_finish(database, find);
        if (r == 0)
                r = of_end;
        return r == 0 ? write_row(database, catalog, &row, n_new_max) : r;
}

/* The results of a name that are before this place by time are still to be indexed. */
typedef struct Walk {
        int64_t name, time_ms, row; /* name 0: none */
} Walk;

enum { WALK_NAME, WALK_TIME, WALK_ROW, N_WALK_COLUMNS };
STATEMENT walk_find = { "SELECT name, time_ms, row FROM indexing", N_WALK_COLUMNS };
STATEMENT walk_put = { "INSERT OR REPLACE INTO indexing VALUES (1, ?1, ?2, ?3)", 0 };
STATEMENT walk_remove = { "DELETE FROM indexing", 0 };

STATEMENT name_next = {
        "SELECT name FROM indicator WHERE shape IS NOT NULL AND indexed_from > 0 ORDER BY indexed_from DESC LIMIT 1", 1,
};
STATEMENT name_done = {
        "UPDATE indicator SET indexed_from = 0 WHERE (name, component, uid) IN (SELECT name, component, uid FROM indicator"
        " INDEXED BY indicator_unindexed WHERE name = ?1 AND shape IS NOT NULL AND indexed_from > 0 ORDER BY indexed_from DESC LIMIT ?2)",
        0,
};

static int find_walk(Database *database, Walk *ret) {
        Prepared *find = database_prepare(database, &walk_find, NULL, 0);
        int r;

        *ret = (Walk){ .time_ms = INT64_MAX, .row = INT64_MAX };
        r = database_step(database, find);
        if (r == 0)
                return database_get(database, &name_next, NULL, 0, &ret->name);
        if (r != DATABASE_ROW)
                return r;

        *ret = (Walk){ column_i64(find, WALK_NAME), column_i64(find, WALK_TIME), column_i64(find, WALK_ROW) };
        return database_finish(database, find);
}

/* The next results of a name, some of which need points. */
typedef struct Stretch {
        int64_t rows[STEP_ROWS]; /* that need points */
        size_t n, n_seen;
} Stretch;

enum { NEXT_ROW, NEXT_TIME, NEXT_IS_UNINDEXED, N_NEXT_COLUMNS };
STATEMENT walk_next = {
        "SELECT e.row, e.time_ms, i.name IS NOT NULL FROM"
        " (SELECT row, time_ms, name, component, uid FROM result INDEXED BY result_by_name"
        "  WHERE name = ?1 AND (time_ms, row) < (?2, ?3) ORDER BY time_ms DESC, row DESC LIMIT ?4) AS e"
        " LEFT JOIN indicator AS i ON i.name = e.name AND i.component = e.component AND i.uid = e.uid"
        " AND i.shape IS NOT NULL AND e.row < i.indexed_from ORDER BY e.time_ms DESC, e.row DESC",
        N_NEXT_COLUMNS,
};

/* Moves the walk behind the stretch. */
static int read_stretch(Database *database, Walk *walk, Stretch *ret) {
        Prepared *next = database_prepare(database, &walk_next, FIELDS(field_i64(walk->name), field_i64(walk->time_ms),
                                                                       field_i64(walk->row), field_i64(STEP_ROWS)));
        int r;

        ret->n = ret->n_seen = 0;
        while ((r = database_step(database, next)) == DATABASE_ROW) {
                assert(ret->n_seen < STEP_ROWS);
                ret->n_seen++;
                walk->row = column_i64(next, NEXT_ROW);
                walk->time_ms = column_i64(next, NEXT_TIME);
                if (column_i64(next, NEXT_IS_UNINDEXED))
                        ret->rows[ret->n++] = walk->row;
        }
        return r;
}

static int write_walk(Database *database, const Walk *walk) {
        return database_run(database, &walk_put, FIELDS(field_i64(walk->name), field_i64(walk->time_ms), field_i64(walk->row)));
}

/* Behind the last result: notes that some indicators of the name are done, and with the last of them ends the walk. */
static int end_some(Database *database, const Walk *walk) {
        int r = database_run(database, &name_done, FIELDS(field_i64(walk->name), field_i64(STEP_ROWS)));

        if (r != 0)
                return r;
        return database_changes(database) < STEP_ROWS ? database_run(database, &walk_remove, NULL, 0) : write_walk(database, walk);
}

int indexing_find(Database *database, bool *ret_has_work) {
        int64_t name = 0;
        int r;

        r = shape_update_find(database, ret_has_work);
        if (r == 0 && !*ret_has_work) {
                r = database_get(database, &name_next, NULL, 0, &name);
                *ret_has_work = name != 0;
        }
        return r;
}

static int index_some(Database *database, Catalog *catalog) {
        Stretch stretch;
        Walk walk;
        int r;

        r = find_walk(database, &walk);
        if (r != 0 || walk.name == 0)
                return r;
        r = read_stretch(database, &walk, &stretch);
        for (size_t i = 0; r == 0 && i < stretch.n; i++)
                r = indexing_index_row(database, catalog, stretch.rows[i], NULL);
        if (r == 0 && stretch.n_seen < STEP_ROWS)
                r = end_some(database, &walk);
        else if (r == 0)
                r = write_walk(database, &walk);
        return r;
}

/* First all indicators get their shapes, because a new shape begins the walk of its name again. */
int indexing_step(Database *database, Catalog *catalog, bool *ret_has_more) {
        bool has_place;
        int r;

        r = shape_update_find(database, &has_place);
        if (r == 0)
                r = has_place ? shape_update_step(database) : index_some(database, catalog);
        return r == 0 ? indexing_find(database, ret_has_more) : r;
}
