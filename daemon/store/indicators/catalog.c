/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "document/indicator.h"

#define N_SLOTS 64

/* A name and component have one slot that they may be in; names that share a slot take turns. */
typedef struct CatalogSlot {
        bool is_used;
        CatalogEntry entry;
        char name[NAME_MAX_BYTES + 1];
        char component[COMPONENT_MAX_BYTES + 1];
} CatalogSlot;

struct Catalog {
        CatalogSlot slots[N_SLOTS];
        Series *series; /* owned */
        bool has_unindexed;
};

int catalog_new(Catalog **ret) {
        scoped(catalog_freep) Catalog *catalog = calloc(1, sizeof(*catalog));
        int r;

        if (!catalog)
                return -ENOMEM;

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

STATEMENT index_put = {
        "UPDATE indicator SET shape = ?3, indexed_from = ?4 WHERE name = ?1 AND component = ?2",
        0,
};

static int write_index(CatalogEntry *entry, Database *database) {
        bool is_indexed = entry->shape != 0;

        entry->is_index_new = false;
        return database_run(database, &index_put, FIELDS(field_i64(entry->name), field_i64(entry->component),
                                                         field_if(is_indexed, field_i64(entry->shape)),
                                                         field_if(is_indexed, field_i64(entry->indexed_from))));
}

enum { INDEX_SHAPE, INDEX_FROM, N_INDEX_COLUMNS };

STATEMENT index_find = {
        "SELECT shape, indexed_from FROM indicator WHERE name = ?1 AND component = ?2", N_INDEX_COLUMNS,
};

static int read_index(CatalogEntry *entry, Database *database) {
        Prepared *find = database_prepare(database, &index_find, FIELDS(field_i64(entry->name), field_i64(entry->component)));
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
        "INSERT INTO indicator (name, component, n_results, latest_ms) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (name, component) DO UPDATE SET n_results = n_results + excluded.n_results,"
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
                                                      field_u64(entry->latest_ms)));
        entry->n_added = 0;
        entry->latest_ms = 0;
        return r == 0 && entry->is_index_new ? write_index(entry, database) : r;
}

static int slot_fill(CatalogSlot *slot, Database *database, Field name, Field component) {
        CatalogEntry entry = {};
        int r;

        r = slot_flush(slot, database);
        slot->is_used = false;
        if (r == 0)
                r = term_id(database, name, &entry.name);
        if (r == 0)
                r = term_id(database, component, &entry.component);
        if (r == 0)
                r = read_index(&entry, database);
        if (r != 0)
                return r;

        slot->is_used = true;
        slot->entry = entry;
        return 0;
}

static bool slot_matches(const CatalogSlot *slot, Field name, Field component) {
        return slot->is_used && strcmp(slot->name, name.text) == 0 && strcmp(slot->component, component.text) == 0;
}

int catalog_find(Catalog *catalog, Database *database, Field name, Field component, CatalogEntry **ret) {
        uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, name.text, (size_t)name.n), component.text, (size_t)component.n);
        CatalogSlot *slot = &catalog->slots[hash % N_SLOTS];
        int r;

        assert(name.n <= (int)NAME_MAX_BYTES && component.n <= (int)COMPONENT_MAX_BYTES);
        if (!slot_matches(slot, name, component)) {
                r = slot_fill(slot, database, name, component);
                if (r != 0)
                        return r;
                memcpy(slot->name, name.text, (size_t)name.n + 1);
                memcpy(slot->component, component.text, (size_t)component.n + 1);
        }

        *ret = &slot->entry;
        return 0;
}

void catalog_add(Catalog *catalog, CatalogEntry *entry, uint64_t time_ms, int64_t row, int64_t shape) {
        assert(row > 0 && shape >= 0);
        assert((const char *)entry >= (const char *)catalog->slots && (const char *)entry < (const char *)(catalog->slots + N_SLOTS));
        entry->n_added++;
        if (entry->latest_ms < time_ms)
                entry->latest_ms = time_ms;

        if (entry->shape != shape) {
                entry->shape = shape;
                entry->indexed_from = entry->is_known ? row : 0;
                entry->is_index_new = true;
                catalog->has_unindexed |= shape != 0 && entry->is_known;
        }
        entry->is_known = true;
}

void catalog_note_unindexed(Catalog *catalog) {
        catalog->has_unindexed = true;
}

bool catalog_take_unindexed(Catalog *catalog) {
        bool has_unindexed = catalog->has_unindexed;

        catalog->has_unindexed = false;
        return has_unindexed;
}

Series *catalog_series(Catalog *catalog) {
        return catalog->series;
}

int catalog_flush(Catalog *catalog, Database *database) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < N_SLOTS; i++)
                r = slot_flush(&catalog->slots[i], database);
        return r;
}

void catalog_forget(Catalog *catalog) {
        for (size_t i = 0; i < N_SLOTS; i++)
                catalog->slots[i].is_used = false;
        series_forget(catalog->series);
}
