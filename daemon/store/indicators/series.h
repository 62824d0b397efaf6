/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Series: results that have everything but time and numbers in common
 *
 * Of the series met last the writer remembers the ids. schema.c says what a series is.
 */

#include <stdint.h>

#include "store/database.h"
#include "store/pack.h"

typedef struct Series Series;

/* 0 or -ENOMEM. */
int series_new(Series **ret);
Series *series_free(Series *series);

typedef struct SeriesKey {
        int64_t name, component;
        Text shape;             /* as shape_write() */
        Text version, hardware; /* text NULL: not known */
        Text parameters;        /* in their order */
} SeriesKey;

typedef struct SeriesEntry {
        int64_t id, shape;
} SeriesEntry;

/*
 * Makes it when it is new; but not for a result that is stored already (id of 16 bytes; NULL: it is not), then id is 0.
 * 0 or an outcome of database.h.
 */
int series_find(Series *series, Database *database, const SeriesKey *key, const void *result_id, SeriesEntry *ret);
/* After a rollback, or when series were removed. */
void series_forget(Series *series);

typedef struct Point {
        int64_t series, row;
        uint64_t time_ms;
        bool has_score;
        double score;
        Text numbers; /* NULL: the run failed */
} Point;

int point_put(Database *database, const Point *point);
