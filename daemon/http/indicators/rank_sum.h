/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rank sum: how often chance alone would part two samples so far
 *
 * Wilcoxon's test of two samples (Mann and Whitney's U; F. Wilcoxon, Individual Comparisons by Ranking Methods, 1945); equal values
 * have their ranks' mean. Of samples up to about thirty against thirty it is exact: every way to deal the values out is counted.
 * Of larger ones it is the normal approximation, corrected for ties and for continuity. What is left of its error is on the safe side:
 * a rank sum has lighter tails than the normal distribution.
 */

#include <stddef.h>

/*
 * The two-sided probability, 0…1; 1 where a sample is empty. Finite values, each sample in ascending order.
 * 0 or -ENOMEM.
 */
int rank_sum_probability(const double *a, size_t n_a, const double *b, size_t n_b, double *ret);
/* The smallest that samples of these sizes can have. */
double rank_sum_least(size_t n_a, size_t n_b);
