/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shift settings: limits of the tests of shift.h */

#include <stdbool.h>
#include <stddef.h>

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
