/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/sample_reader.h"

#include "store/read_connection.h"

static const StoreColumn columns[] = {
        COLUMN(NodeSampleRow, begin_ms),
        COLUMN(NodeSampleRow, interval_ms),
        COLUMN_REQUIRED(NodeSampleRow, timeline),
};

STATEMENT samples = {
        "SELECT begin_ms, interval_ms, timeline FROM node_sample WHERE begin_ms >= ? AND begin_ms < ? ORDER BY begin_ms",
        N_ELEMENTS(columns),
};

int sample_reader_list(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        return read_connection_begin(reader_connection(reader), &samples,
                                     FIELDS(field_u64(since_ms), field_u64(until_ms ?: UINT64_MAX)));
}

int sample_reader_next(Reader *reader, NodeSampleRow *ret) {
        return read_connection_next(reader_connection(reader), columns, N_ELEMENTS(columns), ret, sizeof(*ret));
}
