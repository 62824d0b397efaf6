/* SPDX-License-Identifier: Apache-2.0 */
#include "series/scale.h"

#include <assert.h>
#include <math.h>

/* log1p: a rate of 0 is frequent, and 1 byte/s is as good as 0. */
static double bend(const Scale *scale, double v) {
        return scale->is_logarithmic ? log1p(v) : v;
}

int scale_step(const Scale *scale, double v) {
        double lo = bend(scale, scale->lo), hi = bend(scale, scale->hi), at;

        if (!(hi > lo))
                return 0;

        assert(scale->levels >= 2);
        /* The ends are rounded when they are printed, so a value can be a little outside. */
        at = (bend(scale, v) - lo) / (hi - lo) * (scale->levels - 1);
        return (int)lrint(fmin(fmax(at, 0), scale->levels - 1));
}

float scale_value(const Scale *scale, int step) {
        double lo = bend(scale, scale->lo), hi = bend(scale, scale->hi), v;

        if (step == 0)
                return (float)scale->lo;

        v = lo + (hi - lo) * step / (scale->levels - 1);
        return (float)(scale->is_logarithmic ? expm1(v) : v);
}

/* 0, 1, 2, … and, once that is more, equal factors up to the largest distance there is. */
void scale_fill_about(Scale *scale) {
        for (unsigned i = 0; i < DIGITS_BASE; i++) {
                unsigned power = (unsigned)lrint(pow(scale->levels - 1, (double)i / (DIGITS_BASE - 1)));

                scale->about[i] = i > 0 && power > i ? power : i;
        }
}

unsigned scale_about(const Scale *scale, unsigned distance) {
        unsigned nearest = 0;

        while (nearest + 1 < DIGITS_BASE && 2 * distance > scale->about[nearest] + scale->about[nearest + 1])
                nearest++;
        return nearest;
}
