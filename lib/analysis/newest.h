/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Newest: compares the newest value of a series with all values before it
 *
 * The simple methods, for series that have no change before the newest value.
 */

#include <stddef.h>

typedef struct NewestMoments {
        double mean, sd; /* of the values before; sd 0 if there are less than two */
} NewestMoments;

/* n: number of values before the newest. n_less: 1 divides the squares by n - 1, 0 by n. mean NAN if n is 0. */
NewestMoments newest_moments(const double *series, size_t n, size_t n_less);

#define NEWEST_BANDS 3U     /* bands of one standard deviation, around the mean */
#define NEWEST_Z_MAX 3.0
#define NEWEST_RELATIVE_MAX 0.10

/* Returns the band of a value: 1 within one standard deviation of the mean, …, NEWEST_BANDS + 1 beyond all. */
size_t newest_band(const NewestMoments *moments, double value);

/* --- statuses as matrix-benchmarking reports them ------------------------------------------------- */

typedef enum NewestBool {
        NEWEST_FALSE,
        NEWEST_TRUE,
        NEWEST_NONE,
} NewestBool;

typedef struct NewestStatus {
        NewestBool is_accepted, is_improved;
        double rating; /* NAN: none, or not a number */
        const char *description; /* static */
        double mean, sd;
        double score; /* change in percent; or the z-score */
} NewestStatus;

/* is_lower_better NEWEST_NONE: the direction is not known. With the faults of the original: improvements by z-score ignore it. */
NewestStatus newest_stdev_status(const double *series, size_t n, double value, NewestBool is_lower_better);
NewestStatus newest_zscore_status(const double *series, size_t n, double value);
