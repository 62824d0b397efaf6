/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Baseline: compares the newest value of a series with all values before it
 *
 * The simple methods, for series that have no change before the newest value.
 */

#include <stddef.h>

typedef struct BaselineMoments {
        double mean, sd; /* of the values before; sd 0 if there are less than two */
} BaselineMoments;

/* n: number of values before the newest. n_less: 1 divides the squares by n - 1, 0 by n. mean NAN if n is 0. */
BaselineMoments baseline_moments(const double *series, size_t n, size_t n_less);

#define BASELINE_BANDS 3U     /* bands of one standard deviation, around the mean */
#define BASELINE_Z_MAX 3.0
#define BASELINE_RELATIVE_MAX 0.10

/* Returns the band of a value: 1 within one standard deviation of the mean, …, BASELINE_BANDS + 1 beyond all. */
size_t baseline_band(const BaselineMoments *moments, double value);

/* --- statuses as matrix-benchmarking reports them ------------------------------------------------- */

typedef enum BaselineBool {
        BASELINE_FALSE,
        BASELINE_TRUE,
        BASELINE_NONE,
} BaselineBool;

typedef struct BaselineStatus {
        BaselineBool is_accepted, is_improved;
        double rating; /* NAN: none, or not a number */
        const char *description; /* static */
        double mean, sd;
        double score; /* change in percent; or the z-score */
} BaselineStatus;

/* is_lower_better BASELINE_NONE: the direction is not known. With the faults of the original: z-score ignores the
 * direction. */
BaselineStatus baseline_stdev_status(const double *series, size_t n, double value, BaselineBool is_lower_better);
BaselineStatus baseline_zscore_status(const double *series, size_t n, double value);
