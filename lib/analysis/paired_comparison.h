/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Paired comparison: a verdict about pairs of runs that holds whenever one looks
 *
 * Each pair has a run of A and a run of B, in an order that a coin decided, and gives one difference, of logarithms
 * where ratios are judged. If B shifts the values of A by `shift`, the differences less `shift` are symmetric about
 * zero, whatever the noise: without a shift, the coin alone chose their signs (R. A. Fisher, The Design of
 * Experiments, 1935). A player who bets on the signs, at fair odds, then multiplies the initial stake by 100 with a
 * probability of at most 1 %, in any number of pairs (Ville's inequality), so that all shifts at which the players stay
 * poorer contain the true one at each look. The bets are bounded, so that a single outlier cannot decide, and such that
 * these shifts are an interval also where runs have several usual times, as when the second of a pair finds the
 * caches warm. See I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting (Journal of
 * the Royal Statistical Society B 86, 2024), for such confidence sequences.
 */

#include <stddef.h>

#define PAIRED_PAIRS_MAX 1000U
#define PAIRED_PAIRS_MIN 10U /* fewer cannot be enough for a verdict */
#define PAIRED_CONFIDENCE 0.99

typedef enum PairedVerdict {
        PAIRED_UNKNOWN,
        PAIRED_SAME, /* the interval is within the margin */
        PAIRED_LESS, /* B has less than A */
        PAIRED_MORE,
        N_PAIRED_VERDICTS,
} PairedVerdict;

/* Range of the shift, with a confidence of 99 % at all numbers of pairs together. */
typedef struct PairedInterval {
        double estimate;  /* median of the differences; NAN without one */
        double low, high; /* infinite with too few pairs */
} PairedInterval;

/* differences: finite, in the order of the pairs; n: at most PAIRED_PAIRS_MAX. */
PairedInterval paired_comparison_interval(const double *differences, size_t n);
/* low, high: largest shifts that count as none. */
PairedVerdict paired_comparison_judge(const PairedInterval *interval, double low, double high);
/*
 * Returns about how many pairs suffice for a verdict if further ones are as those so far: these are repeated. 0 if
 * PAIRED_PAIRS_MAX do not suffice. n: at least 1.
 */
size_t paired_comparison_count_needed(const double *differences, size_t n, double low, double high);
