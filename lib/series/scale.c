/* SPDX-License-Identifier: Apache-2.0 */
#include "series/scale.h"

#include <assert.h>
#include <math.h>

/* log1p() can represent a rate of 0, which is frequent; 1 byte/s is negligible. */
static double transform(const Scale *scale, double v) {
        return scale->is_logarithmic ? log1p(v) : v;
}

int scale_step(const Scale *scale, double v) {
        double lo = transform(scale, scale->lo), hi = transform(scale, scale->hi), at;

        if (!(hi > lo))
                return 0;

        assert(scale->levels >= 2);
        /* The limits are rounded when printed, so a value can be slightly outside. */
        at = (transform(scale, v) - lo) / (hi - lo) * (scale->levels - 1);
        return (int)lrint(fmin(fmax(at, 0), scale->levels - 1));
}

float scale_value(const Scale *scale, int step) {
        double lo = transform(scale, scale->lo), hi = transform(scale, scale->hi), v;

        if (step == 0)
                return (float)scale->lo;

        v = lo + (hi - lo) * step / (scale->levels - 1);
        return (float)(scale->is_logarithmic ? expm1(v) : v);
}

/* The distances are 0, 1, 2, …, then grow by a constant factor up to the largest distance. */
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
