/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rankings of an indicator's results, as tables
 *
 * There is one table for each set of parameters and hardware, since results with different ones are not compared.
 * The fields of the groups are RANKING_FIELDS, after their parameters.
 */

#include "document/indicator_model.h"
#include "http/selection/grouping.h"
#include "util/buffer.h"

#define RANKING_RESULTS_MAX 4U

/* Column of the table: a result, or overall_score. */
typedef struct RankingResult {
        const char *key;
        const char *unit; /* "": unknown */
} RankingResult;

typedef struct RankingTable {
        /* in the order of the groups' numbers; the first is the objective */
        RankingResult results[RANKING_RESULTS_MAX];
        size_t n_results;
        Direction direction; /* unknown: no ranking */
} RankingTable;

/* hardware, component, version */
extern const GroupFields ranking_fields;

/* Sorts the groups' numbers. 0 or -ENOMEM. */
int ranking_html(Buffer *out, const RankingTable *table, Group *groups, size_t n);
