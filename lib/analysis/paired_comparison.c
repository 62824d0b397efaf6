/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/paired_comparison.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

/* Stakes of the players, for differences as large as the median one: the first finds a shift in noise that hides it,
 * the last one that noise does not hide. */
static const double stakes[] = { 0.2, 0.5, 1.2, 3 };

#define INFLUENCE_MAX 3.0 /* a difference counts as at most so many median ones */
#define STEP_MIN 1e-9
#define WIDENINGS 60
#define BISECTIONS 20

/* Inserts a value into n sorted ones, and returns the median of them all. */
static double insert(double *sorted, size_t n, double value) {
        size_t k = n;

        for (; k > 0 && sorted[k - 1] > value; k--)
                sorted[k] = sorted[k - 1];
        sorted[k] = value;
        return statistics_quantile_of_sorted(sorted, n + 1, 0.5);
}

/*
 * Returns the mean wealth of players who bet that the shift is more, or less, than assumed, each with a stake of 1.
 * The amount of a bet depends on the sizes of the differences so far, the present one included, and on no sign that
 * is not known yet.
 */
static double wealth_at(double shift, const double *differences, size_t n) {
        double sorted[PAIRED_PAIRS_MAX], more[] = { 1, 1, 1, 1 }, less[] = { 1, 1, 1, 1 }, sum = 0;

        static_assert(N_ELEMENTS(stakes) == N_ELEMENTS(more), "a wealth for each player");
        for (size_t i = 0; i < n; i++) {
                double rest = differences[i] - shift, scale = insert(sorted, i, fabs(rest));
                double size = fabs(rest) < INFLUENCE_MAX * scale ? rest / scale : copysign(INFLUENCE_MAX, rest);

                for (size_t k = 0; k < N_ELEMENTS(stakes) && rest != 0; k++) { /* nobody bets at a tie */
                        more[k] *= 1 + tanh(stakes[k] * size);
                        less[k] *= 1 - tanh(stakes[k] * size);
                }
        }
        for (size_t k = 0; k < N_ELEMENTS(stakes); k++)
                sum += more[k] + less[k];
        return sum / (2 * N_ELEMENTS(stakes));
}

/* Finds the end of the interval in one direction from a shift inside. Infinite if no shift is far enough. */
static double find_end(double inside, double step, const double *differences, size_t n) {
        const double limit = 1 / (1 - PAIRED_CONFIDENCE);
        double outside = inside + step;

        for (size_t i = 0; wealth_at(outside, differences, n) < limit; i++, step *= 2) {
                if (i == WIDENINGS)
                        return copysign(INFINITY, step);
                inside = outside;
                outside += step;
        }
        for (size_t i = 0; i < BISECTIONS; i++) {
                double middle = inside + (outside - inside) / 2;

                *(wealth_at(middle, differences, n) < limit ? &inside : &outside) = middle;
        }
        return outside;
}

PairedInterval paired_comparison_interval(const double *differences, size_t n) {
        double values[PAIRED_PAIRS_MAX], step;
        PairedInterval interval = { .low = -INFINITY, .high = INFINITY };

        assert(n <= PAIRED_PAIRS_MAX);
        memcpy(values, differences, n * sizeof(*values));
        interval.estimate = statistics_median_in_place(values, n);
        if (n < PAIRED_PAIRS_MIN)
                return interval;
        step = fmax(STEP_MIN, STEP_MIN * fabs(interval.estimate));
        interval.low = find_end(interval.estimate, -step, differences, n);
        interval.high = find_end(interval.estimate, step, differences, n);
        return interval;
}

PairedVerdict paired_comparison_judge(const PairedInterval *interval, double low, double high) {
        if (interval->low >= low && interval->high <= high)
                return PAIRED_SAME;
        if (interval->low > 0)
                return PAIRED_MORE;
        return interval->high < 0 ? PAIRED_LESS : PAIRED_UNKNOWN;
}
