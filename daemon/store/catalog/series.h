/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Series: results that differ only in time and numbers, and their points
 *
 * The writer remembers the ids of the series that it used last. store_indicators.c explains series, points and shapes.
 */

#include <stdint.h>

#include "store/database/database.h"
#include "store/database/pack.h"

typedef struct SeriesCache SeriesCache;

/* 0 or -ENOMEM. */
int series_new(SeriesCache **ret);
SeriesCache *series_free(SeriesCache *series);

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
 * Finds a series, or inserts a new one. For a result that is already stored (result_id of 16 bytes; NULL: it is not stored)
 * only finds, and the id may be 0. n_new_max: the number of series that may still be inserted, which is decremented; NULL: any
 * number. 0 or an outcome of database.h, as for all functions below; DATABASE_QUOTA: *n_new_max is used up.
 */
int series_find(SeriesCache *series, Database *database, const SeriesKey *key, const void *result_id, int64_t *n_new_max,
                SeriesEntry *ret);
/* Forgets the ids: after a rollback, or when series were removed. */
void series_forget(SeriesCache *series);

typedef struct Point {
        int64_t series, row;
        uint64_t time_ms;
        Field score;   /* or null */
        Field numbers; /* of a blob; null: the run failed */
} Point;

int series_put_point(Database *database, const Point *point);
/* Removes the point, and the series if this was its last point. */
int series_remove_point(Database *database, int64_t series, uint64_t time_ms, int64_t row);

/* Finds the id of a shape, or inserts a new one. */
int series_shape_id(Database *database, Field shape, int64_t *ret);
