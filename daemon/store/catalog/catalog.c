/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator.h"
#include "json/json_text.h"
#include "request/request.h"
#include "store/retention/holders.h"
#include "util/hash.h"

#define N_SLOTS 64

/* Each pair of name and component has one slot; pairs with the same slot replace each other. */
typedef struct CatalogSlot {
        bool is_used;
        CatalogEntry entry;
        char name[NAME_MAX_BYTES + 1];
        char component[COMPONENT_MAX_BYTES + 1];
} CatalogSlot;

#define N_USERS 16

#define N_SERIES_SLOTS 256
#define SLOT_BYTES_MAX 2048 /* of a key; a longer key is looked up each time */

typedef struct SeriesSlot {
        bool is_used;
        SeriesEntry entry;
        Buffer key; /* owned; packed */
} SeriesSlot;

struct Catalog {
        CatalogSlot slots[N_SLOTS];
        Shares *shares; /* borrowed, or NULL */
        Headroom headrooms[N_USERS]; /* of the running transaction, by uid */
        HeldRows holdings[N_USERS];   /* amounts that the running transaction adds, by uid */
        SeriesSlot series[N_SERIES_SLOTS];
        Buffer series_key; /* owned; of the current call */
        bool has_unindexed;
        int n_job_models; /* models of jobs; -1: to be counted */
};

int catalog_new(Catalog **ret, Shares *shares) {
        Catalog *catalog = calloc(1, sizeof(*catalog));

        if (!catalog)
                return -ENOMEM;

        catalog->shares = shares;
        catalog->n_job_models = -1;
        *ret = catalog;
        return 0;
}

Catalog *catalog_free(Catalog *catalog) {
        if (!catalog)
                return NULL;

        for (size_t i = 0; i < N_SERIES_SLOTS; i++)
                buffer_deinit(&catalog->series[i].key);
        buffer_deinit(&catalog->series_key);
        free(catalog);
        return NULL;
}

STATEMENT term_find = SQL("SELECT id FROM term WHERE text = ?1", 1);
STATEMENT term_insert = SQL("INSERT INTO term (text) VALUES (?1)", 0);

static int term_id(Database *database, Field text, int64_t *ret) {
        return database_text_id(database, &term_find, &term_insert, text, ret);
}

STATEMENT term_show = SQL("UPDATE term SET shown = ?2 WHERE id = ?1 AND shown IS NULL", 0);

static int show_component(Database *database, int64_t component, const CatalogNames *names) {
        bool is_written = names->written_component.type == FIELD_TEXT;

        return database_run(database, &term_show,
                            FIELDS(field_i64(component), is_written ? names->written_component : names->component));
}

STATEMENT index_put = SQL(
        "UPDATE indicator SET shape = ?3, indexed_from = ?4 WHERE name = ?1 AND component = ?2 AND uid = ?5", 0);

static int write_index(CatalogEntry *entry, Database *database) {
        bool is_indexed = entry->shape != 0;

        entry->is_index_new = false;
        return database_run(database, &index_put, FIELDS(field_i64(entry->name), field_i64(entry->component),
                                                         field_if(is_indexed, field_i64(entry->shape)),
                                                         field_if(is_indexed, field_i64(entry->indexed_from)),
                                                         field_i64(entry->uid)));
}

enum { INDEX_IS_KNOWN, INDEX_SHAPE, INDEX_FROM, N_INDEX_COLUMNS };

STATEMENT index_find = SQL(
        "SELECT 1, shape, indexed_from FROM indicator WHERE name = ?1 AND component = ?2 AND uid = ?3",
        N_INDEX_COLUMNS);

static int read_index(CatalogEntry *entry, Database *database) {
        int64_t index[N_INDEX_COLUMNS] = {};
        int r;

        r = database_get_row(database, &index_find,
                             FIELDS(field_i64(entry->name), field_i64(entry->component), field_i64(entry->uid)), index,
                             N_INDEX_COLUMNS);
        entry->is_known = index[INDEX_IS_KNOWN];
        entry->shape = index[INDEX_SHAPE];
        entry->indexed_from = index[INDEX_FROM];
        return r;
}

STATEMENT count_add = SQL(
        "INSERT INTO indicator (name, component, uid, n_results, latest_ms) VALUES (?1, ?2, ?5, ?3, ?4)"
        " ON CONFLICT (name, component, uid) DO UPDATE SET n_results = n_results + excluded.n_results,"
        " latest_ms = max(latest_ms, excluded.latest_ms)", 0);

static int slot_flush(CatalogSlot *slot, Database *database) {
        CatalogEntry *entry = &slot->entry;
        int r;

        if (!slot->is_used || entry->n_added == 0)
                return 0;

        assert(entry->name > 0 && entry->component > 0);
        r = database_run(database, &count_add,
                         FIELDS(field_i64(entry->name), field_i64(entry->component), field_u64(entry->n_added),
                                field_u64(entry->latest_ms), field_i64(entry->uid)));
        entry->n_added = 0;
        entry->latest_ms = 0;
        return r == 0 && entry->is_index_new ? write_index(entry, database) : r;
}

static int slot_fill(CatalogSlot *slot, Database *database, const CatalogNames *names, Headroom *headroom) {
        CatalogEntry entry = { .uid = headroom->uid };
        int r;

        r = slot_flush(slot, database);
        slot->is_used = false;
        if (r == 0)
                r = term_id(database, names->name, &entry.name);
        if (r == 0)
                r = term_id(database, names->component, &entry.component);
        if (r == 0)
                r = read_index(&entry, database);
        if (r == 0 && !entry.is_known && headroom->n_names-- <= 0) {
                headroom->lacks_name = true;
                return DATABASE_QUOTA;
        }
        if (r == 0 && !entry.is_known)
                r = show_component(database, entry.component, names);
        if (r != 0)
                return r;

        slot->is_used = true;
        slot->entry = entry;
        return 0;
}

static bool slot_matches(const CatalogSlot *slot, Field name, Field component, int64_t uid) {
        return slot->is_used && slot->entry.uid == uid && strcmp(slot->name, name.text) == 0 &&
               strcmp(slot->component, component.text) == 0;
}

int catalog_find(Catalog *catalog, Database *database, const CatalogNames *names, Headroom *headroom,
                 CatalogEntry **ret) {
        Field name = names->name, component = names->component;
        uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, name.text, (size_t)name.n), component.text,
                                   (size_t)component.n);
        CatalogSlot *slot = &catalog->slots[(hash + (uint64_t)headroom->uid) % N_SLOTS];
        int r;

        assert(name.n <= (int)NAME_MAX_BYTES && component.n <= (int)COMPONENT_MAX_BYTES);
        if (!slot_matches(slot, name, component, headroom->uid)) {
                r = slot_fill(slot, database, names, headroom);
                if (r != 0)
                        return r;
                memcpy(slot->name, name.text, (size_t)name.n + 1);
                memcpy(slot->component, component.text, (size_t)component.n + 1);
        }

        *ret = &slot->entry;
        return 0;
}

/* --- headroom ------------------------------------------------------------------------------------ */

static ShareAccount *open_account(Catalog *catalog, int64_t uid) {
        return shares_open_account(catalog->shares, &(Owner){ .uid = (uint32_t)uid, .is_admin = uid == 0 });
}

static int read_headroom(Catalog *catalog, Database *database, int64_t uid, Headroom *ret) {
        HolderCounts counts;
        ShareAccount *account;
        int r;

        r = holders_read(database, uid, &counts);
        if (r != 0)
                return r;
        account = open_account(catalog, uid);
        if (!account)
                return -ENOMEM;

        *ret = (Headroom){
                .uid = uid,
                .n_names = (int64_t)shares_find_share(account, RESOURCE_NAMES) - counts.n_names,
                .n_series = (int64_t)shares_find_share(account, RESOURCE_SERIES) - counts.n_series,
                .is_valid = true,
        };
        shares_close_account(account);
        return 0;
}

int catalog_find_headroom(Catalog *catalog, Database *database, int64_t uid, bool is_exempt, Headroom **ret) {
        Headroom *headroom = &catalog->headrooms[uid % N_USERS];
        int r = 0;

        if (is_exempt || !catalog->shares)
                /* not valid for the next call */
                *headroom = (Headroom){ .uid = uid, .n_names = INT64_MAX, .n_series = INT64_MAX };
        else if (!headroom->is_valid || headroom->uid != uid)
                r = read_headroom(catalog, database, uid, headroom);
        if (r == 0)
                *ret = headroom;
        return r;
}

void catalog_note_refusal(Catalog *catalog, int64_t uid, Resource resource) {
        ShareAccount *account = open_account(catalog, uid);

        if (account)
                shares_note_refusal(account, resource);
        shares_close_account(account);
}

/* --- entries ------------------------------------------------------------------------------------- */

static int add_to_holding(Catalog *catalog, Database *database, int64_t uid, const CatalogResult *result) {
        HeldRows *holding = &catalog->holdings[uid % N_USERS];
        int64_t block = result->row / HOLDING_BLOCK_ROWS;
        int r = 0;

        if (holding->uid != uid || holding->block != block) {
                r = holders_add(database, holding);
                *holding = (HeldRows){ .uid = uid, .block = block };
        }
        holding->n_rows++;
        holding->n_bytes += result->n_bytes;
        return r;
}

int catalog_add(Catalog *catalog, Database *database, CatalogEntry *entry, const CatalogResult *result) {
        int64_t shape = result->shape;

        assert(result->row > 0 && shape >= 0 && result->n_bytes > 0);
        assert((const char *)entry >= (const char *)catalog->slots &&
               (const char *)entry < (const char *)(catalog->slots + N_SLOTS));
        entry->n_added++;
        if (entry->latest_ms < result->time_ms)
                entry->latest_ms = result->time_ms;

        if (entry->shape != shape) {
                entry->shape = shape;
                entry->indexed_from = entry->is_known ? result->row : 0;
                entry->is_index_new = true;
                catalog->has_unindexed |= shape != 0 && entry->is_known;
        }
        entry->is_known = true;
        return add_to_holding(catalog, database, entry->uid, result);
}

void catalog_note_unindexed(Catalog *catalog) {
        catalog->has_unindexed = true;
}

bool catalog_take_unindexed(Catalog *catalog) {
        bool has_unindexed = catalog->has_unindexed;

        catalog->has_unindexed = false;
        return has_unindexed;
}

void catalog_forget_series(Catalog *catalog) {
        for (size_t i = 0; i < N_SERIES_SLOTS; i++)
                catalog->series[i].is_used = false;
}

/* The transaction ends, and the shares of users change meanwhile. */
static void forget_users(Catalog *catalog) {
        for (size_t i = 0; i < N_USERS; i++) {
                catalog->headrooms[i].is_valid = false;
                catalog->holdings[i] = (HeldRows){};
        }
}

int catalog_flush(Catalog *catalog, Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SLOTS; i++)
                r = slot_flush(&catalog->slots[i], database);
        for (size_t i = 0; r == 0 && i < N_USERS; i++)
                r = holders_add(database, &catalog->holdings[i]);
        forget_users(catalog);
        return r;
}

void catalog_forget(Catalog *catalog) {
        for (size_t i = 0; i < N_SLOTS; i++)
                catalog->slots[i].is_used = false;
        catalog_forget_series(catalog);
        forget_users(catalog);
        catalog->n_job_models = -1;
}

int *catalog_job_models(Catalog *catalog) {
        return &catalog->n_job_models;
}

/* --- series -------------------------------------------------------------------------------------- */

static void put_text(Buffer *buffer, Field text) {
        buffer_put(buffer, &text.n, sizeof(text.n));
        buffer_putc(buffer, text.text ? 'x' : '-');
        if (text.text)
                buffer_put(buffer, text.text, (size_t)text.n);
}

static int write_key(Catalog *catalog, const SeriesKey *key) {
        Buffer *buffer = &catalog->series_key;

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

STATEMENT series_lookup = SQL(
        "SELECT id FROM series INDEXED BY series_by_hash WHERE hash = ?1 AND name = ?2 AND component = ?3"
        " AND shape = ?4 AND version IS ?5 AND hardware IS ?6 AND parameters = ?7 AND uid = ?8 AND stack = ?9", 1);

STATEMENT series_insert = SQL(
        "INSERT INTO series (hash, name, component, shape, version, hardware, parameters, uid, stack)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", 0);

/* Finds or inserts the series. */
static int get_by_key(Database *database, const Statement *which, const SeriesKey *key, uint64_t hash,
                      SeriesEntry *entry) {
        int (*run)(Database *, const Statement *, const Field *, size_t, int64_t *) =
                which == &series_insert ? database_insert : database_get;

        return run(database, which,
                   FIELDS(field_i64((int64_t)hash), field_i64(key->name), field_i64(key->component),
                          field_i64(entry->shape), key->version, key->hardware, key->parameters, field_i64(key->uid),
                          field_i64(key->stack)),
                   &entry->id);
}

/* Binds numbers as numbers, strings as their text and other values as JSON: conditions look up values in these
 * forms. */
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

STATEMENT property_insert = SQL(
        "INSERT INTO property (name, component, key, value, series, uid) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT DO NOTHING", 0);

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
        return r != 0 ? r
                      : database_run(database, &property_insert,
                                     FIELDS(field_i64(key->name), field_i64(key->component), field_buffer(&plain),
                                            field, field_i64(id), field_i64(key->uid)));
}

static int insert_properties(Database *database, const SeriesKey *key, int64_t id) {
        JsonText shape = json_text(key->shape.text, (size_t)key->shape.n), unused, name;
        JsonWalk walk = json_text_walk(json_text_find(shape, "parameters"));
        int r = 0;

        while (r == 0 && json_text_walk_next(&walk, &unused, &name))
                r = insert_property(database, key, id, name);
        return r;
}

STATEMENT result_find = SQL("SELECT row FROM result WHERE id = ?1", 1);

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

        r = catalog_find_shape(database, key->shape, &entry.shape);
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

int catalog_find_series(Catalog *catalog, Database *database, const SeriesKey *key, const void *result_id,
                        int64_t *n_new_max, SeriesEntry *ret) {
        SeriesEntry entry;
        SeriesSlot *slot;
        uint64_t hash;
        int r;

        r = write_key(catalog, key);
        if (r < 0)
                return r;

        hash = hash_bytes(HASH_BEGIN, catalog->series_key.text, catalog->series_key.n);
        slot = &catalog->series[hash % N_SERIES_SLOTS];
        if (slot->is_used && slot->key.n == catalog->series_key.n &&
            memcmp(slot->key.text, catalog->series_key.text, slot->key.n) == 0) {
                *ret = slot->entry;
                return 0;
        }

        r = find_or_insert(database, key, hash, result_id, n_new_max, &entry);
        if (r != 0)
                return r;

        remember(slot, &catalog->series_key, &entry);
        *ret = entry;
        return 0;
}

/* --- points -------------------------------------------------------------------------------------- */

STATEMENT point_insert = SQL(
        "INSERT INTO point (series, time_ms, row, score, numbers) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT (series, time_ms, row) DO UPDATE SET score = excluded.score, numbers = excluded.numbers", 0);

STATEMENT point_delete = SQL("DELETE FROM point WHERE series = ?1 AND time_ms = ?2 AND row = ?3", 0);

int catalog_put_point(Database *database, const Point *point) {
        assert(point->series > 0 && point->row > 0);
        return database_run(database, &point_insert,
                            FIELDS(field_i64(point->series), field_u64(point->time_ms), field_i64(point->row),
                                   point->score, point->numbers));
}

int catalog_remove_point(Database *database, int64_t series, uint64_t time_ms, int64_t row) {
        return database_run(database, &point_delete, FIELDS(field_i64(series), field_u64(time_ms), field_i64(row)));
}

/* --- shapes -------------------------------------------------------------------------------------- */

STATEMENT shape_find = SQL("SELECT id FROM shape WHERE keys = ?1", 1);
STATEMENT shape_insert = SQL("INSERT INTO shape (keys) VALUES (?1)", 0);

int catalog_find_shape(Database *database, Field shape, int64_t *ret) {
        return database_text_id(database, &shape_find, &shape_insert, shape, ret);
}
