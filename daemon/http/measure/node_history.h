/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NodeHistory: stored intervals of the node, joined to one Timeline
 *
 * The store has a row for each interval, and, for longer, a block of minutes for each hour. They are joined as long
 * as they have the same interval; a missing row is a gap.
 */

#include "measure/timeline.h"
#include "store/node/store_node.h"

typedef struct NodeHistory {
        Timeline timeline; /* empty at first */
        size_t n_points_max;
        uint64_t step_ns; /* of merged points: they begin at multiples of it; 0: the interval of the first row */
        bool is_merging; /* merge neighbouring points when no position is left; otherwise refuse the row */
        uint64_t since_ms, until_ms; /* points of [since, until) are added; until_ms 0: no end */
        uint64_t next_ms;            /* begin of the first point that did not fit; 0: all did */
} NodeHistory;

void node_history_deinit(NodeHistory *history);

/*
 * Reads the history from the store: samples, and minutes where no samples are left. With steps of a minute or more,
 * minutes are read wherever there are any. 0, a negative errno, or an outcome of reader.h other than READER_END.
 */
int node_history_read(NodeHistory *history, Reader *reader);

/* Adds the next row, which must be later than the last. 0; NODE_HISTORY_FULL: a point does not fit (no position left,
 * or another grid without merging), nor do later ones; NODE_HISTORY_MALFORMED: the row is not valid; -ENOMEM. */
enum {
        NODE_HISTORY_FULL = 1,
        NODE_HISTORY_MALFORMED,
};
int node_history_add(NodeHistory *history, const NodeSampleRow *row);
