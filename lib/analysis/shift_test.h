/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shift test: whether the level of a series changes at a place, between the neighbouring places
 */

#include <stdbool.h>
#include <stddef.h>

#define SHIFT_WINDOW 30U      /* values of each side for the t-test */
#define SHIFT_SD_FLOOR 1e-3   /* relative noise that every series has at least */
#define SHIFT_PRIOR_N 3.0     /* weight of the noise of the whole series, in values */

/* Limits of the tests of shift.h. */
typedef struct ShiftSettings {
        double t_p_max;        /* limit of the t-test's p-value */
        double rank_p_max;     /* of the rank-sum test, for many values */
        double separation;     /* number of the arrangements of few values that pass the rank-sum test */
        double effect_min;     /* least relative change of the level */
        size_t n_min_last;     /* values of a new level before it can be found */
        const bool *allowed;   /* borrowed; for each value, whether a level may begin there; NULL: everywhere */
} ShiftSettings;

#define SHIFT_DEFAULTS ((ShiftSettings){ .t_p_max = 1e-5, .rank_p_max = 1e-4, .separation = 3, .effect_min = 0.01, .n_min_last = 3 })
#define SHIFT_SENSITIVE ((ShiftSettings){ .t_p_max = 1e-4, .rank_p_max = 1e-4, .separation = 6, .effect_min = 0.01, .n_min_last = 2 })

/* A series after the transformation, and its noise. */
typedef struct ShiftSeries {
        const double *values; /* borrowed */
        size_t n;
        bool is_logarithmic;
        double sd;              /* robust, from the differences of neighbours */
        double autocorrelation; /* of neighbours around the levels, 0…0.8 */
        double *scratch;        /* borrowed; room for 2 * n values */
} ShiftSeries;

typedef struct ShiftScore {
        double score; /* >= 1: the test is passed */
        double t_p, rank_p, difference;
} ShiftScore;

/* begin, end: the neighbouring change points, or the ends of the series. */
ShiftScore shift_test(const ShiftSeries *series, const ShiftSettings *settings, size_t begin, size_t at, size_t end);

/* Median of n > 0 values. scratch: room for n. */
double shift_test_median(const double *values, size_t n, double *scratch);
/* Robust standard deviation of residuals, at least that of the series' noise; limits them to three of it. */
double shift_test_clip(const ShiftSeries *series, double *residuals, size_t n, double *scratch);
