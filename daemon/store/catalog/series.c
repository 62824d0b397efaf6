/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/series.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "json/json_text.h"
#include "request/request.h"

#define N_SLOTS 256
#define SLOT_BYTES_MAX 2048 /* of a key; a longer key is looked up each time */

typedef struct SeriesSlot {
        bool is_used;
        SeriesEntry entry;
        Buffer key; /* owned; packed */
} SeriesSlot;

struct SeriesCache {
        SeriesSlot slots[N_SLOTS];
        Buffer key; /* of the current call */
};

int series_new(SeriesCache **ret) {
        SeriesCache *series = calloc(1, sizeof(*series));

        if (!series)
                return -ENOMEM;

        *ret = series;
        return 0;
}

SeriesCache *series_free(SeriesCache *series) {
        if (!series)
                return NULL;

        for (size_t i = 0; i < N_SLOTS; i++)
                buffer_deinit(&series->slots[i].key);
        buffer_deinit(&series->key);
        free(series);
        return NULL;
}

void series_forget(SeriesCache *series) {
        for (size_t i = 0; i < N_SLOTS; i++)
                series->slots[i].is_used = false;
}

static void put_text(Buffer *buffer, Field text) {
        buffer_put(buffer, &text.n, sizeof(text.n));
        buffer_putc(buffer, text.text ? 'x' : '-');
        if (text.text)
                buffer_put(buffer, text.text, (size_t)text.n);
}

static int write_key(SeriesCache *series, const SeriesKey *key) {
        Buffer *buffer = &series->key;

        buffer_clear(buffer);
        buffer_put(buffer, &key->name, sizeof(key->name));
        buffer_put(buffer, &key->component, sizeof(key->component));
        buffer_put(buffer, &key->uid, sizeof(key->uid));
        buffer_put(buffer, &key->stack, sizeof(key->stack));
        put_text(buffer, key->shape);
        put_text(buffer, key->version);
        put_text(buffer, key->hardware);
        put_text(buffer, key->parameters);
        return buffer_error(buffer);
}

/* --- in the database ----------------------------------------------------------------------------- */

STATEMENT series_lookup = {
        "SELECT id FROM series INDEXED BY series_by_hash WHERE hash = ?1 AND name = ?2 AND component = ?3"
        " AND shape = ?4 AND version IS ?5 AND hardware IS ?6 AND parameters = ?7 AND uid = ?8 AND stack = ?9",
        1,
};

STATEMENT series_insert = {
        "INSERT INTO series (hash, name, component, shape, version, hardware, parameters, uid, stack)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id",
        1,
};

static int get_by_key(Database *database, const Statement *which, const SeriesKey *key, uint64_t hash, SeriesEntry *entry) {
        return database_get(database, which, FIELDS(field_i64((int64_t)hash), field_i64(key->name), field_i64(key->component),
                                                    field_i64(entry->shape), key->version, key->hardware, key->parameters,
                                                    field_i64(key->uid), field_i64(key->stack)),
                            &entry->id);
}

/* Binds numbers as numbers, strings as their text and other values as JSON: conditions look up values in these forms. */
static Field field_of(JsonText value, Buffer *text) {
        int64_t integer;
        double number;

        if (json_text_int(value, &integer))
                return field_i64(integer);
        if (json_text_double(value, &number))
                return field_double(number);
        json_text_decode(value, text);
        return field_buffer(text);
}

STATEMENT property_insert = {
        "INSERT INTO property (name, component, key, value, series, uid) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT DO NOTHING",
        0,
};

static int insert_property(Database *database, const SeriesKey *key, int64_t id, JsonText name) {
        JsonText parameters = json_text(key->parameters.text, (size_t)key->parameters.n), value;
        scoped(buffer_deinit) Buffer plain = {}, text = {};
        Field field;
        int r;

        json_text_decode(name, &plain);
        r = buffer_error(&plain);
        if (r < 0 || plain.n == 0)
                return r;
        value = json_text_find(parameters, plain.text);
        if (!value.text)
                return 0;

        field = field_of(value, &text);
        r = buffer_error(&text);
        return r != 0 ? r : database_run(database, &property_insert, FIELDS(field_i64(key->name), field_i64(key->component),
                                                                            field_buffer(&plain), field, field_i64(id),
                                                                            field_i64(key->uid)));
}

static int insert_properties(Database *database, const SeriesKey *key, int64_t id) {
        JsonText shape = json_text(key->shape.text, (size_t)key->shape.n), unused, name;
        JsonWalk walk = json_text_walk(json_text_find(shape, "parameters"));
        int r = 0;

        while (r == 0 && json_text_walk_next(&walk, &unused, &name))
                r = insert_property(database, key, id, name);
        return r;
}

STATEMENT result_find = {
        "SELECT row FROM result WHERE id = ?1",
        1,
};

static int is_stored(Database *database, const void *result_id, bool *ret) {
        int64_t row = 0;
        int r;

        r = result_id ? database_get(database, &result_find, FIELDS(field_blob(result_id, RESULT_ID_BYTES)), &row) : 0;
        if (r == 0)
                *ret = row != 0;
        return r;
}

static int find_or_insert(Database *database, const SeriesKey *key, uint64_t hash, const void *result_id,
                          int64_t *n_new_max, SeriesEntry *ret) {
        bool is_there = false;
        SeriesEntry entry = {};
        int r;

        r = series_shape_id(database, key->shape, &entry.shape);
        if (r != 0)
                return r;

        r = get_by_key(database, &series_lookup, key, hash, &entry);
        if (r == 0 && entry.id == 0)
                r = is_stored(database, result_id, &is_there);
        if (r == 0 && entry.id == 0 && !is_there && n_new_max && *n_new_max <= 0)
                return DATABASE_QUOTA;
        if (r == 0 && entry.id == 0 && !is_there) {
                if (n_new_max)
                        (*n_new_max)--;
                r = get_by_key(database, &series_insert, key, hash, &entry);
                if (r == 0)
                        r = insert_properties(database, key, entry.id);
        }
        if (r != 0)
                return r;

        *ret = entry;
        return 0;
}

/* --- remembered ids ------------------------------------------------------------------------------ */

static void remember(SeriesSlot *slot, const Buffer *key, const SeriesEntry *entry) {
        slot->is_used = false;
        if (key->n > SLOT_BYTES_MAX || entry->id == 0)
                return;

        buffer_clear(&slot->key);
        buffer_put(&slot->key, key->text, key->n);
        slot->is_used = buffer_error(&slot->key) == 0;
        slot->entry = *entry;
}

int series_find(SeriesCache *series, Database *database, const SeriesKey *key, const void *result_id, int64_t *n_new_max,
                SeriesEntry *ret) {
        SeriesEntry entry;
        SeriesSlot *slot;
        uint64_t hash;
        int r;

        r = write_key(series, key);
        if (r < 0)
                return r;

        hash = hash_bytes(HASH_BEGIN, series->key.text, series->key.n);
        slot = &series->slots[hash % N_SLOTS];
        if (slot->is_used && slot->key.n == series->key.n && memcmp(slot->key.text, series->key.text, slot->key.n) == 0) {
                *ret = slot->entry;
                return 0;
        }

        r = find_or_insert(database, key, hash, result_id, n_new_max, &entry);
        if (r != 0)
                return r;

        remember(slot, &series->key, &entry);
        *ret = entry;
        return 0;
}

/* --- points -------------------------------------------------------------------------------------- */

STATEMENT point_insert = {
        "INSERT INTO point (series, time_ms, row, score, numbers) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT DO UPDATE SET score = excluded.score, numbers = excluded.numbers",
        0,
};

STATEMENT point_delete = {
        "DELETE FROM point WHERE series = ?1 AND time_ms = ?2 AND row = ?3",
        0,
};

int series_put_point(Database *database, const Point *point) {
        assert(point->series > 0 && point->row > 0);
        return database_run(database, &point_insert, FIELDS(field_i64(point->series), field_u64(point->time_ms), field_i64(point->row),
                                                            point->score, point->numbers));
}

int series_remove_point(Database *database, int64_t series, uint64_t time_ms, int64_t row) {
        return database_run(database, &point_delete, FIELDS(field_i64(series), field_u64(time_ms), field_i64(row)));
}

/* --- shapes -------------------------------------------------------------------------------------- */

STATEMENT shape_find = { "SELECT id FROM shape WHERE keys = ?1", 1 };
STATEMENT shape_insert = { "INSERT INTO shape (keys) VALUES (?1) RETURNING id", 1 };

int series_shape_id(Database *database, Field shape, int64_t *ret) {
        return database_text_id(database, &shape_find, &shape_insert, shape, ret);
}
