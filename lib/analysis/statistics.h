/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statistics of one sample: what a batch of runs is summed up by
 *
 * Definitions are those of numpy and pandas: quantiles interpolate linearly, the standard deviation divides by n - 1, the skew is
 * bias-corrected and 0 for constants.
 */

#include <stddef.h>

typedef struct Statistics {
        size_t n;
        double mean, median, sd, standard_error, min, max, q1, q3, iqr; /* NAN where n is too small for it */
        double cov;  /* sd / mean */
        double covm; /* iqr / median */
        double skew; /* from n = 3 */
} Statistics;

/* By size. Finite values only. */
void statistics_sort(double *values, size_t n);

/* Sorts the values. n 0: everything is NAN. Finite values only. */
void statistics_of(double *values, size_t n, Statistics *ret);

/* The same as statistics_quantile_of_sorted(values, n, 0.5), of values in any order, which it changes: quicker than sorting them all. */
double statistics_median_in_place(double *values, size_t n);

/* Of sorted values, q in 0…1. NAN for n = 0. */
double statistics_quantile_of_sorted(const double *values, size_t n, double q);
