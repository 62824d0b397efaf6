/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/phase_rows.h"

#include "store/jobs/job_numbers.h"

void phase_pack(Buffer *buffer, const PhaseView *phase) {
        pack_u64(buffer, phase->index);
        pack_text(buffer, phase->name);
        pack_u64(buffer, phase->begin_realtime_ms);
        pack_u64(buffer, phase->end_realtime_ms);
        pack_u64(buffer, phase->has_wall_seconds);
        pack_double(buffer, phase->wall_seconds);
        job_numbers_pack(buffer, &phase->metrics, &phase->usage);
}

int phase_put(Unpack *from, Database *database, Text job) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_PHASE_PUT);
        bool has_wall_seconds;
        double wall_seconds;
        int r;

        bind_text(put, 1, job);
        bind_u64(put, 2, unpack_u64(from));
        bind_text(put, 3, unpack_text(from));
        bind_u64(put, 4, unpack_u64(from));
        bind_u64(put, 5, unpack_u64(from));
        has_wall_seconds = unpack_u64(from);
        wall_seconds = unpack_double(from);
        if (has_wall_seconds)
                sqlite3_bind_double(put, 6, wall_seconds);
        else
                sqlite3_bind_null(put, 6);

        r = job_numbers_bind(from, database, STATEMENT_PHASE_PUT, 7);
        return r != 0 ? r : database_run(database, STATEMENT_PHASE_PUT);
}
