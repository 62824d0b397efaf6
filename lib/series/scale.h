/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scale: values as whole steps between a lowest and a highest
 *
 * Linear, or by the logarithm for what spans decades. Distances between steps can be told in one
 * digit (digits.h), exactly while they are small and within 4 % when they are not.
 */

#include <stdbool.h>

#include "series/digits.h"

typedef struct Scale {
        bool is_logarithmic;
        double lo, hi;              /* 0 ≤ lo ≤ hi */
        unsigned levels;            /* steps are 0…levels - 1; at least 2 */
        unsigned about[DIGITS_BASE]; /* the distance each digit stands for, once filled */
} Scale;

/* The nearest step, and back. */
int scale_step(const Scale *scale, double v);
float scale_value(const Scale *scale, int step);

void scale_fill_about(Scale *scale);
/* The digit for the distance; about[] of it is near. */
unsigned scale_about(const Scale *scale, unsigned distance);
