/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/student.h"

#include <assert.h>
#include <math.h>

#define STEPS_MAX 300
#define PRECISION 1e-14
#define TINY 1e-300

static double not_tiny(double v) {
        return fabs(v) < TINY ? TINY : v;
}

/* Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
        double c = 1, d = 1 / not_tiny(1 - (a + b) * x / (a + 1)), h = d;

        for (int m = 1; m < STEPS_MAX; m++) {
                double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
                double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), change;

                d = 1 / not_tiny(1 + even * d);
                c = not_tiny(1 + even / c);
                h *= d * c;
                d = 1 / not_tiny(1 + odd * d);
                c = not_tiny(1 + odd / c);
                change = d * c;
                h *= change;
                if (fabs(change - 1) < PRECISION)
                        break;
        }
        return h;
}

/* Regularized incomplete beta function I_x(a, b). y: 1 - x. */
static double beta(double a, double b, double x, double y) {
        double front;

        if (x <= 0 || y <= 0)
                return x <= 0 ? 0 : 1;
        front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
        return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, y) / b;
}

double student_two_sided(double t, double df) {
        assert(df > 0);
        if (isinf(t))
                return 0;
        return beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t));
}

double student_normal_above(double z) {
        return erfc(z / sqrt(2)) / 2;
}
