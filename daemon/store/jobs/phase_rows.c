/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/phase_rows.h"

#include "store/jobs/job_numbers.h"

void phase_rows_pack(Buffer *buffer, const PhaseView *phase) {
        pack_fields(buffer, FIELDS(field_u64(phase->index), field_string(phase->name), field_u64(phase->begin_realtime_ms),
                                   field_u64(phase->end_realtime_ms),
                                   field_if(phase->has_wall_seconds, field_double(phase->wall_seconds))));
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

int phase_rows_put(Unpack *from, Database *database, Field job) {
        Field fields[6 + N_NUMBER_FIELDS] = { job };
        int r;

        pack_read_fields(from, &fields[1], 5);
        r = job_numbers_read(from, database, &fields[6]);
        return r != 0 ? r : database_run(database, &phase_put, fields, N_ELEMENTS(fields));
}
