/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_parts.h"

#include <string.h>

#include "store/database/database.h"

/* --- layout -------------------------------------------------------------------------------------- */

STATEMENT layout_find = {
        "SELECT id FROM layout WHERE keys = ?1",
        1,
};

STATEMENT layout_insert = {
        "INSERT INTO layout (keys) VALUES (?1) RETURNING id",
        1,
};

int job_parts_find_layout(Database *database, LayoutKind kind, int64_t *ret) {
        scoped(buffer_deinit) Buffer keys = {};
        int r;

        job_text_write_layout(kind, &keys);
        r = buffer_error(&keys);
        return r < 0 ? r : database_text_id(database, &layout_find, &layout_insert, field_buffer(&keys), ret);
}

/* --- owner --------------------------------------------------------------------------------------- */

enum { OWNER_STATE, OWNER_UID, OWNER_ROW, N_OWNER_COLUMNS };

STATEMENT owner_find = { "SELECT state, uid, row FROM job WHERE id = ?1", N_OWNER_COLUMNS };

int job_parts_find_owner(Database *database, Field job, JobOwner *ret) {
        Prepared *find = database_prepare(database, &owner_find, &job, 1);
        const char *state;
        int r;

        *ret = (JobOwner){};
        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;

        state = column_text(find, OWNER_STATE);
        *ret = (JobOwner){
                .is_stored = true,
                .is_running = state && strcmp(state, job_state_name(JOB_RUNNING)) == 0,
                .is_finished = state && strcmp(state, job_state_name(JOB_FINISHED)) == 0,
                .uid = (uint32_t)column_i64(find, OWNER_UID),
                .row = column_i64(find, OWNER_ROW),
        };
        return database_finish(database, find);
}

/* --- end ----------------------------------------------------------------------------------------- */

void job_parts_pack_end(Buffer *buffer, const JobEnd *end) {
        size_t begin;

        pack_fields(buffer, FIELDS(field_if(end->has_exit_status, field_i64(end->exit_status)), field_i64(end->signal)));
        if (!end->has_rusage) {
                pack_fields(buffer, &(Field){}, 1);
                return;
        }

        begin = pack_text_begin(buffer);
        record_put(&job_rusage_record, &end->rusage, buffer);
        pack_text_end(buffer, begin);
}
