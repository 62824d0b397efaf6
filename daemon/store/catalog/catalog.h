/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Catalog: ids of names, the number of their results, and how far these are indexed
 *
 * The writer remembers the most recently used names with the counts that the running transaction adds, and writes
 * the counts once, before the commit. store_indicators.c explains the index.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shares/shares.h"
#include "store/database/database.h"
#include "store/database/pack.h"
#include "util/scoped.h"

typedef struct Catalog Catalog;

/* shares: borrowed; NULL: users may add any number of names and series. 0 or -ENOMEM. */
int catalog_new(Catalog **ret, Shares *shares);
Catalog *catalog_free(Catalog *catalog);
DEFINE_SCOPED(Catalog, catalog_free);

typedef struct CatalogEntry {
        int64_t name, component; /* ids in term */
        int64_t uid;
        uint64_t n_added;        /* results of the running transaction */
        uint64_t latest_ms;
        bool is_known;           /* the name has results, or had results */
        bool is_index_new;       /* shape and indexed_from are not written yet */
        int64_t shape;           /* 0: the results are not indexed */
        int64_t indexed_from;    /* results from this row on are indexed */
} CatalogEntry;

/* Number of names and series that a user may still add in the running transaction. */
typedef struct Headroom {
        int64_t uid, n_names, n_series;
        bool is_valid;
        bool lacks_name; /* catalog_find() has refused a new name */
} Headroom;
/* Finds the headroom of a user; without a limit if is_exempt. *ret is borrowed until the next call. 0 or an outcome
 * of database.h. */
int catalog_find_headroom(Catalog *catalog, Database *database, int64_t uid, bool is_exempt, Headroom **ret);
/* Counts a refusal of a user who wanted more names or series than the headroom. */
void catalog_note_refusal(Catalog *catalog, int64_t uid, Resource resource);

/* written_component: as the sender wrote it; null: the same. Lists show a component as it was written in the first
 * result. */
typedef struct CatalogNames {
        Field name, component, written_component;
} CatalogNames;

/* Finds the entry of a name and component of the headroom's user, and inserts a new one if needed. *ret is borrowed
 * until the next call. 0 or an outcome of database.h; DATABASE_QUOTA: there is no headroom for a new name. */
int catalog_find(Catalog *catalog, Database *database, const CatalogNames *names, Headroom *headroom,
                 CatalogEntry **ret);
/* Counts a stored result. 0 or an outcome of database.h. */
typedef struct CatalogResult {
        uint64_t time_ms;
        int64_t row, shape; /* shape: of its point; 0: without a point */
        int64_t n_bytes;    /* size that the result adds to its user's rows */
} CatalogResult;
int catalog_add(Catalog *catalog, Database *database, CatalogEntry *entry, const CatalogResult *result);
/* Notes that results may have to be indexed, because a model changed. */
void catalog_note_unindexed(Catalog *catalog);
/* True once after a note, or after a result whose predecessors could be indexed but are not indexed. */
bool catalog_take_unindexed(Catalog *catalog);
/* Returns the number of models of jobs, which is set to -1, not counted yet, whenever entries are forgotten.
 * Borrowed. */
int *catalog_job_models(Catalog *catalog);
/* Writes the counts; must run before a commit. 0 or an outcome of database.h. */
int catalog_flush(Catalog *catalog, Database *database);
/* Forgets all entries. Call after a rollback, after terms or series were removed, and after results were indexed. */
void catalog_forget(Catalog *catalog);

/* Series: results that differ only in time and numbers, and their points. */
typedef struct SeriesKey {
        int64_t name, component, uid;
        int64_t stack;           /* id of the software stack; 0: unknown */
        Field shape;             /* as shape_write() */
        Field version, hardware; /* text NULL: unknown */
        Field parameters;        /* JSON, sorted by key */
} SeriesKey;

typedef struct SeriesEntry {
        int64_t id, shape;
} SeriesEntry;

/*
 * Finds a series, or inserts a new one. For a result that is already stored (result_id of 16 bytes; NULL: it is not
 * stored) only finds, and the id may be 0. n_new_max: the number of series that may still be inserted, which is
 * decremented; NULL: any number. 0 or an outcome of database.h, as for all functions below; DATABASE_QUOTA:
 * *n_new_max is used up.
 */
int catalog_find_series(Catalog *catalog, Database *database, const SeriesKey *key, const void *result_id,
                        int64_t *n_new_max, SeriesEntry *ret);
/* Forgets the ids of the series that were used last: after series were removed. */
void catalog_forget_series(Catalog *catalog);

typedef struct Point {
        int64_t series, row;
        uint64_t time_ms;
        Field score;   /* or null */
        Field numbers; /* of a blob; null: the run failed */
} Point;

int catalog_put_point(Database *database, const Point *point);
/* Removes the point, and the series if this was its last point. */
int catalog_remove_point(Database *database, int64_t series, uint64_t time_ms, int64_t row);

/* Finds the id of a shape, or inserts a new one. */
int catalog_find_shape(Database *database, Field shape, int64_t *ret);
