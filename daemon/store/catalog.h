#pragma once

/*
 * Catalog: names as numbers, and how many results each has
 *
 * Of the names met last, the writer remembers the numbers and what the running
 * transaction adds to their counts; the counts are written once, before the commit.
 */

#include <stdint.h>

#include "store/database.h"
#include "store/pack.h"

typedef struct Catalog Catalog;

/* 0 or -ENOMEM. */
int catalog_new(Catalog **ret);
Catalog *catalog_free(Catalog *catalog);

typedef struct CatalogEntry {
        int64_t name, component; /* numbers in term */
        uint64_t n_added;        /* results of the running transaction */
        uint64_t latest_ms;
} CatalogEntry;

/* The entry of a name, made when it is new. *ret is borrowed until the next call. 0 or an outcome of database.h. */
int catalog_find(Catalog *catalog, Database *database, Text name, Text component, CatalogEntry **ret);
/* Writes the counts out; must run before a commit. */
int catalog_flush(Catalog *catalog, Database *database);
/* After a rollback, or when terms were removed: nothing remembered is true any more. */
void catalog_forget(Catalog *catalog);
