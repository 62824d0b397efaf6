/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/sample_rows.h"

int sample_rows_pack(uint64_t begin_ms, uint64_t interval_ms, const char *timeline, RowSet **ret) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, begin_ms);
        pack_u64(&buffer, interval_ms);
        pack_text(&buffer, timeline);
        return rowset_finish(&buffer, ROW_NODE_SAMPLE, 1, (StoreCookie){}, ret);
}

int sample_rows_apply(RowSet *set, Database *database) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_NODE_SAMPLE_PUT);
        Unpack from = rowset_unpack(set);

        bind_u64(put, 1, unpack_u64(&from));
        bind_u64(put, 2, unpack_u64(&from));
        bind_text(put, 3, unpack_text(&from));
        set->outcome = STORE_DONE;
        return database_run(database, STATEMENT_NODE_SAMPLE_PUT);
}
