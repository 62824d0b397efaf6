/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The two halves of a ranking's answer: what is compared (api_rank.c), and how that is written (rank_answer.c). */

#include "analysis/ranking.h"
#include "http/indicators/result_groups.h"
#include "http/indicators/vocabulary.h"

typedef enum Across {
        ACROSS_PARAMETERS,
        ACROSS_HARDWARE,
        ACROSS_COMPONENT,
        ACROSS_VERSION,
        N_ACROSS,
} Across;

typedef enum LeftOut {
        LEFT_OUT_FAILED,  /* runs */
        LEFT_OUT_WITHOUT, /* results that lack the objective */
        LEFT_OUT_FEW,     /* results of groups of fewer than RANKING_N_MIN */
        LEFT_OUT_ALONE,   /* results of the only group of a set */
        N_LEFT_OUT,
} LeftOut;

typedef struct Rank {
        Selection selection;
        GroupFields fields;
        bool is_across[N_ACROSS]; /* not held: compared all the same */
        size_t n_common; /* fields that are the same within a set; they come first */
        size_t objective;
        double confidence;
        bool is_higher_better;
        unsigned n_resamples;
        uint64_t n_scanned, n_compared, n_left_out[N_LEFT_OUT], n_sets;
        Vocabulary *vocabulary; /* owned */
        Buffer unit, note;      /* owned; "" where there is none */
} Rank;

static inline const Sequence *rank_values(const Rank *rank, const Group *group) {
        return &group->numbers[rank->objective];
}

static inline const char *rank_objective(const Rank *rank) {
        return rank->selection.numbers[rank->objective];
}

/* Groups are sorted: those from begin to the end that is returned may be compared. */
size_t rank_set_end(const Rank *rank, const Group *groups, size_t begin, size_t n);
/* Those of a set that have enough values, ranked. ret has room for n. 0 or -ENOMEM. */
int rank_set_make(const Rank *rank, const Group *groups, size_t n, Alternative *ret, size_t *ret_n);

void rank_answer(Exchange *exchange, const Rank *rank, const Group *groups, size_t n);
