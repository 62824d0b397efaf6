/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Catalog: ids of names, the number of their results, and how far these are indexed
 *
 * The writer remembers the names that it used last with what the running transaction adds to their counts, and writes the counts
 * once, before the commit. store_indicators.c explains the index.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database.h"
#include "store/indicators/series.h"
#include "store/pack.h"
#include "util/scoped.h"

typedef struct Catalog Catalog;

/* 0 or -ENOMEM. */
int catalog_new(Catalog **ret);
Catalog *catalog_free(Catalog *catalog);
DEFINE_SCOPED(Catalog, catalog_free);

typedef struct CatalogEntry {
        int64_t name, component; /* ids in term */
        uint64_t n_added;        /* results of the running transaction */
        uint64_t latest_ms;
        bool is_known;           /* the name has, or had, results */
        bool is_index_new;       /* shape and indexed_from are not written yet */
        int64_t shape;           /* 0: the results are not indexed */
        int64_t indexed_from;    /* results from this row on are indexed */
} CatalogEntry;

/* The entry of a name and component, inserted when new. *ret is borrowed until the next call. 0 or an outcome of database.h. */
int catalog_find(Catalog *catalog, Database *database, Field name, Field component, CatalogEntry **ret);
/* Counts a result that was stored in a row, with a point of that shape (0: without a point). */
void catalog_add(Catalog *catalog, CatalogEntry *entry, uint64_t time_ms, int64_t row, int64_t shape);
/* Notes that results may have to be indexed: after a model changed. */
void catalog_note_unindexed(Catalog *catalog);
/* True once after a note, or after a result whose predecessors could be indexed but are not. */
bool catalog_take_unindexed(Catalog *catalog);
/* The series of all names. Borrowed. */
Series *catalog_series(Catalog *catalog);
/* Writes the counts; must run before a commit. 0 or an outcome of database.h. */
int catalog_flush(Catalog *catalog, Database *database);
/* Forgets all entries: after a rollback, when terms or series were removed, or when results were indexed. */
void catalog_forget(Catalog *catalog);
