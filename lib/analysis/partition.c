/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/partition.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

/* The cost grows by the distance of the new value to the median, or to the interval between the two middle values. */
void partition_cost_add(MedianCost *cost, double v) {
        double *sorted = cost->sorted;
        size_t n = cost->n, low = 0, high = n;

        if (n % 2 == 1)
                cost->cost += fabs(v - sorted[n / 2]);
        else if (n > 0 && v < sorted[n / 2 - 1])
                cost->cost += sorted[n / 2 - 1] - v;
        else if (n > 0 && v > sorted[n / 2])
                cost->cost += v - sorted[n / 2];

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (sorted[middle] <= v)
                        low = middle + 1;
                else
                        high = middle;
        }
        memmove(&sorted[low + 1], &sorted[low], (n - low) * sizeof(*sorted));
        sorted[low] = v;
        cost->n++;
}

/* --- medians of all segments ---------------------------------------------------------------------- */

/*
 * Values from one place of the series to another, as a list sorted by rank. Values are only removed, so that the
 * median moves by at most one place each time: O(1) for each segment.
 */
typedef struct RankList {
        uint32_t *next, *previous; /* borrowed; of the rank; rank n is before the first and behind the last */
        uint32_t median;           /* rank of the lower median */
        size_t n;
} RankList;

static void ranks_remove(RankList *ranks, uint32_t rank) {
        if (ranks->n % 2 == 1 && rank >= ranks->median)
                ranks->median = ranks->previous[ranks->median];
        else if (ranks->n % 2 == 0 && rank <= ranks->median)
                ranks->median = ranks->next[ranks->median];
        ranks->next[ranks->previous[rank]] = ranks->next[rank];
        ranks->previous[ranks->next[rank]] = ranks->previous[rank];
        ranks->n--;
}

/* The series sorted, and lists of ranks; one allocation. */
typedef struct Sorted {
        const double *series; /* borrowed */
        size_t n;
        double *values;       /* owned, with all below; of the rank */
        double *added;        /* cost that the value at a place adds to the segment that ends there */
        uint32_t *ranks;      /* of the place */
        RankList rest, segment;  /* values from a start to the end of the series, and to any other place */
} Sorted;

static void sorted_deinit(Sorted *sorted) {
        free(sorted->values);
}

typedef struct RankedValue {
        double value;
        uint32_t at;
} RankedValue;

static int compare(const void *a, const void *b) {
        const RankedValue *x = a, *y = b;

        return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->at > y->at) - (x->at < y->at);
}

static int sorted_init(Sorted *sorted, const double *series, size_t n) {
        scoped(freep) RankedValue *order = malloc((n + 1) * sizeof(*order));
        double *room = malloc((n + 1) * (2 * sizeof(double) + 5 * sizeof(uint32_t)));
        uint32_t *lists;

        *sorted = (Sorted){ .series = series, .n = n, .values = room };
        if (!order || !room)
                return -ENOMEM;

        sorted->added = room + n + 1;
        lists = (uint32_t *)(sorted->added + n + 1);
        sorted->ranks = lists;
        sorted->rest = (RankList){ lists + n + 1, lists + 2 * (n + 1), (uint32_t)(n - 1) / 2, n };
        sorted->segment = (RankList){ .next = lists + 3 * (n + 1), .previous = lists + 4 * (n + 1) };
        for (size_t i = 0; i < n; i++)
                order[i] = (RankedValue){ series[i], (uint32_t)i };
        qsort(order, n, sizeof(*order), compare);
        for (size_t i = 0; i < n; i++) {
                sorted->values[i] = order[i].value;
                sorted->ranks[order[i].at] = (uint32_t)i;
        }
        for (size_t i = 0; i <= n; i++) {
                sorted->rest.next[i] = (uint32_t)(i < n ? i + 1 : 0);
                sorted->rest.previous[i] = (uint32_t)(i > 0 ? i - 1 : n);
        }
        return 0;
}

/* Computes `added` for all segments from `begin` on, of which `rest` has the values. */
static void sorted_measure(Sorted *sorted, size_t begin) {
        RankList *segment = &sorted->segment;

        memcpy(segment->next, sorted->rest.next, (sorted->n + 1) * sizeof(*segment->next));
        memcpy(segment->previous, sorted->rest.previous, (sorted->n + 1) * sizeof(*segment->previous));
        segment->median = sorted->rest.median;
        segment->n = sorted->rest.n;
        for (size_t at = sorted->n - 1; at > begin; at--) {
                double v = sorted->series[at], low, high;

                ranks_remove(segment, sorted->ranks[at]);
                low = sorted->values[segment->median];
                high = segment->n % 2 == 1 ? low : sorted->values[segment->next[segment->median]];
                sorted->added[at] = v < low ? low - v : v > high ? v - high : 0;
        }
        sorted->added[begin] = 0;
}

/* --- the lowest cost ------------------------------------------------------------------------------ */

static void reverse(size_t *items, size_t n) {
        for (size_t i = 0; i < n / 2; i++) {
                size_t other = items[i];

                items[i] = items[n - 1 - i];
                items[n - 1 - i] = other;
        }
}

/* Tries all segments from `begin` on. lowest: cost of the best partition up to each place; begins: the start of its
 * last segment. */
static void try_segments(const Sorted *sorted, const PartitionSettings *settings, size_t begin, double *lowest,
                         size_t *begins) {
        double cost = 0;

        for (size_t end = begin + 1; end <= sorted->n; end++) {
                size_t n_min;
                double sum;

                cost += sorted->added[end - 1];
                sum = lowest[begin] + cost + settings->penalty;
                n_min = end == sorted->n ? settings->n_min_last : begin == 0 ? settings->n_min_first : settings->n_min;
                if (end - begin < n_min || sum >= lowest[end])
                        continue;
                lowest[end] = sum;
                begins[end] = begin;
        }
}

int partition_find(const double *series, size_t n, const PartitionSettings *settings, size_t *ret_begins,
                   size_t *ret_n) {
        scoped(freep) double *lowest = malloc((n + 1) * sizeof(*lowest));
        scoped(freep) size_t *begins = calloc(n + 1, sizeof(*begins));
        scoped(sorted_deinit) Sorted sorted;
        size_t n_begins = 0;

        assert(n > 0 && n < UINT32_MAX);
        if (sorted_init(&sorted, series, n) < 0 || !lowest || !begins)
                return -ENOMEM;

        lowest[0] = -settings->penalty;
        for (size_t i = 1; i <= n; i++)
                lowest[i] = INFINITY;
        for (size_t begin = 0; begin < n; begin++) {
                if (isfinite(lowest[begin]) && (begin == 0 || !settings->allowed || settings->allowed[begin])) {
                        sorted_measure(&sorted, begin);
                        try_segments(&sorted, settings, begin, lowest, begins);
                }
                ranks_remove(&sorted.rest, sorted.ranks[begin]);
        }

        for (size_t end = n; isfinite(lowest[n]) && begins[end] > 0; end = begins[end])
                ret_begins[n_begins++] = begins[end];
        reverse(ret_begins, n_begins);
        *ret_n = n_begins;
        return 0;
}
