/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Catalog: names as numbers, and how many results each has
 *
 * Of the names met last, the writer remembers the numbers and what the running
 * transaction adds to their counts; the counts are written once, before the commit. So is how far each is indexed
 * (schema.c says how).
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
        int64_t name, component; /* numbers in term */
        uint64_t n_added;        /* results of the running transaction */
        uint64_t latest_ms;
        bool is_known;           /* it has, or had, results */
        bool is_index_new;       /* what follows is not written yet */
        int64_t shape;           /* 0: its results are not indexed */
        int64_t indexed_from;    /* results from this row on are */
} CatalogEntry;

/* The entry of a name, made when it is new. *ret is borrowed until the next call. 0 or an outcome of database.h. */
int catalog_find(Catalog *catalog, Database *database, Text name, Text component, CatalogEntry **ret);
/* A result was stored in a row, with a point of that shape (0: without one). */
void catalog_add(Catalog *catalog, CatalogEntry *entry, uint64_t time_ms, int64_t row, int64_t shape);
/* Results may have to be indexed: after a model changed. */
void catalog_note_unindexed(Catalog *catalog);
/* True once after results turned out not to be indexed that could be. */
bool catalog_take_unindexed(Catalog *catalog);
/* The series of these names. Borrowed. */
Series *catalog_series(Catalog *catalog);
/* Writes the counts out; must run before a commit. */
int catalog_flush(Catalog *catalog, Database *database);
/* After a rollback, or when terms or series were removed, or more was indexed: nothing remembered is true any more. */
void catalog_forget(Catalog *catalog);
