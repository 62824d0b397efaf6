/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/rank_sum.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/scoped.h"

#define EXACT_MAX 1800U /* size of the smaller sample times the sum of both sizes; takes about a millisecond */

/* Ranks times two, so that the mean of two ranks is a whole number. */
typedef struct Ranks {
        double sum_a, sum_b; /* of each sample */
        double ties;         /* Σ (t³ - t) over the sets of t equal values */
} Ranks;

/* of_values: NULL, or space for twice the rank of each value, in ascending order. */
static void give_ranks(const double *a, size_t n_a, const double *b, size_t n_b, Ranks *ret, unsigned *of_values) {
        size_t i = 0, j = 0;

        *ret = (Ranks){};
        while (i < n_a || j < n_b) {
                double value = j == n_b || (i < n_a && a[i] < b[j]) ? a[i] : b[j], t, rank;
                size_t begin = i + j, begin_a = i;

                while (i < n_a && a[i] == value)
                        i++;
                while (j < n_b && b[j] == value)
                        j++;

                t = (double)(i + j - begin);
                rank = (double)(begin + i + j + 1);
                ret->sum_a += rank * (double)(i - begin_a);
                ret->sum_b += rank * (t - (double)(i - begin_a));
                ret->ties += t * t * t - t;
                for (size_t k = begin; of_values && k < i + j; k++)
                        of_values[k] = (unsigned)rank;
        }
}

/* --- exact distribution -------------------------------------------------------------------------- */

static bool is_exact(size_t n_a, size_t n_b) {
        size_t n_less = n_a < n_b ? n_a : n_b, n = n_a + n_b;

        return n_less <= EXACT_MAX && n <= EXACT_MAX && n_less * n <= EXACT_MAX;
}

/* Returns the common divisor of the ranks, 1 or 2. Without ties, all doubled ranks are even. */
static unsigned step_of(const unsigned *ranks, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ranks[i] % 2 != 0)
                        return 1;
        return 2;
}

/* ways[k * width + s]: the number of ways to choose k of the ranks with the sum s. */
static void count_ways(const unsigned *ranks, size_t n, unsigned step, size_t n_taken, size_t width, double *ways) {
        ways[0] = 1;
        for (size_t i = 0; i < n; i++) {
                size_t rank = ranks[i] / step;

                for (size_t k = i + 1 < n_taken ? i + 1 : n_taken; k > 0; k--) {
                        const double *without = ways + (k - 1) * width;
                        double *with = ways + k * width + rank;

                        for (size_t s = 0; s < width - rank; s++)
                                with[s] += without[s];
                }
        }
}

/* Returns the fraction of sums that are at least as far from the mean as the observed sum. */
static double share_beyond(const double *ways, size_t width, double middle, double seen) {
        double all = 0, beyond = 0;

        for (size_t s = 0; s < width; s++) {
                all += ways[s];
                if (fabs((double)s - middle) >= fabs(seen - middle) - 1e-9)
                        beyond += ways[s];
        }
        return beyond / all;
}

/* Gives the exact probability of a sum of n_taken out of n ranks at least as extreme as `sum`. 0 or -ENOMEM. */
static int count(const unsigned *ranks, size_t n, size_t n_taken, double sum, double *ret) {
        unsigned step = step_of(ranks, n);
        size_t width = n_taken * (2 * n - n_taken + 1) / step + 1; /* sum of the largest ranks, plus 1 */
        double middle = (double)(n_taken * (n + 1)) / step;
        scoped(freep) double *ways = calloc((n_taken + 1) * width, sizeof(*ways));

        if (!ways)
                return -ENOMEM;

        count_ways(ranks, n, step, n_taken, width, ways);
        *ret = share_beyond(ways + n_taken * width, width, middle, sum / step);
        return 0;
}

/* --- normal approximation ------------------------------------------------------------------------ */

/* distance: difference of the rank sum from its mean. */
static double approximate(double n_a, double n_b, double ties, double distance) {
        double n = n_a + n_b, variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));

        return variance > 0 && distance > 0.5 ? erfc((distance - 0.5) / sqrt(2 * variance)) : 1;
}

int rank_sum_probability(const double *a, size_t n_a, const double *b, size_t n_b, double *ret) {
        scoped(freep) unsigned *of_values = NULL;
        size_t n = n_a + n_b;
        Ranks ranks;

        if (n_a == 0 || n_b == 0) {
                *ret = 1;
                return 0;
        }
        if (!is_exact(n_a, n_b)) {
                give_ranks(a, n_a, b, n_b, &ranks, NULL);
                *ret = approximate((double)n_a, (double)n_b, ranks.ties, fabs(ranks.sum_a - (double)n_a * (double)(n + 1)) / 2);
                return 0;
        }

        of_values = calloc(n, sizeof(*of_values));
        if (!of_values)
                return -ENOMEM;

        give_ranks(a, n_a, b, n_b, &ranks, of_values);
        return n_a <= n_b ? count(of_values, n, n_a, ranks.sum_a, ret) : count(of_values, n, n_b, ranks.sum_b, ret);
}

double rank_sum_least(size_t n_a, size_t n_b) {
        size_t n_less = n_a < n_b ? n_a : n_b;
        double ways = 1;

        if (!is_exact(n_a, n_b))
                return approximate((double)n_a, (double)n_b, 0, (double)n_a * (double)n_b / 2);

        for (size_t i = 1; i <= n_less; i++)
                ways = ways * (double)(n_a + n_b - n_less + i) / (double)i;
        return ways > 2 ? 2 / ways : 1;
}
