/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ranking: which of several alternatives is better, and what is noise
 *
 * Alternatives are ordered by the median of their values. Each has a percentile-bootstrap interval of its median. One is told
 * apart from a better one only where two things agree, the others share its rank:
 *
 * - a rank-sum test, corrected for all pairs that there are: that any two equal alternatives of a ranking are told apart has at
 *   most the probability 1 - confidence. All pairs, since the best was chosen by its values: of fifty equal ones some look best.
 * - the interval of the difference of their medians, of the same resampling and uncorrected, leaves out zero. So that it is the
 *   medians that differ, as is shown, and not only the shapes.
 *
 * The correction is Ryan's (T. A. Ryan, Significance Tests for Multiple Comparison of Proportions, Variances, and Other Statistics,
 * 1960), stepping down as Holm's: two that may be of s equal ones of n are tested at (1 - confidence) × 2 / (n (s - 1)), where s is
 * n without those already told apart from one of the two. Whatever classes of equals there are, all errors in a class of s come to
 * (1 - confidence) × s / n, and the s of all classes to n. Deterministic: the resampling is seeded by the caller.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the difference to the best of all. */
typedef enum Verdict {
        VERDICT_BEST,
        VERDICT_REAL,
        VERDICT_NOISE,
        VERDICT_FEW, /* so few values cannot be told apart among so many at this confidence, whatever they are */
} Verdict;

typedef struct Alternative {
        const double *values; /* borrowed, finite */
        size_t n;
        /* Filled in: */
        double median, low, high; /* of the median; NAN with fewer than RANKING_N_MIN values */
        unsigned rank;            /* from 1; those that are not told apart from the best of a rank share it */
        bool is_tied;             /* another has this rank as well */
        double ratio;             /* of its median to the best one's */
        double chance;            /* corrected probability of the test against the best one; NAN for that and for too few values */
        Verdict verdict;
} Alternative;

#define RANKING_N_MIN 3U
#define RANKING_ALTERNATIVES_MAX 1000U

typedef struct RankingConfig {
        bool is_higher_better;
        double confidence;   /* 0…1, as 0.95: of each interval, and of all that is told apart together */
        unsigned n_resamples; /* 100…100000 */
        uint64_t seed;
} RankingConfig;

const char *ranking_verdict_name(Verdict verdict); /* "best", "real", "noise", "too few runs" */

/* As many as a question has time for that is about so many values in all: 100 to 2000. */
unsigned ranking_resamples(size_t n_values);

/* So many values of each of n alternatives, and any two can be told apart whatever the others are. n from 2. */
size_t ranking_values_needed(size_t n, double confidence);

/* Orders the alternatives, the best first. 0 or -ENOMEM. */
int ranking_make(Alternative *alternatives, size_t n, const RankingConfig *config);
