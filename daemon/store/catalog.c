#include "store/catalog.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/indicator.h"

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
        Slot large; /* for names that fit no slot; never found again */
};

int catalog_new(Catalog **ret) {
        Catalog *catalog = calloc(1, sizeof(*catalog));

        if (!catalog)
                return -ENOMEM;

        *ret = catalog;
        return 0;
}

Catalog *catalog_free(Catalog *catalog) {
        free(catalog);
        return NULL;
}

/* FNV-1a. */
static uint32_t hash(uint32_t h, Text text) {
        for (int i = 0; i < text.n; i++)
                h = (h ^ (unsigned char)text.text[i]) * 16777619U;
        return h;
}

static int term_number(Database *database, Text text, int64_t *ret) {
        int64_t number = 0;
        int r;

        bind_text(database_statement(database, STATEMENT_TERM_FIND), 1, text);
        r = database_get(database, STATEMENT_TERM_FIND, &number);
        if (r == 0 && number == 0) {
                bind_text(database_statement(database, STATEMENT_TERM_INSERT), 1, text);
                r = database_get(database, STATEMENT_TERM_INSERT, &number);
        }
        if (r != 0)
                return r;

        *ret = number;
        return 0;
}

static int slot_flush(Slot *slot, Database *database) {
        sqlite3_stmt *add = database_statement(database, STATEMENT_INDICATOR_ADD);

        if (!slot->is_used || slot->entry.n_added == 0)
                return 0;

        sqlite3_bind_int64(add, 1, slot->entry.name);
        sqlite3_bind_int64(add, 2, slot->entry.component);
        bind_u64(add, 3, slot->entry.n_added);
        bind_u64(add, 4, slot->entry.latest_ms);
        slot->entry.n_added = 0;
        slot->entry.latest_ms = 0;
        return database_run(database, STATEMENT_INDICATOR_ADD);
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
        Slot *slot = &catalog->slots[hash(hash(2166136261U, name), component) % N_SLOTS];
        bool is_large = name.n > (int)NAME_MAX_BYTES || component.n > (int)COMPONENT_MAX_BYTES;
        int r;

        if (is_large)
                slot = &catalog->large;

        if (is_large || !slot_matches(slot, name, component)) {
                r = slot_fill(slot, database, name, component);
                if (r != 0)
                        return r;
                if (!is_large) {
                        memcpy(slot->name, name.text, (size_t)name.n + 1);
                        memcpy(slot->component, component.text, (size_t)component.n + 1);
                }
        }

        *ret = &slot->entry;
        return 0;
}

int catalog_flush(Catalog *catalog, Database *database) {
        int r;

        r = slot_flush(&catalog->large, database);
        for (size_t i = 0; r == 0 && i < N_SLOTS; i++)
                r = slot_flush(&catalog->slots[i], database);
        return r;
}

void catalog_forget(Catalog *catalog) {
        for (size_t i = 0; i < N_SLOTS; i++)
                catalog->slots[i].is_used = false;
        catalog->large.is_used = false;
}
