/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hunter: change points by E-divisive with Student's t-test, as the program Hunter finds them
 *
 * The series is split in overlapping windows, where the split with the highest energy distance is a candidate, as
 * long as a t-test between its neighbours accepts it. Then the weakest points are removed until each has a p-value
 * below the limit and a change above the least magnitude. Means and t-tests: one outlier may be a change point.
 */

#include <stddef.h>

#include "analysis/change_point.h"

typedef struct HunterSettings {
        size_t window;        /* points, at least 2 */
        double p_value_max;   /* 0…1 */
        double magnitude_min; /* least relative change of the mean, 0.05: 5 % */
} HunterSettings;

#define HUNTER_WINDOW 50
#define HUNTER_P_VALUE_MAX 0.001
#define HUNTER_MAGNITUDE_MIN 0.05
#define HUNTER_DEFAULTS                                                                                                \
        ((HunterSettings){                                                                                             \
                .window = HUNTER_WINDOW, .p_value_max = HUNTER_P_VALUE_MAX, .magnitude_min = HUNTER_MAGNITUDE_MIN })

/* Finds the change points of a series of finite numbers. Caller frees *ret. Returns 0 or -ENOMEM. */
int hunter_find(const double *series, size_t n, const HunterSettings *settings, ChangePoint **ret, size_t *ret_n);

/* Energy distance of each split of a series in the first i values and the others; ret has n elements, the first is
 * 0. */
void hunter_distances(const double *series, size_t n, double *ret);
