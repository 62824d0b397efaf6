/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * History: stored intervals put together again as one Timeline
 *
 * The store has the node's history as rows, one interval each. Rows are joined as long as they lie on one
 * grid; a place on it without a row is a hole.
 */

#include "series/timeline.h"
#include "store/node/sample_reader.h"
#include "store/reader.h"

typedef struct NodeHistory {
        Timeline timeline;
        size_t n_points_max;
        bool is_merging; /* full: neighbours merge. Else: full is full */
} NodeHistory;

void node_history_init(NodeHistory *history, size_t n_points_max, bool is_merging);
void node_history_deinit(NodeHistory *history);

/*
 * Takes the next row, later than the last. 0; HISTORY_FULL: it does not fit (no place left, or another grid and
 * not merging) and nothing changed; HISTORY_MALFORMED: not a row of ours; -ENOMEM.
 */
enum {
        HISTORY_FULL = 1,
        HISTORY_MALFORMED,
};
int node_history_add(NodeHistory *history, const NodeSampleRow *row);
