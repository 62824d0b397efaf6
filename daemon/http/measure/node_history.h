/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NodeHistory: stored intervals of the node, joined to one Timeline
 *
 * The store has a row for each interval. Rows are joined as long as they have the same interval; a missing row is a
 * gap.
 */

#include "measure/timeline.h"
#include "store/node/store_node.h"

typedef struct NodeHistory {
        Timeline timeline; /* empty at first */
        size_t n_points_max;
        uint64_t step_ns; /* of merged points: they begin at multiples of it; 0: the interval of the first row */
        bool is_merging; /* merge neighbouring points when no position is left; otherwise refuse the row */
} NodeHistory;

void node_history_deinit(NodeHistory *history);

/* Adds the next row, which must be later than the last. 0; NODE_HISTORY_FULL: the row does not fit (no position
 * left, or another grid without merging) and nothing changed; NODE_HISTORY_MALFORMED: the row is not valid; -ENOMEM. */
enum {
        NODE_HISTORY_FULL = 1,
        NODE_HISTORY_MALFORMED,
};
int node_history_add(NodeHistory *history, const NodeSampleRow *row);
