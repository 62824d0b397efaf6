/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sample reader: the node's history. */

#include "store/reader.h"

typedef struct NodeSampleRow {
        uint64_t begin_ms, interval_ms;
        const char *timeline; /* one-point timeline_format(); borrowed until the next step */
} NodeSampleRow;

/* Intervals of [since, until), oldest first; until_ms 0: no end. 0 or an outcome of reader.h, as both. */
int sample_reader_list(Reader *reader, uint64_t since_ms, uint64_t until_ms);
int sample_reader_next(Reader *reader, NodeSampleRow *ret);
