/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "document/indicator.h"
#include "store/retention/holders.h"

#define N_SLOTS 64

/* Each pair of name and component has one slot; pairs with the same slot replace each other. */
typedef struct CatalogSlot {
        bool is_used;
        CatalogEntry entry;
        char name[NAME_MAX_BYTES + 1];
        char component[COMPONENT_MAX_BYTES + 1];
} CatalogSlot;

#define N_USERS 16

struct Catalog {
        CatalogSlot slots[N_SLOTS];
        Shares *shares; /* borrowed, or NULL */
        Headroom headrooms[N_USERS]; /* of the running transaction, by uid */
        HeldRows holdings[N_USERS];   /* amounts that the running transaction adds, by uid */
        SeriesCache *series; /* owned */
        bool has_unindexed;
        int n_job_models; /* models of jobs; -1: to be counted */
};

int catalog_new(Catalog **ret, Shares *shares) {
        scoped(catalog_freep) Catalog *catalog = calloc(1, sizeof(*catalog));
        int r;

        if (!catalog)
                return -ENOMEM;

        catalog->shares = shares;
        catalog->n_job_models = -1;
        r = series_new(&catalog->series);
        if (r < 0)
                return r;

        *ret = TAKE(catalog);
        return 0;
}

Catalog *catalog_free(Catalog *catalog) {
        if (!catalog)
                return NULL;

        series_free(catalog->series);
        free(catalog);
        return NULL;
}

STATEMENT term_find = {
        "SELECT id FROM term WHERE text = ?1",
        1,
};

STATEMENT term_insert = {
        "INSERT INTO term (text) VALUES (?1) RETURNING id",
        1,
};

static int term_id(Database *database, Field text, int64_t *ret) {
        return database_text_id(database, &term_find, &term_insert, text, ret);
}

STATEMENT term_show = { "UPDATE term SET shown = ?2 WHERE id = ?1 AND shown IS NULL", 0 };

static int show_component(Database *database, int64_t component, const CatalogNames *names) {
        bool is_written = names->written_component.type == FIELD_TEXT;

        return database_run(database, &term_show, FIELDS(field_i64(component), is_written ? names->written_component : names->component));
}

STATEMENT index_put = {
        "UPDATE indicator SET shape = ?3, indexed_from = ?4 WHERE name = ?1 AND component = ?2 AND uid = ?5",
        0,
};

static int write_index(CatalogEntry *entry, Database *database) {
        bool is_indexed = entry->shape != 0;

        entry->is_index_new = false;
        return database_run(database, &index_put, FIELDS(field_i64(entry->name), field_i64(entry->component),
                                                         field_if(is_indexed, field_i64(entry->shape)),
                                                         field_if(is_indexed, field_i64(entry->indexed_from)),
                                                         field_i64(entry->uid)));
}

enum { INDEX_SHAPE, INDEX_FROM, N_INDEX_COLUMNS };

STATEMENT index_find = {
        "SELECT shape, indexed_from FROM indicator WHERE name = ?1 AND component = ?2 AND uid = ?3", N_INDEX_COLUMNS,
};

static int read_index(CatalogEntry *entry, Database *database) {
        Prepared *find = database_prepare(database, &index_find, FIELDS(field_i64(entry->name), field_i64(entry->component),
                                                                        field_i64(entry->uid)));
        int r;

        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;

        entry->is_known = true;
        entry->shape = column_i64(find, INDEX_SHAPE);
        entry->indexed_from = column_i64(find, INDEX_FROM);
        return database_finish(database, find);
}

STATEMENT count_add = {
        "INSERT INTO indicator (name, component, uid, n_results, latest_ms) VALUES (?1, ?2, ?5, ?3, ?4)"
        " ON CONFLICT (name, component, uid) DO UPDATE SET n_results = n_results + excluded.n_results,"
        " latest_ms = max(latest_ms, excluded.latest_ms)",
        0,
};

static int slot_flush(CatalogSlot *slot, Database *database) {
        CatalogEntry *entry = &slot->entry;
        int r;

        if (!slot->is_used || entry->n_added == 0)
                return 0;

        assert(entry->name > 0 && entry->component > 0);
        r = database_run(database, &count_add, FIELDS(field_i64(entry->name), field_i64(entry->component), field_u64(entry->n_added),
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

int catalog_find(Catalog *catalog, Database *database, const CatalogNames *names, Headroom *headroom, CatalogEntry **ret) {
        Field name = names->name, component = names->component;
        uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, name.text, (size_t)name.n), component.text, (size_t)component.n);
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
                *headroom = (Headroom){ .uid = uid, .n_names = INT64_MAX, .n_series = INT64_MAX }; /* not valid for the next call */
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
        assert((const char *)entry >= (const char *)catalog->slots && (const char *)entry < (const char *)(catalog->slots + N_SLOTS));
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

SeriesCache *catalog_series(Catalog *catalog) {
        return catalog->series;
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
        series_forget(catalog->series);
        forget_users(catalog);
        catalog->n_job_models = -1;
}

int *catalog_job_models(Catalog *catalog) {
        return &catalog->n_job_models;
}
