/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Partition: divides a series into segments so that the distances to the segments' medians are smallest
 */

#include <stdbool.h>
#include <stddef.h>

/* Sum of the distances to the median of values that are added one by one. O(n) for each value, no allocation. */
typedef struct MedianCost {
        double *sorted; /* borrowed; room for all values */
        size_t n;
        double cost;
} MedianCost;

void partition_cost_add(MedianCost *cost, double v);

typedef struct PartitionSettings {
        double penalty;      /* cost of a segment */
        size_t n_min;        /* least number of values of a segment */
        size_t n_min_first;  /* of the first segment */
        size_t n_min_last;   /* of the last segment */
        const bool *allowed; /* borrowed; for each value, whether a segment may begin there; NULL: everywhere */
} PartitionSettings;

/*
 * Finds the partition with the lowest cost of n > 0 values, by dynamic programming in O(n^2) steps. ret_begins: room
 * for n; gets the begins of the segments but the first. Returns 0 or -ENOMEM.
 */
int partition_find(const double *series, size_t n, const PartitionSettings *settings, size_t *ret_begins,
                   size_t *ret_n);
