/* SPDX-License-Identifier: Apache-2.0 */
#include "store/node/sample_rows.h"

#include "store/database.h"

STATEMENT sample_put = {
        "INSERT INTO node_sample (begin_ms, interval_ms, timeline) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (begin_ms) DO UPDATE SET interval_ms = excluded.interval_ms,"
        " timeline = excluded.timeline",
        0,
};

static int apply(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field fields[3];

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        set->outcome = STORE_DONE;
        return database_run(database, &sample_put, fields, N_ELEMENTS(fields));
}

static const RowKind sample_kind = { "node sample", apply };

const RowKind *const sample_rows_kinds[] = { &sample_kind, NULL };

RowSet *sample_rows_pack(uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_fields(&buffer, FIELDS(field_u64(begin_realtime_ms), field_u64(interval_ms), field_string(timeline)));
        return rowset_finish(&buffer, &sample_kind, 1, (StoreCookie){});
}
