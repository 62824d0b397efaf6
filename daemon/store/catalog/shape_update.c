/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/shape_update.h"

#include <assert.h>
#include <stdint.h>

#define STEP_INDICATORS 256U

/*
 * Names whose indicators behind (name, component, uid) do not have their shapes yet. last_name: the name, or the highest possible number
 * for all names.
 */
const StoreTable shape_update_table = {
        .name = "shape_update",
        .schema =
                "CREATE TABLE shape_update ("
                " number INTEGER PRIMARY KEY, name INTEGER NOT NULL, component INTEGER NOT NULL, uid INTEGER NOT NULL,"
                " last_name INTEGER NOT NULL UNIQUE) STRICT;",
        .checks = { "SELECT count(*) FROM shape_update" },
};

/* The indicators up to last_name, by the order of their key, behind this one. */
typedef struct ShapeUpdatePlace {
        int64_t name, component, uid, last_name;
} ShapeUpdatePlace;

/* --- some indicators ----------------------------------------------------------------------------- */

enum { KEY_NAME, KEY_COMPONENT, KEY_UID, N_KEY_COLUMNS };
STATEMENT keys_next = {
        "SELECT name, component, uid FROM indicator WHERE (name, component, uid) > (?1, ?2, ?3) AND name <= ?4"
        " ORDER BY name, component, uid LIMIT ?5",
        N_KEY_COLUMNS,
};

/* Moves the place behind the next indicators. */
static int move(Database *database, ShapeUpdatePlace *place, size_t n_max, size_t *ret_n) {
        Prepared *next = database_prepare(database, &keys_next,
                                          FIELDS(field_i64(place->name), field_i64(place->component), field_i64(place->uid),
                                                 field_i64(place->last_name), field_u64(n_max)));
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

STATEMENT row_next = { "SELECT ifnull(max(row), 0) + 1 FROM result", 1 };

/* From ?1 on, results are indexed; those before are looked up in their documents until they are. */
STATEMENT shapes_apply = {
        "UPDATE indicator SET shape = w.shape, indexed_from = ?1 FROM"
        " (SELECT i.name, i.component, i.uid, (" MODEL_SHAPE("i.uid") ") AS shape FROM indicator AS i"
        "  JOIN term AS n ON n.id = i.name JOIN term AS c ON c.id = i.component"
        "  WHERE (i.name, i.component, i.uid) > (?2, ?3, ?4) AND (i.name, i.component, i.uid) <= (?5, ?6, ?7)) AS w"
        " WHERE w.name = indicator.name AND w.component = indicator.component AND w.uid = indicator.uid"
        " AND w.shape IS NOT NULL AND indicator.shape IS NOT w.shape",
        0,
};

/* Gives up to n_max indicators their shapes, and moves the place behind them. */
static int apply(Database *database, ShapeUpdatePlace *place, size_t n_max, size_t *ret_n) {
        const ShapeUpdatePlace from = *place;
        int64_t next = 1;
        int r;

        r = move(database, place, n_max, ret_n);
        if (r != 0 || *ret_n == 0)
                return r;
        r = database_get(database, &row_next, NULL, 0, &next);
        return r != 0 ? r : database_run(database, &shapes_apply,
                                         FIELDS(field_i64(next), field_i64(from.name), field_i64(from.component), field_i64(from.uid),
                                                field_i64(place->name), field_i64(place->component), field_i64(place->uid)));
}

/* --- the names that wait ------------------------------------------------------------------------- */

STATEMENT term_id = { "SELECT id FROM term WHERE text = ?1", 1 };
STATEMENT place_put = { "INSERT OR REPLACE INTO shape_update (name, component, uid, last_name) VALUES (?1, ?2, ?3, ?4)", 0 };
STATEMENT place_move = { "UPDATE shape_update SET name = ?1, component = ?2, uid = ?3 WHERE last_name = ?4", 0 };
STATEMENT place_remove = { "DELETE FROM shape_update WHERE last_name = ?1", 0 };

enum { PLACE_NAME, PLACE_COMPONENT, PLACE_UID, PLACE_LAST, N_PLACE_COLUMNS };
STATEMENT place_first = { "SELECT name, component, uid, last_name FROM shape_update ORDER BY number LIMIT 1", N_PLACE_COLUMNS };

static int write_place(Database *database, const Statement *statement, const ShapeUpdatePlace *place) {
        return database_run(database, statement, FIELDS(field_i64(place->name), field_i64(place->component), field_i64(place->uid),
                                                        field_i64(place->last_name)));
}

static int find_first(Database *database, ShapeUpdatePlace *ret) {
        Prepared *first = database_prepare(database, &place_first, NULL, 0);
        int r;

        *ret = (ShapeUpdatePlace){};
        r = database_step(database, first);
        if (r != DATABASE_ROW)
                return r;
        *ret = (ShapeUpdatePlace){ column_i64(first, PLACE_NAME), column_i64(first, PLACE_COMPONENT), column_i64(first, PLACE_UID),
                        column_i64(first, PLACE_LAST) };
        return database_finish(database, first);
}

int shape_update_begin(Database *database, const Field *name, size_t *n_now) {
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

int shape_update_find(Database *database, bool *ret_has_work) {
        ShapeUpdatePlace place;
        int r;

        r = find_first(database, &place);
        *ret_has_work = r == 0 && place.last_name != 0;
        return r;
}

int shape_update_step(Database *database) {
        ShapeUpdatePlace place;
        size_t n;
        int r;

        r = find_first(database, &place);
        assert(r != 0 || place.last_name != 0);
        if (r == 0)
                r = apply(database, &place, STEP_INDICATORS, &n);
        if (r == 0 && n < STEP_INDICATORS)
                r = database_run(database, &place_remove, FIELDS(field_i64(place.last_name)));
        else if (r == 0)
                r = write_place(database, &place_move, &place);
        return r;
}
