#include "analysis/rank_sum.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/scoped.h"

typedef struct Entry {
        double value;
        bool is_a;
        unsigned rank; /* twice the rank, so that a mean of two is whole */
} Entry;

static int on_compare(const void *a, const void *b) {
        double x = ((const Entry *)a)->value, y = ((const Entry *)b)->value;

        return (x > y) - (x < y);
}

static void give_ranks(Entry *entries, size_t n) {
        qsort(entries, n, sizeof(*entries), on_compare);
        for (size_t begin = 0, end = 0; begin < n; begin = end) {
                while (end < n && entries[end].value == entries[begin].value)
                        end++;
                for (size_t i = begin; i < end; i++)
                        entries[i].rank = (unsigned)(begin + 1 + end);
        }
}

/* ways[k * (sum_max + 1) + s]: in how many ways k of the ranks come to s. Each rank is taken or not. */
static void count_ways(const Entry *entries, size_t n, size_t n_a, size_t sum_max, double *ways) {
        size_t width = sum_max + 1;

        ways[0] = 1;
        for (size_t i = 0; i < n; i++)
                for (size_t k = n_a; k > 0; k--)
                        for (size_t s = sum_max; s >= entries[i].rank; s--)
                                ways[k * width + s] += ways[(k - 1) * width + s - entries[i].rank];
}

/* Those as far from the middle as what was seen, of all. */
static double share_beyond(const double *ways, size_t sum_max, double middle, double seen) {
        double all = 0, beyond = 0;

        for (size_t s = 0; s <= sum_max; s++) {
                all += ways[s];
                if (fabs((double)s - middle) >= fabs(seen - middle) - 1e-9)
                        beyond += ways[s];
        }
        return beyond / all;
}

int rank_sum_probability(const double *a, size_t n_a, const double *b, size_t n_b, double *ret) {
        Entry entries[RANK_SUM_VALUES_MAX];
        scoped(freep) double *ways = NULL;
        size_t n = n_a + n_b, sum_max = n * (n + 1);
        double seen = 0;

        assert(n <= RANK_SUM_VALUES_MAX);
        if (n_a == 0 || n_b == 0) {
                *ret = 1;
                return 0;
        }

        for (size_t i = 0; i < n; i++)
                entries[i] = (Entry){ .value = i < n_a ? a[i] : b[i - n_a], .is_a = i < n_a };
        give_ranks(entries, n);
        for (size_t i = 0; i < n; i++)
                seen += entries[i].is_a ? entries[i].rank : 0;

        ways = calloc((n_a + 1) * (sum_max + 1), sizeof(*ways));
        if (!ways)
                return -ENOMEM;

        count_ways(entries, n, n_a, sum_max, ways);
        *ret = share_beyond(ways + n_a * (sum_max + 1), sum_max, (double)(n_a * (n + 1)), seen);
        return 0;
}

double rank_sum_least(size_t n_a, size_t n_b) {
        double ways = 1;

        for (size_t i = 1; i <= n_a; i++)
                ways = ways * (double)(n_b + i) / (double)i;
        return ways > 2 ? 2 / ways : 1;
}
