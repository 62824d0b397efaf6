/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shift: change points of a series with the noise that is typical of benchmarks
 *
 * perfd's own method. Candidates come from the partition by medians of the logarithms. Each must then pass a t-test
 * with a moderated variance and a correction for autocorrelation, a rank-sum test, and a least effect; the weakest
 * candidate is removed until all pass. Outliers, bursts and two modes pass neither the rank test nor the partition.
 * Deterministic. A series of more than 2,048 values is partitioned in windows of that length, which have half of it in
 * common: O(n) steps and memory.
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
        double separation;     /* number of the arrangements of few values that pass the rank-sum test, rounded down */
        double effect_min;     /* least relative change of the level */
        size_t n_min_last;     /* values of a new level before it can be found */
        const bool *allowed;   /* borrowed; for each value, whether a level may begin there; NULL: everywhere */
} ShiftSettings;

#define SHIFT_DEFAULTS                                                                                                 \
        ((ShiftSettings){ .t_p_max = 1.5e-5, .rank_p_max = 1e-4, .separation = 1.5, .effect_min = 0.01,                \
                          .n_min_last = 3 })
#define SHIFT_SENSITIVE                                                                                                \
        ((ShiftSettings){ .t_p_max = 1e-4, .rank_p_max = 1e-4, .separation = 6, .effect_min = 0.01, .n_min_last = 2 })

/*
 * Finds the change points of a series of finite numbers. Levels are medians of the segments. Caller frees *ret.
 * Returns 0 or -ENOMEM.
 */
int shift_find(const double *series, size_t n, const ShiftSettings *settings, ChangePoint **ret, size_t *ret_n);

#define SHIFT_BASE 5U /* values of a level that are enough to compare newer ones with it */

/* The newest values that seem to begin a new level, which is not found yet. */
typedef struct ShiftSuspects {
        size_t n;        /* 0: none; the numbers below are about the newest value */
        size_t n_before; /* values of the level before them */
        double relative; /* change from the level before; NAN: too few values, as p_value */
        double p_value;  /* of a t-test */
} ShiftSuspects;

/* Compares the newest values together with the level before them, which they are not part of. points: of shift_find(),
 * also below. Returns 0 or -ENOMEM. */
int shift_suspects(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                   const ShiftSettings *settings, ShiftSuspects *ret);

/* Returns the number of values with which a new level after n_before values can be found. */
size_t shift_needed(size_t n_before, const ShiftSettings *settings);

/* Finds the newest level, but the one before the last change, that equals the current one. *ret is its first value; n:
 * none. Returns 0 or -ENOMEM. */
int shift_back_to(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                  const ShiftSettings *settings, size_t *ret);

#define SHIFT_SMALLEST_MAX 1.0 /* a level of which larger changes only can be found is hardly known */

typedef struct ShiftSmallest {
        double change;  /* NAN: less than SHIFT_POINTS_MIN values */
        size_t n_after; /* values of a new level that it takes */
        size_t n_more;  /* further values of the current level until SHIFT_SMALLEST_MAX is found; 0: it is, or never */
} ShiftSmallest;

/*
 * Estimates the least relative change that is found in about 80 % of all cases after some values of a new level, if the
 * noise stays as it is. Returns 0 or -ENOMEM.
 */
int shift_smallest(const double *series, size_t n, const ChangePoint *points, size_t n_points,
                   const ShiftSettings *settings, ShiftSmallest *ret);

/*
 * Partition: divides a series into segments so that the distances to the segments' medians are smallest
 */

typedef struct PartitionSettings {
        double penalty;      /* cost of a segment */
        size_t n_min;        /* least number of values of a segment */
        size_t n_min_first;  /* of the first segment */
        size_t n_min_last;   /* of the last segment */
        const bool *allowed; /* borrowed; for each value, whether a segment may begin there; NULL: everywhere */
} PartitionSettings;

/*
 * Finds the partition with the lowest cost of n > 0 values, by dynamic programming in O(n^2) steps. ret_begins: room
 * for n; gets the begins of the segments but the first. Returns 0 or -ENOMEM.
 */
int shift_find_partition(const double *series, size_t n, const PartitionSettings *settings, size_t *ret_begins,
                         size_t *ret_n);
