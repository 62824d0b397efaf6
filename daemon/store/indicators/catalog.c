/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator.h"
#include "util/hash.h"

#define N_SLOTS 64

/* A name has one slot it may be in; two that share it take turns. */
typedef struct Slot {
        bool is_used;
        CatalogEntry entry;
        char name[NAME_MAX_BYTES + 1];
        char component[COMPONENT_MAX_BYTES + 1];
} Slot;

struct Catalog {
        Slot slots[N_SLOTS];
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

static int term_number(Database *database, Text text, int64_t *ret) {
        return database_number(database, STATEMENT_TERM_FIND, STATEMENT_TERM_INSERT, text, ret);
}

static int write_index(CatalogEntry *entry, Database *database) {
        sqlite3_stmt *write = database_statement(database, STATEMENT_INDICATOR_INDEX);

        sqlite3_bind_int64(write, 1, entry->name);
        sqlite3_bind_int64(write, 2, entry->component);
        if (entry->shape != 0) {
                sqlite3_bind_int64(write, 3, entry->shape);
                sqlite3_bind_int64(write, 4, entry->indexed_from);
        } else {
                sqlite3_bind_null(write, 3);
                sqlite3_bind_null(write, 4);
        }
        entry->is_index_new = false;
        return database_run(database, STATEMENT_INDICATOR_INDEX);
}

static int read_index(CatalogEntry *entry, Database *database) {
        sqlite3_stmt *find = database_statement(database, STATEMENT_INDICATOR_FIND);
        int r;

        sqlite3_bind_int64(find, 1, entry->name);
        sqlite3_bind_int64(find, 2, entry->component);
        r = database_step(database, STATEMENT_INDICATOR_FIND);
        if (r != DATABASE_ROW)
                return r;

        entry->is_known = true;
        entry->shape = sqlite3_column_int64(find, 0);
        entry->indexed_from = sqlite3_column_int64(find, 1);
        return database_run(database, STATEMENT_INDICATOR_FIND);
}

static int slot_flush(Slot *slot, Database *database) {
        sqlite3_stmt *add = database_statement(database, STATEMENT_INDICATOR_ADD);
        int r;

        if (!slot->is_used || slot->entry.n_added == 0)
                return 0;

        sqlite3_bind_int64(add, 1, slot->entry.name);
        sqlite3_bind_int64(add, 2, slot->entry.component);
        bind_u64(add, 3, slot->entry.n_added);
        bind_u64(add, 4, slot->entry.latest_ms);
        slot->entry.n_added = 0;
        slot->entry.latest_ms = 0;
        r = database_run(database, STATEMENT_INDICATOR_ADD);
        return r == 0 && slot->entry.is_index_new ? write_index(&slot->entry, database) : r;
}

static int slot_fill(Slot *slot, Database *database, Text name, Text component) {
        CatalogEntry entry = {};
        int r;

        r = slot_flush(slot, database);
        slot->is_used = false;
        if (r == 0)
                r = term_number(database, name, &entry.name);
        if (r == 0)
                r = term_number(database, component, &entry.component);
        if (r == 0)
                r = read_index(&entry, database);
        if (r != 0)
                return r;

        slot->is_used = true;
        slot->entry = entry;
        return 0;
}

static bool slot_matches(const Slot *slot, Text name, Text component) {
        return slot->is_used && strcmp(slot->name, name.text) == 0 && strcmp(slot->component, component.text) == 0;
}

int catalog_find(Catalog *catalog, Database *database, Text name, Text component, CatalogEntry **ret) {
        uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, name.text, (size_t)name.n), component.text, (size_t)component.n);
        Slot *slot = &catalog->slots[hash % N_SLOTS];
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
