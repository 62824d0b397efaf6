/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node subject: the node's history, and the queries for this history
 *
 * There is a row for each checkpoint interval, and, for much longer, a block of about an hour with a point for each
 * minute.
 */

#include "store/read/reader.h"
#include "store/table/rowset.h"
#include "store/table/store_subject.h"

extern const StoreSubject store_node;

/* Packs one interval of the node's history; timeline: timeline_write() of one point. Copies. For store_put(); NULL:
 * out of memory. */
RowSet *store_node_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const Buffer *timeline);

#define STORE_NODE_MINUTE_MS UINT64_C(60000)

/* Packs a block of the node's minutes, which replaces one that begins at the same time; as above. */
RowSet *store_node_pack_minutes(uint64_t begin_realtime_ms, const Buffer *timeline);

typedef struct NodeSampleRow {
        uint64_t begin_ms, interval_ms;
        Blob timeline; /* timeline_write() of one point; borrowed until the next step */
} NodeSampleRow;

/* Begins a query of the intervals of [since, until), oldest first; until_ms 0: no end. 0 or an outcome of reader.h,
 * as for both functions. */
int store_node_list(Reader *reader, uint64_t since_ms, uint64_t until_ms);
READER_NEXT(store_node_next, NodeSampleRow)

/* As above, for the blocks of minutes that begin in [since, until). interval_ms is that of a point; the timeline is
 * in *unpacked. */
int store_node_list_minutes(Reader *reader, uint64_t since_ms, uint64_t until_ms);
int store_node_next_minutes(Reader *reader, Buffer *unpacked, NodeSampleRow *ret);

/* Times of the oldest row of each kind, INT64_MAX: there is none; and of the newest sample, or 0. */
typedef struct NodeBounds {
        uint64_t samples_ms, minutes_ms, newest_ms;
} NodeBounds;
int store_node_find_bounds(Reader *reader, NodeBounds *ret);
