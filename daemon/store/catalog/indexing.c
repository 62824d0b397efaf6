/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/indexing.h"

#include <assert.h>
#include <stdint.h>

#include "store/catalog/shape.h"

#define STEP_INDICATORS 256U

/*
 * Names whose indicators behind (name, component, uid) do not have their shapes yet. last_name: the name, or the
 * highest possible number for all names.
 */
const StoreTable indexing_shapes_table = {
        .name = "shape_update",
        .schema =
                "CREATE TABLE shape_update ("
                " number INTEGER PRIMARY KEY, name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL,"
                " last_name INTEGER NOT NULL UNIQUE);",
        .checks = { "SELECT count(*) FROM shape_update" },
        .erasure = &table_erasure_none,
};

/* The indicators up to last_name, by the order of their key, behind this one. */
typedef struct ShapeUpdatePlace {
        int64_t name, component, uid, last_name;
} ShapeUpdatePlace;

/* --- some indicators ----------------------------------------------------------------------------- */

enum { KEY_NAME, KEY_COMPONENT, KEY_UID, N_KEY_COLUMNS };
STATEMENT keys_next = SQL(
        "SELECT name, component, uid FROM indicator WHERE (name, component, uid) > (?1, ?2, ?3) AND name <= ?4"
        " ORDER BY name, component, uid LIMIT ?5", N_KEY_COLUMNS);

/* Moves the place behind the next indicators. */
static int move(Database *database, ShapeUpdatePlace *place, size_t n_max, size_t *ret_n) {
        Prepared *next = database_prepare(database, &keys_next,
                                          FIELDS(field_i64(place->name), field_i64(place->component),
                                                 field_i64(place->uid), field_i64(place->last_name), field_u64(n_max)));
        size_t n = 0;
        int r;

        while ((r = database_step(database, next)) == DATABASE_ROW) {
                place->name = column_i64(next, KEY_NAME);
                place->component = column_i64(next, KEY_COMPONENT);
                place->uid = column_i64(next, KEY_UID);
                n++;
        }
        *ret_n = n;
        return r;
}

STATEMENT row_next = SQL("SELECT ifnull(max(row), 0) + 1 FROM result", 1);

/* From ?1 on, results are indexed; those before are looked up in their documents until they are. */
STATEMENT shapes_apply = SQL(
        "UPDATE indicator SET shape = w.shape, indexed_from = ?1 FROM"
        " (SELECT i.name, i.component, i.uid, (" MODEL_SHAPE("i.uid") ") AS shape FROM indicator AS i"
        "  JOIN term AS n ON n.id = i.name JOIN term AS c ON c.id = i.component"
        "  WHERE (i.name, i.component, i.uid) > (?2, ?3, ?4) AND (i.name, i.component, i.uid) <= (?5, ?6, ?7)) AS w"
        " WHERE w.name = indicator.name AND w.component = indicator.component AND w.uid = indicator.uid"
        " AND w.shape IS NOT NULL AND indicator.shape IS NOT w.shape", 0);

/* Gives up to n_max indicators their shapes, and moves the place behind them. */
static int apply(Database *database, ShapeUpdatePlace *place, size_t n_max, size_t *ret_n) {
        const ShapeUpdatePlace from = *place;
        int64_t next = 1;
        int r;

        r = move(database, place, n_max, ret_n);
        if (r != 0 || *ret_n == 0)
                return r;
        r = database_get(database, &row_next, NULL, 0, &next);
        return r != 0 ? r
                      : database_run(database, &shapes_apply,
                                     FIELDS(field_i64(next), field_i64(from.name), field_i64(from.component),
                                            field_i64(from.uid), field_i64(place->name), field_i64(place->component),
                                            field_i64(place->uid)));
}

/* --- the names that wait ------------------------------------------------------------------------- */

STATEMENT term_id = SQL("SELECT id FROM term WHERE text = ?1", 1);
STATEMENT place_put = SQL(
        "INSERT OR REPLACE INTO shape_update (name, component, uid, last_name) VALUES (?1, ?2, ?3, ?4)", 0);
STATEMENT place_move = SQL("UPDATE shape_update SET name = ?1, component = ?2, uid = ?3 WHERE last_name = ?4", 0);
STATEMENT place_remove = SQL("DELETE FROM shape_update WHERE last_name = ?1", 0);

enum { PLACE_NAME, PLACE_COMPONENT, PLACE_UID, PLACE_LAST, N_PLACE_COLUMNS };
STATEMENT place_first = SQL("SELECT name, component, uid, last_name FROM shape_update ORDER BY number LIMIT 1",
                            N_PLACE_COLUMNS);

static int write_place(Database *database, const Statement *statement, const ShapeUpdatePlace *place) {
        return database_run(database, statement,
                            FIELDS(field_i64(place->name), field_i64(place->component), field_i64(place->uid),
                                   field_i64(place->last_name)));
}

/* last_name 0: there is none. */
static int find_first(Database *database, ShapeUpdatePlace *ret) {
        int64_t place[N_PLACE_COLUMNS] = {};
        int r;

        r = database_get_row(database, &place_first, NULL, 0, place, N_PLACE_COLUMNS);
        *ret = (ShapeUpdatePlace){ place[PLACE_NAME], place[PLACE_COMPONENT], place[PLACE_UID], place[PLACE_LAST] };
        return r;
}

int indexing_update_shapes(Database *database, const Field *name, size_t *n_now) {
        ShapeUpdatePlace place = { .last_name = INT64_MAX };
        size_t n_max = *n_now, n = 0;
        int r = 0;

        if (name) {
                r = database_get(database, &term_id, name, 1, &place.name);
                place.last_name = place.name;
                if (r != 0 || place.name == 0)
                        return r; /* the name has no results */
        }
        if (n_max > 0)
                r = apply(database, &place, n_max, &n);
        if (r != 0)
                return r;

        *n_now -= n;
        return n < n_max ? database_run(database, &place_remove, FIELDS(field_i64(place.last_name)))
                         : write_place(database, &place_put, &place);
}

/* Gives the next indicators their shapes, some of the name that has waited longest. */
static int update_some(Database *database, ShapeUpdatePlace place) {
        size_t n;
        int r;

        r = apply(database, &place, STEP_INDICATORS, &n);
        if (r == 0 && n < STEP_INDICATORS)
                r = database_run(database, &place_remove, FIELDS(field_i64(place.last_name)));
        else if (r == 0)
                r = write_place(database, &place_move, &place);
        return r;
}

#define STEP_ROWS 256

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

STATEMENT unindexed_row = SQL(
        "SELECT r.row, r.time_ms, r.name, r.component, r.uid, r.score, r.version, r.exit_status, r.series,"
        " ifnull(r.stack, 0),"
        " r.run, r.document, s.keys FROM result AS r"
        " CROSS JOIN indicator AS i ON i.name = r.name AND i.component = r.component AND i.uid = r.uid"
        " CROSS JOIN shape AS s ON s.id = i.shape"
        " WHERE r.row = ?1", N_UNINDEXED_COLUMNS);

STATEMENT result_series = SQL("UPDATE result SET series = ?2 WHERE row = ?1", 0);

static Field column_field(const Prepared *at, int i) {
        return field_if(!column_is_null(at, i), field_text(column_text(at, i) ?: "", column_bytes(at, i)));
}

/* Stores the point of the row, and removes that of its former series, if it had another. */
static int write_point(Database *database, Catalog *catalog, const Prepared *at, int64_t *n_new_max) {
        int64_t old_series = column_i64(at, UNINDEXED_SERIES);
        scoped(shape_parts_deinit) ShapeParts parts = {};
        Point point = { .row = column_i64(at, UNINDEXED_ROW), .time_ms = column_u64(at, UNINDEXED_TIME) };
        SeriesEntry series;
        int r;

        r = shape_parts_read(&parts, column_json(at, UNINDEXED_DOCUMENT), column_json(at, UNINDEXED_RUN),
                             column_json(at, UNINDEXED_KEYS), column_i64(at, UNINDEXED_EXIT_STATUS) != 0);
        if (r == 0)
                r = catalog_find_series(catalog, database,
                                        &(SeriesKey){
                                                .name = column_i64(at, UNINDEXED_NAME),
                                                .component = column_i64(at, UNINDEXED_COMPONENT),
                                                .uid = column_i64(at, UNINDEXED_UID),
                                                .stack = column_i64(at, UNINDEXED_STACK),
                                                .shape = column_field(at, UNINDEXED_KEYS),
                                                .version = column_field(at, UNINDEXED_VERSION),
                                                .hardware = parts.hardware,
                                                .parameters = parts.parameters,
                                        },
                                        NULL, n_new_max, &series);
        if (r != 0)
                return r;

        point.series = series.id;
        point.score = field_if(!column_is_null(at, UNINDEXED_SCORE), field_double(column_double(at, UNINDEXED_SCORE)));
        point.numbers = parts.numbers;
        r = catalog_put_point(database, &point);
        if (r != 0 || old_series == series.id)
                return r;
        r = database_run(database, &result_series, FIELDS(field_i64(point.row), field_i64(series.id)));
        return r != 0 || old_series == 0 ? r : catalog_remove_point(database, old_series, point.time_ms, point.row);
}

/* --- steps --------------------------------------------------------------------------------------- */

int indexing_index_row(Database *database, Catalog *catalog, int64_t number, int64_t *n_new_max) {
        Prepared *at = database_prepare(database, &unindexed_row, FIELDS(field_i64(number)));
        int r, of_end;

        r = database_step(database, at);
        if (r != DATABASE_ROW)
                return r;

        r = write_point(database, catalog, at, n_new_max);
        of_end = database_finish(database, at);
        return r != 0 ? r : of_end;
}

/* The results of a name that are before this place by time are still to be indexed. */
typedef struct Walk {
        int64_t name, time_ms, row; /* name 0: none */
} Walk;

enum { WALK_NAME, WALK_TIME, WALK_ROW, N_WALK_COLUMNS };
STATEMENT walk_find = SQL("SELECT name, time_ms, row FROM indexing", N_WALK_COLUMNS);
STATEMENT walk_put = SQL("INSERT OR REPLACE INTO indexing VALUES (1, ?1, ?2, ?3)", 0);
STATEMENT walk_remove = SQL("DELETE FROM indexing", 0);

STATEMENT name_next = SQL(
        "SELECT name FROM indicator WHERE shape IS NOT NULL AND indexed_from > 0 ORDER BY indexed_from DESC LIMIT 1",
        1);
STATEMENT name_done = SQL(
        "UPDATE indicator SET indexed_from = 0 WHERE (name, component, uid) IN (SELECT name, component, uid FROM"
        " indicator"
        " INDEXED BY indicator_unindexed WHERE name = ?1 AND shape IS NOT NULL AND indexed_from > 0 ORDER BY"
        " indexed_from DESC LIMIT ?2)",
        0);

static int find_walk(Database *database, Walk *ret) {
        int64_t walk[N_WALK_COLUMNS] = { [WALK_TIME] = INT64_MAX, [WALK_ROW] = INT64_MAX };
        int r;

        r = database_get_row(database, &walk_find, NULL, 0, walk, N_WALK_COLUMNS);
        if (r == 0 && walk[WALK_NAME] == 0)
                r = database_get(database, &name_next, NULL, 0, &walk[WALK_NAME]);
        *ret = (Walk){ walk[WALK_NAME], walk[WALK_TIME], walk[WALK_ROW] };
        return r;
}

/* The next results of a name, some of which need points. */
typedef struct Stretch {
        int64_t rows[STEP_ROWS]; /* that need points */
        size_t n, n_seen;
} Stretch;

enum { NEXT_ROW, NEXT_TIME, NEXT_IS_UNINDEXED, N_NEXT_COLUMNS };
STATEMENT walk_next = SQL(
        "SELECT e.row, e.time_ms, i.name IS NOT NULL FROM"
        " (SELECT row, time_ms, name, component, uid FROM result INDEXED BY result_by_name"
        "  WHERE name = ?1 AND (time_ms, row) < (?2, ?3) ORDER BY time_ms DESC, row DESC LIMIT ?4) AS e"
        " LEFT JOIN indicator AS i ON i.name = e.name AND i.component = e.component AND i.uid = e.uid"
        " AND i.shape IS NOT NULL AND e.row < i.indexed_from ORDER BY e.time_ms DESC, e.row DESC", N_NEXT_COLUMNS);

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
        return database_run(database, &walk_put,
                            FIELDS(field_i64(walk->name), field_i64(walk->time_ms), field_i64(walk->row)));
}

/* Behind the last result: notes that some indicators of the name are done, and with the last of them ends the walk. */
static int end_some(Database *database, const Walk *walk) {
        int r = database_run(database, &name_done, FIELDS(field_i64(walk->name), field_i64(STEP_ROWS)));

        if (r != 0)
                return r;
        return database_changes(database) < STEP_ROWS ? database_run(database, &walk_remove, NULL, 0)
                                                      : write_walk(database, walk);
}

int indexing_find(Database *database, bool *ret_has_work) {
        ShapeUpdatePlace place;
        int64_t name = 0;
        int r;

        r = find_first(database, &place);
        if (r == 0 && place.last_name == 0)
                r = database_get(database, &name_next, NULL, 0, &name);
        *ret_has_work = place.last_name != 0 || name != 0;
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
        ShapeUpdatePlace place;
        int r;

        r = find_first(database, &place);
        if (r == 0)
                r = place.last_name != 0 ? update_some(database, place) : index_some(database, catalog);
        return r == 0 ? indexing_find(database, ret_has_more) : r;
}
