/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rank test: the rank-sum test of Wilcoxon, Mann and Whitney */

#include <stddef.h>

/*
 * Returns the one-sided p-value of a shift of the values of b against those of a, in the observed direction: exact for few values without
 * ties, otherwise by the normal distribution with corrections for ties and continuity. scratch: room for n_a + n_b values.
 */
double rank_test(const double *a, size_t n_a, const double *b, size_t n_b, double *scratch);
