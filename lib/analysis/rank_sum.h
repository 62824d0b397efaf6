/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rank sum: probability that chance alone explains the difference between two samples
 *
 * This is Wilcoxon's rank-sum test (Mann and Whitney's U; F. Wilcoxon, Individual Comparisons by Ranking Methods,
 * 1945). Equal values have the mean of their ranks. For samples up to about thirty values each, or a few values
 * against two hundred, the test is
 * exact: all assignments of ranks to the samples are counted. For larger samples, the test is the normal
 * approximation, corrected
 * for ties and for continuity. The remaining error is on the safe side, because a rank sum has lighter tails than
 * the normal distribution.
 */

#include <stddef.h>

#define RANK_SUM_SCRATCH 85000U /* values */

/* Probabilities of a rank sum at least as far from its mean as the observed one. */
typedef struct RankSum {
        double one_sided; /* in the observed direction */
        double two_sided; /* in any direction */
} RankSum;

/*
 * Both are 1 if a sample is empty. Values must be finite and in ascending order. n_exact_max: largest size of the
 * smaller sample for which the test is exact, unless one sample is above the other; SIZE_MAX: whenever it takes less
 * than a millisecond. scratch: room for RANK_SUM_SCRATCH values.
 */
RankSum rank_sum_test(const double *a, size_t n_a, const double *b, size_t n_b, size_t n_exact_max, double *scratch);
/* Returns the smallest two-sided probability that samples of these sizes can have. */
double rank_sum_least(size_t n_a, size_t n_b);
