/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Change point: where the level of a series changes */

#include <stddef.h>

typedef struct ChangePoint {
        size_t index;                    /* from 0: the first value of the new level */
        /* level up to the neighbouring change points: means, or the level of the method */
        double mean_before, mean_after;
        double sd_before, sd_after;      /* standard deviations around these levels */
        double relative;                 /* mean_after / mean_before - 1; infinite or NAN if mean_before is 0 */
        double p_value;
} ChangePoint;
