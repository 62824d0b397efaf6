/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rank sum: probability that chance alone explains the difference between two samples
 *
 * This is Wilcoxon's rank-sum test (Mann and Whitney's U; F. Wilcoxon, Individual Comparisons by Ranking Methods, 1945). Equal
 * values have the mean of their ranks. For samples up to about thirty values each, the test is exact: all assignments of ranks
 * to the samples are counted. For larger samples, the test is the normal approximation, corrected for ties and for continuity.
 * The remaining error is on the safe side, because a rank sum has lighter tails than the normal distribution.
 */

#include <stddef.h>

/*
 * Computes the two-sided probability, 0…1; 1 if a sample is empty. Values must be finite and in ascending order. 0 or -ENOMEM.
 */
int rank_sum_probability(const double *a, size_t n_a, const double *b, size_t n_b, double *ret);
/* Returns the smallest probability that samples of these sizes can have. */
double rank_sum_least(size_t n_a, size_t n_b);
