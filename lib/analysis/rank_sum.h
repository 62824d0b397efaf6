#pragma once

/*
 * Rank sum: how often chance alone would part two small samples so far
 *
 * Wilcoxon's test of two samples (Mann and Whitney's U), exact: every way to deal the values out is counted, and equal values have
 * their ranks' mean (F. Wilcoxon, Individual Comparisons by Ranking Methods, 1945).
 */

#include <stddef.h>

#define RANK_SUM_VALUES_MAX 30U /* of both samples together */

/*
 * The two-sided probability, 0…1; 1 where a sample is empty. Finite values, RANK_SUM_VALUES_MAX at most.
 * 0 or -ENOMEM.
 */
int rank_sum_probability(const double *a, size_t n_a, const double *b, size_t n_b, double *ret);
/* The smallest that samples of these sizes can have. */
double rank_sum_least(size_t n_a, size_t n_b);
