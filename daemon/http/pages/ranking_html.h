/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rankings of an indicator's results, as tables
 *
 * One for each set of parameters and hardware: what was measured under others is not compared. The fields of the groups are
 * RANKING_FIELDS, after their parameters.
 */

#include "document/indicator_model.h"
#include "http/indicators/grouping.h"
#include "util/buffer.h"

#define RANKING_RESULTS_MAX 4U

/* A column: a result, or overall_score. */
typedef struct RankingResult {
        const char *key;
        const char *unit; /* "": not declared */
} RankingResult;

typedef struct RankingTable {
        RankingResult results[RANKING_RESULTS_MAX]; /* in the order of the groups' numbers; the first is compared */
        size_t n_results;
        Direction direction; /* unknown: nothing is better */
} RankingTable;

/* hardware, component, version */
extern const GroupFields ranking_fields;

/* 0 or -ENOMEM. Sorts the groups' numbers. */
int ranking_html(Buffer *out, const RankingTable *table, Group *groups, size_t n);
