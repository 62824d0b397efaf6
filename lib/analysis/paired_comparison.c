/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/paired_comparison.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

/* Stakes of the players, for a difference as far from the shift as the noise is wide: the first finds a shift in noise
 * that hides it, the last one that noise does not hide. */
static const double stakes[] = { 0.2, 0.5, 1.2, 3 };

#define INFLUENCE_MAX 3.0 /* a difference counts as at most so many widths of the noise */
#define STEP_MIN 1e-9
#define WIDENINGS 60
#define BISECTIONS 20

/*
 * Finds the width of the noise before each pair: half the distance of the quartiles. A bet must not depend on the
 * difference that it is about, and if it does not depend on the assumed shift, the wealth of a player rises or falls
 * with the shift, so that the shifts that are not refused are an interval.
 */
static void find_widths(const double *differences, size_t n, double *ret) {
        double sorted[PAIRED_PAIRS_MAX];

        for (size_t i = 0; i < n; i++) {
                size_t k = i;

                ret[i] = i < 2 ? fabs(differences[0]) : (statistics_quantile_of_sorted(sorted, i, 0.75) -
                                                         statistics_quantile_of_sorted(sorted, i, 0.25)) / 2;
                for (; k > 0 && sorted[k - 1] > differences[i]; k--)
                        sorted[k] = sorted[k - 1];
                sorted[k] = differences[i];
        }
}

/* Returns the mean wealth of the players who bet that the shift is beyond the assumed one. sign: -1: below it. */
static double wealth_at(double shift, int sign, const double *differences, const double *widths, size_t n) {
        double wealth[] = { 1, 1, 1, 1 }, sum = 0;

        static_assert(N_ELEMENTS(stakes) == N_ELEMENTS(wealth), "a wealth for each player");
        for (size_t i = 1; i < n; i++) {
                double rest = sign * (differences[i] - shift);
                double size = fabs(rest) < INFLUENCE_MAX * widths[i] ? rest / widths[i] : copysign(INFLUENCE_MAX, rest);

                for (size_t k = 0; k < N_ELEMENTS(stakes) && rest != 0; k++) /* nobody bets at a tie */
                        wealth[k] *= 1 + tanh(stakes[k] * size);
        }
        for (size_t k = 0; k < N_ELEMENTS(stakes); k++)
                sum += wealth[k];
        return sum / N_ELEMENTS(stakes);
}

/* Finds the end of the interval in one direction from a shift inside. Infinite if no shift is far enough. */
static double find_end(double inside, double step, const double *differences, const double *widths, size_t n) {
        const double limit = 2 / (1 - PAIRED_CONFIDENCE); /* one half of the risk for each end */
        int sign = step > 0 ? -1 : 1;
        double outside = inside + step;

        for (size_t i = 0; wealth_at(outside, sign, differences, widths, n) < limit; i++, step *= 2) {
                if (i == WIDENINGS)
                        return copysign(INFINITY, step);
                inside = outside;
                outside += step;
        }
        for (size_t i = 0; i < BISECTIONS; i++) {
                double middle = inside + (outside - inside) / 2;

                *(wealth_at(middle, sign, differences, widths, n) < limit ? &inside : &outside) = middle;
        }
        return outside;
}

PairedInterval paired_comparison_interval(const double *differences, size_t n) {
        double values[PAIRED_PAIRS_MAX], widths[PAIRED_PAIRS_MAX], step;
        PairedInterval interval = { .low = -INFINITY, .high = INFINITY };

        assert(n <= PAIRED_PAIRS_MAX);
        memcpy(values, differences, n * sizeof(*values));
        interval.estimate = statistics_median_in_place(values, n);
        if (n < PAIRED_PAIRS_MIN)
                return interval;
        step = fmax(STEP_MIN, STEP_MIN * fabs(interval.estimate));
        find_widths(differences, n, widths);
        interval.low = find_end(interval.estimate, -step, differences, widths, n);
        interval.high = find_end(interval.estimate, step, differences, widths, n);
        return interval;
}

PairedVerdict paired_comparison_judge(const PairedInterval *interval, double low, double high) {
        if (interval->low >= low && interval->high <= high)
                return PAIRED_SAME;
        if (interval->low > 0)
                return PAIRED_MORE;
        return interval->high < 0 ? PAIRED_LESS : PAIRED_UNKNOWN;
}

size_t paired_comparison_count_needed(const double *differences, size_t n, double low, double high) {
        double repeated[PAIRED_PAIRS_MAX];

        for (size_t i = 0; i < PAIRED_PAIRS_MAX; i++)
                repeated[i] = differences[i % n];
        for (size_t i = n; i <= PAIRED_PAIRS_MAX; i += 1 + i / 20) {
                PairedInterval interval = paired_comparison_interval(repeated, i);

                if (paired_comparison_judge(&interval, low, high) != PAIRED_UNKNOWN)
                        return i;
        }
        return 0;
}
