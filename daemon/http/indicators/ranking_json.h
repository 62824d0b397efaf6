/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compares the alternatives of each set of groups and writes the rankings as JSON. api_rank.c parses the request. */

#include "http/indicators/ranking.h"
#include "http/indicators/vocabulary.h"
#include "http/selection/result_groups.h"

typedef enum Factor {
        FACTOR_PARAMETERS,
        FACTOR_HARDWARE,
        FACTOR_COMPONENT,
        FACTOR_VERSION,
        N_FACTORS,
} Factor;

typedef enum Exclusion {
        EXCLUDED_FAILED,  /* failed runs */
        EXCLUDED_WITHOUT, /* results that lack the objective */
        EXCLUDED_FEW,     /* results in groups of fewer than RANKING_N_MIN */
        EXCLUDED_ALONE,   /* results in the only group of a set */
        N_EXCLUSIONS,
} Exclusion;

typedef struct RankQuery {
        Selection selection;
        GroupFields fields;
        bool is_across[N_FACTORS]; /* may differ within a ranking */
        size_t n_common; /* fields that are the same within a set; they come first */
        size_t objective;
        double confidence;
        bool is_higher_better;
        uint64_t n_scanned, n_compared, n_excluded[N_EXCLUSIONS], n_sets;
        Vocabulary *vocabulary; /* owned */
        Buffer unit, note;      /* owned; "" if empty */
} RankQuery;

static inline const Sequence *rank_query_values(const RankQuery *rank, const Group *group) {
        return &group->numbers[rank->objective];
}

static inline const char *rank_query_objective(const RankQuery *rank) {
        return rank->selection.numbers[rank->objective];
}

/* Returns the end of the set that begins at `begin`: the groups up to there may be compared. Groups must be sorted. */
size_t ranking_json_set_end(const RankQuery *rank, const Group *groups, size_t begin, size_t n);
void ranking_json_write(const Sources *sources, Response *response, const RankQuery *rank, const Group *groups, size_t n);
