/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_sum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/student.h"

#define EXACT_MAX 1800U /* size of the smaller sample times the sum of both sizes; takes less than a millisecond */

/* Ranks times two, so that the mean of two ranks is a whole number. */
typedef struct Ranks {
        double sum;  /* of the first sample */
        double ties; /* Σ (t³ - t) over the sets of t equal values */
} Ranks;

/* of_values: NULL, or space for twice the rank of each value, in ascending order. */
static Ranks give_ranks(const double *a, size_t n_a, const double *b, size_t n_b, unsigned *of_values) {
        size_t i = 0, j = 0;
        Ranks ret = {};

        while (i < n_a || j < n_b) {
                double value = j == n_b || (i < n_a && a[i] < b[j]) ? a[i] : b[j], t, rank;
                size_t begin = i + j, begin_a = i;

                while (i < n_a && a[i] == value)
                        i++;
                while (j < n_b && b[j] == value)
                        j++;

                t = (double)(i + j - begin);
                rank = (double)(begin + i + j + 1);
                ret.sum += rank * (double)(i - begin_a);
                ret.ties += t * t * t - t;
                for (size_t k = begin; of_values && k < i + j; k++)
                        of_values[k] = (unsigned)rank;
        }
        return ret;
}

/* --- exact distribution -------------------------------------------------------------------------- */

/* n_a: of the smaller sample. */
static bool is_exact(size_t n_a, size_t n_b) {
        return n_a <= EXACT_MAX && n_b <= EXACT_MAX && n_a * (n_a + n_b) <= EXACT_MAX;
}

/* ways: numbers of arrangements, by their sums. */
static RankSum find_tails(const double *ways, size_t width, double middle, double seen) {
        double all = 0, one_sided = 0, two_sided = 0;

        for (size_t s = 0; s < width; s++) {
                all += ways[s];
                if (fabs((double)s - middle) < fabs(seen - middle) - 1e-9)
                        continue;
                two_sided += ways[s];
                one_sided += ((double)s >= middle) == (seen >= middle) ? ways[s] : 0;
        }
        return (RankSum){ one_sided / all, two_sided / all };
}

/*
 * The numbers of arrangements with as many pairs of values in order are the coefficients of a Gaussian binomial.
 */
static RankSum count_pairs(size_t n_a, size_t n_b, double sum, double *ways) {
        size_t n_pairs = n_a * n_b;

        memset(ways, 0, (n_pairs + 1) * sizeof(*ways));
        ways[0] = 1;
        for (size_t i = 1; i <= n_a; i++) {
                for (size_t v = n_pairs; v >= n_b + i; v--)
                        ways[v] -= ways[v - (n_b + i)];
                for (size_t v = i; v <= n_pairs; v++)
                        ways[v] += ways[v - i];
        }
        return find_tails(ways, n_pairs + 1, (double)n_pairs / 2, (sum - (double)(n_a * (n_a + 1))) / 2);
}

/*
 * ways[k * width + s]: the number of ways to choose k of the ranks, which ascend, with the sum s. k - 1 ranks up to
 * the i-th have a sum of at most k - 1 times the i-th.
 */
static RankSum count_sums(const unsigned *ranks, size_t n, size_t n_a, double sum, double *ways) {
        size_t width = n_a * (2 * n - n_a + 1) + 1; /* sum of the largest ranks, plus 1 */

        memset(ways, 0, (n_a + 1) * width * sizeof(*ways));
        ways[0] = 1;
        for (size_t i = 0; i < n; i++)
                for (size_t k = i + 1 < n_a ? i + 1 : n_a; k > 0; k--) {
                        const double *without = ways + (k - 1) * width;
                        double *with = ways + k * width + ranks[i];
                        size_t most = (k - 1) * ranks[i];

                        for (size_t s = 0; s <= most && s + ranks[i] < width; s++)
                                with[s] += without[s];
                }
        return find_tails(ways + n_a * width, width, (double)(n_a * (n + 1)), sum);
}

/* --- normal approximation ------------------------------------------------------------------------ */

/* distance: difference of the rank sum from its mean. */
static RankSum approximate(double n_a, double n_b, double ties, double distance) {
        double n = n_a + n_b, variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));
        double above = variance > 0 ? student_normal_above((distance - 0.5) / sqrt(variance)) : 1;

        return (RankSum){ above, fmin(1, 2 * above) };
}

RankSum rank_sum_test(const double *a, size_t n_a, const double *b, size_t n_b, size_t n_exact_max, double *scratch) {
        unsigned of_values[EXACT_MAX];
        size_t n = n_a + n_b;
        bool is_counted;
        Ranks ranks;

        if (n_a > n_b)
                return rank_sum_test(b, n_b, a, n_a, n_exact_max, scratch);
        if (n_a == 0)
                return (RankSum){ 1, 1 };

        is_counted = is_exact(n_a, n_b) && (n_a <= n_exact_max || a[n_a - 1] < b[0] || b[n_b - 1] < a[0]);
        ranks = give_ranks(a, n_a, b, n_b, is_counted ? of_values : NULL);
        if (!is_counted)
                return approximate((double)n_a, (double)n_b, ranks.ties,
                                   fabs(ranks.sum - (double)n_a * (double)(n + 1)) / 2);
        return ranks.ties > 0 ? count_sums(of_values, n, n_a, ranks.sum, scratch)
                              : count_pairs(n_a, n_b, ranks.sum, scratch);
}

double rank_sum_least(size_t n_a, size_t n_b) {
        double ways = 1;

        if (n_a > n_b)
                return rank_sum_least(n_b, n_a);
        if (!is_exact(n_a, n_b))
                return approximate((double)n_a, (double)n_b, 0, (double)n_a * (double)n_b / 2).two_sided;

        for (size_t i = 1; i <= n_a; i++)
                ways = ways * (double)(n_b + i) / (double)i;
        return ways > 2 ? 2 / ways : 1;
}
