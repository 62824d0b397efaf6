/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shift: change points of a series with the noise that is typical of benchmarks
 *
 * perfd's own method. Candidates come from the partition by medians of the logarithms. Each must then pass a t-test
 * with a moderated variance and a correction for autocorrelation, a rank-sum test, and a least effect; the weakest
 * candidate is removed until all pass. Outliers, bursts and two modes pass neither the rank test nor the partition.
 * Deterministic; O(n^2) steps, O(n) memory.
 *
 * A series that has a value <= 0 is divided by the median of its absolute values instead of taking logarithms.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/change_point.h"

#define SHIFT_POINTS_MIN 5U /* shorter series have no change points */

/* Limits of the tests. */
typedef struct ShiftSettings {
        double t_p_max;        /* limit of the t-test's p-value */
        double rank_p_max;     /* of the rank-sum test, for many values */
        double separation;     /* number of the arrangements of few values that pass the rank-sum test */
        double effect_min;     /* least relative change of the level */
        size_t n_min_last;     /* values of a new level before it can be found */
        const bool *allowed;   /* borrowed; for each value, whether a level may begin there; NULL: everywhere */
} ShiftSettings;

#define SHIFT_DEFAULTS                                                                                                 \
        ((ShiftSettings){ .t_p_max = 1e-5, .rank_p_max = 1e-4, .separation = 3, .effect_min = 0.01, .n_min_last = 3 })
#define SHIFT_SENSITIVE                                                                                                \
        ((ShiftSettings){ .t_p_max = 1e-4, .rank_p_max = 1e-4, .separation = 6, .effect_min = 0.01, .n_min_last = 2 })

/*
 * Finds the change points of a series of finite numbers. Levels are medians of the segments. Caller frees *ret.
 * Returns 0 or -ENOMEM.
 */
int shift_find(const double *series, size_t n, const ShiftSettings *settings, ChangePoint **ret, size_t *ret_n);

/* Position of the newest value among the values before it since the last change point. */
typedef struct ShiftNewest {
        double relative; /* to the median of these values */
        double p_value;  /* of a t-test */
        bool is_outlier; /* unlikely, large enough, and as extreme as few of these values */
} ShiftNewest;

/* begin: index of the last change point, or 0. Returns 0, SHIFT_TOO_FEW, or -ENOMEM. */
enum {
        SHIFT_TOO_FEW = 1, /* less than three values before the newest */
};
int shift_newest(const double *series, size_t n, size_t begin, const ShiftSettings *settings, ShiftNewest *ret);

/*
 * Estimates the least relative change that the t-test would find after n_min_last values of a new level, with the
 * noise of the series and independent values. *ret is NAN for less than SHIFT_POINTS_MIN values. Returns 0 or
 * -ENOMEM.
 */
int shift_smallest(const double *series, size_t n, const ShiftSettings *settings, double *ret);
