/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request/request.h"
#include "util/hash.h"
#include "util/json_text.h"

#define N_SLOTS 256
#define SLOT_BYTES_MAX 2048 /* of a key; a longer one is looked up each time */

typedef struct Slot {
        bool is_used;
        SeriesEntry entry;
        Buffer key; /* packed */
} Slot;

struct Series {
        Slot slots[N_SLOTS];
        Buffer key; /* of the question at hand */
};

int series_new(Series **ret) {
        Series *series = calloc(1, sizeof(*series));

        if (!series)
                return -ENOMEM;

        *ret = series;
        return 0;
}

Series *series_free(Series *series) {
        if (!series)
                return NULL;

        for (size_t i = 0; i < N_SLOTS; i++)
                buffer_deinit(&series->slots[i].key);
        buffer_deinit(&series->key);
        free(series);
        return NULL;
}

void series_forget(Series *series) {
        for (size_t i = 0; i < N_SLOTS; i++)
                series->slots[i].is_used = false;
}

static void put_text(Buffer *buffer, Text text) {
        buffer_put(buffer, &text.n, sizeof(text.n));
        buffer_putc(buffer, text.text ? 'x' : '-');
        if (text.text)
                buffer_put(buffer, text.text, (size_t)text.n);
}

static int write_key(Series *series, const SeriesKey *key) {
        Buffer *buffer = &series->key;

        buffer_clear(buffer);
        pack_u64(buffer, (uint64_t)key->name);
        pack_u64(buffer, (uint64_t)key->component);
        put_text(buffer, key->shape);
        put_text(buffer, key->version);
        put_text(buffer, key->hardware);
        put_text(buffer, key->parameters);
        return buffer_error(buffer);
}

/* --- in the database ----------------------------------------------------------------------------- */

static void bind_key(Database *database, Statement which, const SeriesKey *key, uint64_t h, int64_t shape) {
        sqlite3_stmt *statement = database_statement(database, which);

        sqlite3_bind_int64(statement, 1, (int64_t)h);
        sqlite3_bind_int64(statement, 2, key->name);
        sqlite3_bind_int64(statement, 3, key->component);
        sqlite3_bind_int64(statement, 4, shape);
        bind_text(statement, 5, key->version);
        bind_text(statement, 6, key->hardware);
        bind_text(statement, 7, key->parameters);
}

/* Numbers as numbers, strings as what they say, all else as it is spelt: what a condition can be looked up by. */
static int bind_value(sqlite3_stmt *statement, int i, JsonText value, Buffer *text) {
        int64_t integer;
        double number;

        if (json_text_int(value, &integer)) {
                sqlite3_bind_int64(statement, i, integer);
                return 0;
        }
        if (json_text_double(value, &number)) {
                sqlite3_bind_double(statement, i, number);
                return 0;
        }
        json_text_say(value, text);
        bind_text(statement, i, (Text){ text->text, (int)text->n });
        return buffer_error(text);
}

static int insert_property(Database *database, const SeriesKey *key, int64_t id, JsonText name) {
        JsonText parameters = json_text(key->parameters.text, (size_t)key->parameters.n), value;
        sqlite3_stmt *insert = database_statement(database, STATEMENT_PROPERTY_INSERT);
        scoped(buffer_deinit) Buffer plain = {}, text = {};
        int r;

        json_text_say(name, &plain);
        r = buffer_error(&plain);
        if (r < 0 || plain.n == 0)
                return r;
        value = json_text_find(parameters, plain.text);
        if (!value.text)
                return 0;

        sqlite3_bind_int64(insert, 1, key->name);
        sqlite3_bind_int64(insert, 2, key->component);
        bind_text(insert, 3, (Text){ plain.text, (int)plain.n });
        sqlite3_bind_int64(insert, 5, id);
        r = bind_value(insert, 4, value, &text);
        if (r == 0)
                r = database_run(database, STATEMENT_PROPERTY_INSERT);
        sqlite3_clear_bindings(insert);
        return r;
}

static int insert_properties(Database *database, const SeriesKey *key, int64_t id) {
        JsonText shape = json_text(key->shape.text, (size_t)key->shape.n), unused, name;
        JsonWalk walk = json_walk(json_text_find(shape, "parameters"));
        int r = 0;

        while (r == 0 && json_walk_next(&walk, &unused, &name))
                r = insert_property(database, key, id, name);
        return r;
}

static int is_stored(Database *database, const void *result_id, bool *ret) {
        int64_t row = 0;
        int r;

        if (!result_id) {
                *ret = false;
                return 0;
        }

        sqlite3_bind_blob(database_statement(database, STATEMENT_RESULT_FIND), 1, result_id, RESULT_ID_BYTES, SQLITE_STATIC);
        r = database_get(database, STATEMENT_RESULT_FIND, &row);
        if (r == 0)
                *ret = row != 0;
        return r;
}

static int find_or_insert(Database *database, const SeriesKey *key, uint64_t h, const void *result_id, SeriesEntry *ret) {
        bool is_there = false;
        SeriesEntry entry = {};
        int r;

        r = database_number(database, STATEMENT_LAYOUT_FIND, STATEMENT_LAYOUT_INSERT, key->shape, &entry.shape);
        if (r != 0)
                return r;

        bind_key(database, STATEMENT_SERIES_FIND, key, h, entry.shape);
        r = database_get(database, STATEMENT_SERIES_FIND, &entry.id);
        if (r == 0 && entry.id == 0)
                r = is_stored(database, result_id, &is_there);
        if (r == 0 && entry.id == 0 && !is_there) {
                bind_key(database, STATEMENT_SERIES_INSERT, key, h, entry.shape);
                r = database_get(database, STATEMENT_SERIES_INSERT, &entry.id);
                if (r == 0)
                        r = insert_properties(database, key, entry.id);
        }
        if (r != 0)
                return r;

        *ret = entry;
        return 0;
}

/* --- remembered ---------------------------------------------------------------------------------- */

static void remember(Slot *slot, const Buffer *key, const SeriesEntry *entry) {
        slot->is_used = false;
        if (key->n > SLOT_BYTES_MAX || entry->id == 0)
                return;

        buffer_clear(&slot->key);
        buffer_put(&slot->key, key->text, key->n);
        slot->is_used = buffer_error(&slot->key) == 0;
        slot->entry = *entry;
}

int series_find(Series *series, Database *database, const SeriesKey *key, const void *result_id, SeriesEntry *ret) {
        SeriesEntry entry;
        Slot *slot;
        uint64_t h;
        int r;

        r = write_key(series, key);
        if (r < 0)
                return r;

        h = hash_bytes(HASH_BEGIN, series->key.text, series->key.n);
        slot = &series->slots[h % N_SLOTS];
        if (slot->is_used && slot->key.n == series->key.n && memcmp(slot->key.text, series->key.text, slot->key.n) == 0) {
                *ret = slot->entry;
                return 0;
        }

        r = find_or_insert(database, key, h, result_id, &entry);
        if (r != 0)
                return r;

        remember(slot, &series->key, &entry);
        *ret = entry;
        return 0;
}

int point_put(Database *database, const Point *point) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_POINT_PUT);

        sqlite3_bind_int64(put, 1, point->series);
        bind_u64(put, 2, point->time_ms);
        sqlite3_bind_int64(put, 3, point->row);
        if (point->has_score)
                sqlite3_bind_double(put, 4, point->score);
        else
                sqlite3_bind_null(put, 4);
        if (point->numbers.text)
                sqlite3_bind_blob(put, 5, point->numbers.text, point->numbers.n, SQLITE_STATIC);
        else
                sqlite3_bind_null(put, 5);
        return database_run(database, STATEMENT_POINT_PUT);
}
