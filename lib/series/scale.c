/* SPDX-License-Identifier: Apache-2.0 */
#include "series/scale.h"

#include <assert.h>
#include <math.h>

/* log1p() can represent a rate of 0, which is frequent; 1 byte/s is negligible. */
static double transform(const Scale *scale, double v) {
        return scale->is_logarithmic ? log1p(v) : v;
}

void scale_init(Scale *scale, bool is_logarithmic, double lo, double hi, unsigned levels) {
        assert(0 <= lo && lo <= hi);
        assert(levels >= 2);

        *scale = (Scale){ .is_logarithmic = is_logarithmic, .lo = lo, .hi = hi, .levels = levels };
        scale->begin = transform(scale, lo);
        scale->length = transform(scale, hi) - scale->begin;
}

int scale_step(const Scale *scale, double v) {
        double at;

        assert(scale->levels >= 2);
        if (!(scale->length > 0))
                return 0;

        /* The limits are rounded when printed, so a value can be slightly outside. */
        at = (transform(scale, v) - scale->begin) / scale->length * (scale->levels - 1);
        return (int)lrint(fmin(fmax(at, 0), scale->levels - 1));
}

float scale_value(const Scale *scale, int step) {
        double v;

        if (step == 0)
                return (float)scale->lo;

        v = scale->begin + scale->length * step / (scale->levels - 1);
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
