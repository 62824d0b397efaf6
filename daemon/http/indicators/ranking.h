/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ranking: orders alternatives, and distinguishes differences from noise
 *
 * Alternatives are ordered by the median of their values. Each has an interval of its median by order statistics, if
 * it has enough values for the confidence. An alternative is distinguished from a better one only if both of the
 * following conditions hold; otherwise the two share a rank:
 *
 * - a rank-sum test is significant after correction for all pairs: the probability that any two equal alternatives
 *   of a ranking
 * are
 *   distinguished is at most 1 - confidence. All pairs count, since the best was chosen by its values: among fifty
 *   equal alternatives
 *   some look best.
 * - the interval of the difference of their medians, by resampling and uncorrected, excludes zero. This ensures that
 * the
 *   medians differ, which is what the ranking shows, and not only the shapes of the distributions.
 *
 * The correction is Ryan's (T. A. Ryan, Significance Tests for Multiple Comparison of Proportions, Variances, and
 * Other Statistics, 1960), stepping down as Holm's: two alternatives that may belong to a class of s equal ones out
 * of n are tested at (1 - confidence) × 2 / (n (s - 1)), where s is n less the alternatives already distinguished
 * from one of the two. The errors within a class of s sum to (1 - confidence) × s / n, and the s of all classes sum
 * to n.
 *
 * The result is deterministic: the caller gives the seed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics.h"

/* Verdict on the difference from the best alternative. */
typedef enum Verdict {
        VERDICT_BEST,
        VERDICT_SIGNIFICANT,
        VERDICT_NOISE,
        VERDICT_FEW, /* too few values for any difference to be significant among so many alternatives */
} Verdict;

typedef struct Alternative {
        size_t index; /* chosen by the caller */
        const double *values; /* borrowed, finite */
        size_t n;
        /* Set by ranking_compare(): */
        double median;
        MedianInterval interval;  /* at config.confidence */
        /* from 1; alternatives that cannot be distinguished from the best of a rank share the rank */
        unsigned rank;
        bool is_tied;             /* another alternative has this rank, too */
        double ratio;             /* of the median to the best median; NAN if that is not positive */
        /* corrected probability of the test against the best; NAN for the best itself, or with too few values */
        double chance;
        Verdict verdict;
} Alternative;

#define RANKING_N_MIN 3U
#define RANKING_RESAMPLES 1000U /* the same for every request, so that an answer does not depend on other requests */
#define RANKING_ALTERNATIVES_MAX 1000U

typedef struct RankingConfig {
        bool is_higher_better;
        double confidence;   /* 0…1, such as 0.95: confidence of each interval, and of all comparisons together */
        unsigned n_resamples; /* 100…100000 */
        uint64_t seed;
        uint64_t until_ns; /* CLOCK_BOOTTIME at which the ranking is given up; 0: never */
} RankingConfig;

const char *ranking_verdict_name(Verdict verdict); /* Returns "best", "significant", "noise" or "too few runs". */

/* Returns how many values each of n >= 2 alternatives needs so that any two can be distinguished. */
size_t ranking_values_needed(size_t n, double confidence);

/* Orders the alternatives, best first. 0, RANKING_TIMEOUT or -ENOMEM. */
enum {
        RANKING_TIMEOUT = 1,
};
int ranking_make(Alternative *alternatives, size_t n, const RankingConfig *config);
