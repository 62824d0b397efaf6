/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/phase_rows.h"

#include "store/jobs/job_numbers.h"

void phase_rows_pack(Buffer *buffer, const PhaseView *phase) {
        pack_u64(buffer, phase->index);
        pack_text(buffer, phase->name);
        pack_u64(buffer, phase->begin_realtime_ms);
        pack_u64(buffer, phase->end_realtime_ms);
        pack_u64(buffer, phase->has_wall_seconds);
        pack_double(buffer, phase->wall_seconds);
        job_numbers_pack(buffer, &phase->metrics, &phase->usage);
}

STATEMENT phase_put = {
        "INSERT INTO phase (job, number, name, begin_ms, end_ms, wall_seconds,"
        " layout, metrics, usage_layout, usage)"
        " SELECT row, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM job WHERE id = ?1"
        " ON CONFLICT (job, number) DO UPDATE SET name = excluded.name, begin_ms = excluded.begin_ms,"
        " end_ms = excluded.end_ms, wall_seconds = excluded.wall_seconds, layout = excluded.layout,"
        " metrics = excluded.metrics, usage_layout = excluded.usage_layout, usage = excluded.usage",
        0,
};

int phase_rows_put(Unpack *from, Database *database, Text job) {
        Prepared *put = database_prepare(database, &phase_put);
        bool has_wall_seconds;
        double wall_seconds;
        int r;

        statement_bind_text(put, job);
        statement_bind_u64(put, pack_read_u64(from));   /* number */
        statement_bind_text(put, pack_read_text(from)); /* name */
        statement_bind_u64(put, pack_read_u64(from));   /* begin, end */
        statement_bind_u64(put, pack_read_u64(from));
        has_wall_seconds = pack_read_u64(from);
        wall_seconds = pack_read_double(from);
        if (has_wall_seconds)
                statement_bind_double(put, wall_seconds);
        else
                statement_bind_null(put);

        r = job_numbers_bind(from, database, put);
        return r != 0 ? r : database_run(database, put);
}
