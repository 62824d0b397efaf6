/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/sample_rows.h"

#include "store/database.h"

static int apply(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_NODE_SAMPLE_PUT);
        Unpack from = rowset_unpack(set);

        (void)state;
        bind_u64(put, 1, unpack_u64(&from));
        bind_u64(put, 2, unpack_u64(&from));
        bind_text(put, 3, unpack_text(&from));
        set->outcome = STORE_DONE;
        return database_run(database, STATEMENT_NODE_SAMPLE_PUT);
}

static const RowKind sample_kind = { "node sample", apply };

RowSet *sample_rows_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, begin_realtime_ms);
        pack_u64(&buffer, interval_ms);
        pack_text(&buffer, timeline);
        return rowset_finish(&buffer, &sample_kind, 1, (StoreCookie){});
}
