/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scale: maps values to integer steps between a lowest and a highest value
 *
 * The mapping is linear, or logarithmic for values that span decades. A distance between steps can be written as one
 * digit (digits.h): small distances exactly, larger ones within 4 %.
 */

#include <stdbool.h>

#include "series/digits.h"

typedef struct Scale {
        bool is_logarithmic;
        double lo, hi;              /* 0 ≤ lo ≤ hi */
        unsigned levels;            /* number of steps, at least 2 */
        double begin, length;       /* of the range on the axis, which is linear or logarithmic */
        unsigned about[DIGITS_BASE]; /* distance that each digit represents; set by scale_fill_about() */
} Scale;

/* 0 ≤ lo ≤ hi; levels is at least 2. */
void scale_init(Scale *scale, bool is_logarithmic, double lo, double hi, unsigned levels);

/* Return the step nearest to a value, and the value of a step. */
int scale_step(const Scale *scale, double v);
float scale_value(const Scale *scale, int step);

void scale_fill_about(Scale *scale);
/* Returns the digit whose distance about[] is nearest. */
unsigned scale_about(const Scale *scale, unsigned distance);
