/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Node subject: the node's history, and the queries for this history. */

#include "store/read/reader.h"
#include "store/table/rowset.h"
#include "store/table/store_subject.h"

extern const StoreSubject store_node;

/* Packs one interval of the node's history; timeline: timeline_write() of one point. Copies. For store_put(); NULL:
 * out of memory. */
RowSet *store_node_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const Buffer *timeline);

typedef struct NodeSampleRow {
        uint64_t begin_ms, interval_ms;
        Blob timeline; /* timeline_write() of one point; borrowed until the next step */
} NodeSampleRow;

/* Begins a query of the intervals of [since, until), oldest first; until_ms 0: no end. 0 or an outcome of reader.h,
 * as for both functions. */
int store_node_list(Reader *reader, uint64_t since_ms, uint64_t until_ms);
READER_NEXT(store_node_next, NodeSampleRow)
