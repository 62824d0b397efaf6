/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/sample_reader.h"

#include "store/read_connection.h"

enum { SAMPLE_BEGIN, SAMPLE_INTERVAL, SAMPLE_TIMELINE, N_SAMPLE_COLUMNS };

STATEMENT samples = {
        "SELECT begin_ms, interval_ms, timeline FROM node_sample WHERE begin_ms >= ? AND begin_ms < ? ORDER BY begin_ms",
        N_SAMPLE_COLUMNS,
};

int sample_reader_list(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        Prepared *list;
        int r;

        r = read_connection_begin(reader_connection(reader), &samples, &list);
        if (r != 0)
                return r;

        statement_bind_u64(list, since_ms);
        statement_bind_u64(list, until_ms ?: UINT64_MAX);
        return 0;
}

int sample_reader_next(Reader *reader, NodeSampleRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        const Prepared *row;
        int r;

        r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        *ret = (NodeSampleRow){
                .begin_ms = column_u64(row, SAMPLE_BEGIN),
                .interval_ms = column_u64(row, SAMPLE_INTERVAL),
                .timeline = column_text(row, SAMPLE_TIMELINE),
        };
        return ret->timeline ? 0 : read_connection_fail(connection, SQLITE_NOMEM);
}
