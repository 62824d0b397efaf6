/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statistics of one sample, for the summary of a batch of runs
 *
 * Definitions are those of numpy and pandas: quantiles are interpolated linearly, the standard deviation divides by n
 * - 1, the skew is bias-corrected and 0 for constants. Mean, standard deviation and skew are correct to about 1e-15 for
 * finite values of any magnitude, and for values that agree in most of their digits.
 */

#include <stddef.h>

typedef struct Statistics {
        size_t n;
        double mean, median, sd, standard_error, min, max, q1, q3, iqr; /* NAN if n is too small */
        double cov;  /* sd / mean */
        double covm; /* iqr / median */
        double skew; /* requires n >= 3 */
} Statistics;

/* Sorts finite values in ascending order. */
void statistics_sort(double *values, size_t n);

/* Computes all statistics of finite values and sorts the values. All results are NAN when n is 0. */
void statistics_of(double *values, size_t n, Statistics *ret);

/* Computes only the results that follow from the order of the values: their number, quantiles and the like. Other
 * results are NAN. */
void statistics_order_of(double *values, size_t n, Statistics *ret);

/* Computes statistics_quantile_of_sorted(values, n, 0.5) of unsorted values and changes their order; faster than
 * sorting. */
double statistics_median_in_place(double *values, size_t n);

/* Computes the quantile q, 0…1, of sorted values. NAN for n = 0. */
double statistics_quantile_of_sorted(const double *values, size_t n, double q);

/* Confidence interval of the median: two of the values. All NAN if there is none. */
typedef struct MedianInterval {
        double low, high;
        double level; /* true confidence, at least that requested */
} MedianInterval;

/*
 * Computes the shortest symmetric interval by order statistics that contains the median of the distribution with a
 * confidence of at least `confidence`, 0…1. The level holds for any continuous distribution. There is none if n is
 * too small: at 0.95, n < 6.
 */
MedianInterval statistics_median_interval(const double *sorted, size_t n, double confidence);
