/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Selection: the results of an indicator that a request selects, and the numbers of these results
 *
 * Parses the query parameters that the routes query, rank and results have in common: where (repeatable), component,
 * version, since_ms, until_ms, and the lists group_by (or by) and stat.
 */

#include "http/exchange.h"
#include "http/selection/aggregate.h"
#include "store/indicators/points.h"

#define STATS_MAX 32U
#define FIELDS_MAX 8U

/* Component, version, hardware and names of parameters. */
typedef struct FieldList {
        char names[FIELDS_MAX][CONDITION_KEY_MAX + 1];
        size_t n;
} FieldList;

typedef struct Selection {
        PointFilter filter; /* conditions and numbers point to the members below */
        Condition conditions[CONDITIONS_MAX];
        const char *numbers[POINT_NUMBERS_MAX]; /* each key of the stats, once */

        Aggregate stats[STATS_MAX];
        size_t number_of_stat[STATS_MAX]; /* index of the number */
        size_t n_stats;

        FieldList fields; /* fields to group by */
        FieldList hold;   /* fields that are equal within a ranking */
        FieldList across; /* fields that may differ within a group */
} Selection;

/* Each returns 0 or EXCHANGE_ANSWERED. The first empties the selection, which must not be moved afterwards. name
 * NULL: any name. */
int selection_parse(const Target *target, Response *response, const char *name, Selection *ret);
int selection_parse_stats(Response *response, const char *text, Selection *selection);
/* text NULL: no list. */
int selection_parse_fields(Response *response, const char *parameter, const char *text, FieldList *ret);
/* True if results are grouped by the field. */
bool selection_has_field(const Selection *selection, const char *name);
/* Adds a number to be read; *ret is its index. */
int selection_add_number(Response *response, const char *key, Selection *selection, size_t *ret);

