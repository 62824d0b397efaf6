/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/student.h"

#define EXACT_SMALLER_MAX 8U
#define EXACT_SEPARATE_MAX 10U /* if all values of one set are above those of the other: the normal distribution is too cautious */
#define EXACT_PAIRS_MAX 1200U

static int compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/*
 * Share of the arrangements with at least u pairs in order, for n_pairs = smaller * larger pairs. The numbers of arrangements are the
 * coefficients of a Gaussian binomial.
 */
static double exact_p(size_t smaller, size_t larger, double u) {
        double n_arrangements[EXACT_PAIRS_MAX + 1] = { 1 }, all = 0, above = 0;
        size_t n_pairs = smaller * larger;

        for (size_t i = 1; i <= smaller; i++) {
                for (size_t v = n_pairs; v >= larger + i; v--)
                        n_arrangements[v] -= n_arrangements[v - (larger + i)];
                for (size_t v = i; v <= n_pairs; v++)
                        n_arrangements[v] += n_arrangements[v - i];
        }
        for (size_t v = 0; v <= n_pairs; v++) {
                all += n_arrangements[v];
                if (v >= (size_t)u)
                        above += n_arrangements[v];
        }
        return above / all;
}

/* Sum of t^3 - t over groups of t equal values. */
static double count_ties(const double *sorted, size_t n) {
        double sum = 0;

        for (size_t i = 0, end; i < n; i = end) {
                double t;

                for (end = i; end < n && sorted[end] == sorted[i]; end++)
                        ;
                t = (double)(end - i);
                sum += t * t * t - t;
        }
        return sum;
}

double rank_test(const double *a, size_t n_a, const double *b, size_t n_b, double *scratch) {
        double n = (double)(n_a + n_b), pairs = (double)n_a * (double)n_b, u = 0, variance;
        size_t smaller = n_a < n_b ? n_a : n_b, larger = n_a < n_b ? n_b : n_a;

        for (size_t i = 0; i < n_b; i++)
                for (size_t k = 0; k < n_a; k++)
                        u += b[i] > a[k] ? 1 : b[i] == a[k] ? 0.5 : 0;
        u = fmax(u, pairs - u);
        if (smaller <= (u >= pairs ? EXACT_SEPARATE_MAX : EXACT_SMALLER_MAX) && smaller * larger <= EXACT_PAIRS_MAX)
                return exact_p(smaller, larger, u);

        memcpy(scratch, a, n_a * sizeof(*a));
        memcpy(scratch + n_a, b, n_b * sizeof(*b));
        qsort(scratch, n_a + n_b, sizeof(*scratch), compare);
        variance = pairs / 12 * (n + 1 - count_ties(scratch, n_a + n_b) / (n * (n - 1)));
        return variance > 0 ? student_normal_above((u - pairs / 2 - 0.5) / sqrt(variance)) : 1;
}
