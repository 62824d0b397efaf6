/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_rows.h"

#include <assert.h>
#include <string.h>

#include "store/compress.h"
#include "store/database.h"
#include "store/jobs/job_numbers.h"
#include "store/jobs/job_text.h"
#include "store/jobs/phase_rows.h"

/* --- in the writer's thread: progress ------------------------------------------------------------ */


STATEMENT meter_put = {
        "INSERT INTO meter (only, account, boot_id, time_ms) VALUES (1, ?1, ?2, ?3)"
        " ON CONFLICT (only) DO UPDATE SET account = excluded.account, boot_id = excluded.boot_id,"
        " time_ms = excluded.time_ms",
        0,
};

static int put_meter(Database *database, Text meter, Text boot_id, uint64_t time_ms) {
        Prepared *put = database_prepare(database, &meter_put);

        if (!meter.text)
                return 0;

        statement_bind_text(put, meter);
        statement_bind_text(put, boot_id);
        statement_bind_u64(put, time_ms);
        return database_run(database, put);
}

/* At its begin, and at a checkpoint: the same places in both. */
STATEMENT running_put = {
        "INSERT INTO running (job, window, boot_id, checkpoint_ms) SELECT row, ?2, ?3, ?4 FROM job WHERE id = ?1",
        0,
};

STATEMENT running_checkpoint = {
        "UPDATE running SET window = ?2, boot_id = ?3, checkpoint_ms = ?4"
        " WHERE job = (SELECT row FROM job WHERE id = ?1)",
        0,
};

/* Progress of a running job. */
static int put_progress(Database *database, const Statement *which, Text job, Text progress, Text boot_id, uint64_t time_ms) {
        Prepared *put = database_prepare(database, which);

        statement_bind_text(put, job);
        statement_bind_text(put, progress);
        statement_bind_text(put, boot_id);
        statement_bind_u64(put, time_ms);
        return database_run(database, put);
}

/* --- begin --------------------------------------------------------------------------------------- */

STATEMENT job_insert = {
        "INSERT INTO job (id, name, user, command, labels, uid, gid, pid, pid_start_ticks, rank,"
        " node, n_nodes, n_ranks, enclosure, cgroup, state, begin_ms)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 'running', ?16)"
        " ON CONFLICT (id) DO NOTHING",
        0,
};

static int apply_begin(RowSet *set, Database *database, void *state) {
        Prepared *insert = database_prepare(database, &job_insert);
        Unpack from = rowset_unpack(set);
        Text job = pack_read_text(&from), boot_id, progress;
        uint64_t begin_ms;
        int r;

        (void)state;
        statement_bind_text(insert, job);
        for (int i = 0; i < 4; i++) /* name, user, command, labels */
                statement_bind_text(insert, pack_read_text(&from));
        for (int i = 0; i < 8; i++) /* uid, gid, pid, pid_start_ticks, rank, node, n_nodes, n_ranks: some may be negative */
                statement_bind_i64(insert, (int64_t)pack_read_u64(&from));
        statement_bind_text(insert, pack_read_text(&from)); /* enclosure, cgroup */
        statement_bind_text(insert, pack_read_text(&from));
        begin_ms = pack_read_u64(&from);
        boot_id = pack_read_text(&from);
        progress = pack_read_text(&from);
        statement_bind_u64(insert, begin_ms);
        r = database_run(database, insert);
        if (r != 0)
                return r;

        if (database_changes(database) == 0) {
                set->outcome = STORE_CONFLICT;
                return 0;
        }
        set->outcome = STORE_DONE;
        r = put_progress(database, &running_put, job, progress, boot_id, begin_ms);
        return r != 0 ? r : put_meter(database, pack_read_text(&from), boot_id, begin_ms);
}

/* --- end ----------------------------------------------------------------------------------------- */

/* Exit status, signal and rusage. */
static void bind_end(Prepared *prepared, Unpack *from) {
        bool has_exit_status = pack_read_u64(from);
        int64_t exit_status = (int64_t)pack_read_u64(from);

        if (has_exit_status)
                statement_bind_i64(prepared, exit_status);
        else
                statement_bind_null(prepared);
        statement_bind_i64(prepared, (int64_t)pack_read_u64(from));
        statement_bind_text(prepared, pack_read_text(from));
}

STATEMENT timeline_put = {
        "INSERT INTO timeline (part, bytes) SELECT 3 * row + ?2, ?3 FROM job WHERE id = ?1"
        " ON CONFLICT (part) DO UPDATE SET bytes = excluded.bytes",
        0,
};

static int put_timeline(Database *database, Text job, Text timeline) {
        scoped(buffer_deinit) Buffer bytes = {};
        size_t begin = 0;
        int r;

        if (!timeline.text)
                return 0;

        r = compress_text(timeline.text, (size_t)timeline.n, &bytes);
        for (size_t i = 0; r == 0 && i < N_TIMELINE_PARTS; i++) {
                Prepared *put = database_prepare(database, &timeline_put);
                size_t end = bytes.n * (i + 1) / N_TIMELINE_PARTS;

                assert(begin <= end && end <= bytes.n);
                statement_bind_text(put, job);
                statement_bind_u64(put, i);
                statement_bind_blob(put, bytes.text + begin, end - begin);
                r = database_run(database, put);
                begin = end;
        }
        return r;
}

STATEMENT job_end = {
        "UPDATE job SET state = ?2, end_ms = ?3, exit_status = ?4, signal = ?5, rusage = ?6, note = ?7,"
        " layout = ?8, metrics = ?9, usage_layout = ?10, usage = ?11,"
        " n_phases = max(n_phases, ?12) WHERE id = ?1",
        0,
};

STATEMENT running_remove = {
        "DELETE FROM running WHERE job = (SELECT row FROM job WHERE id = ?1)",
        0,
};

static int apply_end(RowSet *set, Database *database, void *state) {
        Prepared *update = database_prepare(database, &job_end), *remove;
        Unpack from = rowset_unpack(set);
        Text job = pack_read_text(&from);
        uint64_t n_phases;
        int r;

        (void)state;
        statement_bind_text(update, job);
        statement_bind_text(update, pack_read_text(&from)); /* state */
        statement_bind_u64(update, pack_read_u64(&from));   /* end */
        bind_end(update, &from);
        statement_bind_text(update, pack_read_text(&from)); /* note */
        r = job_numbers_bind(&from, database, update);
        n_phases = pack_read_u64(&from);
        statement_bind_u64(update, n_phases);
        if (r == 0)
                r = database_run(database, update);
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        remove = database_prepare(database, &running_remove);
        statement_bind_text(remove, job);
        r = database_run(database, remove);
        if (r == 0 && n_phases > 0)
                r = phase_rows_put(&from, database, job);
        return r != 0 ? r : put_timeline(database, job, pack_read_text(&from));
}

/* --- phase --------------------------------------------------------------------------------------- */

STATEMENT job_phases = {
        "UPDATE job SET n_phases = max(n_phases, ?2) WHERE id = ?1",
        0,
};

/* Only a running job has progress to be replaced. */
static int apply_phase(RowSet *set, Database *database, void *state) {
        Prepared *count = database_prepare(database, &job_phases);
        Unpack from = rowset_unpack(set);
        Text job = pack_read_text(&from), boot_id, progress;
        uint64_t end_ms = pack_read_u64(&from);
        int r;

        (void)state;
        boot_id = pack_read_text(&from);
        progress = pack_read_text(&from);
        r = put_progress(database, &running_checkpoint, job, progress, boot_id, end_ms);
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        r = put_meter(database, pack_read_text(&from), boot_id, end_ms);
        statement_bind_text(count, job);
        statement_bind_u64(count, pack_read_u64(&from));
        if (r == 0)
                r = database_run(database, count);
        return r != 0 ? r : phase_rows_put(&from, database, job);
}

/* --- identity ------------------------------------------------------------------------------------ */

STATEMENT job_identity = {
        "UPDATE job SET enclosure = ?2, cgroup = ?3, uid = ?4, gid = ?5 WHERE id = ?1 AND state = 'running'",
        0,
};

static int apply_identity(RowSet *set, Database *database, void *state) {
        Prepared *update = database_prepare(database, &job_identity);
        Unpack from = rowset_unpack(set);
        int r;

        (void)state;
        for (int i = 0; i < 3; i++) /* job, enclosure, cgroup */
                statement_bind_text(update, pack_read_text(&from));
        statement_bind_u64(update, pack_read_u64(&from)); /* uid, gid */
        statement_bind_u64(update, pack_read_u64(&from));
        r = database_run(database, update);
        set->outcome = r == 0 && database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        return r;
}

/* --- amend --------------------------------------------------------------------------------------- */

/* STORE_DONE: this user may amend the job. */
static int judge_amend(Database *database, Text job, uint32_t uid, bool is_admin, StoreOutcome *ret) {
        JobOwner owner = {};
        int r;

        r = job_rows_find_owner(database, job, &owner);
        if (r != 0)
                return r;

        if (!owner.is_stored)
                *ret = STORE_MISSING;
        else if (!is_admin && owner.uid != uid)
                *ret = STORE_DENIED;
        else
                *ret = owner.is_finished ? STORE_DUPLICATE : STORE_DONE;
        return 0;
}

STATEMENT job_amend = {
        "UPDATE job SET state = 'finished', exit_status = ?2, signal = ?3, rusage = ?4 WHERE id = ?1",
        0,
};

static int apply_amend(RowSet *set, Database *database, void *state) {
        Prepared *amend = database_prepare(database, &job_amend);
        Unpack from = rowset_unpack(set);
        Text job = pack_read_text(&from);
        uint32_t uid = (uint32_t)pack_read_u64(&from);
        bool is_admin = pack_read_u64(&from);
        int r;

        (void)state;
        r = judge_amend(database, job, uid, is_admin, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        statement_bind_text(amend, job);
        bind_end(amend, &from);
        return database_run(database, amend);
}

/* --- checkpoints --------------------------------------------------------------------------------- */

static int apply_checkpoints(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        uint64_t time_ms = pack_read_u64(&from), n_items;
        Text boot_id = pack_read_text(&from);
        int r;

        (void)state;
        r = put_meter(database, pack_read_text(&from), boot_id, time_ms);
        n_items = pack_read_u64(&from);
        assert(n_items + 1 == set->n_rows);
        for (uint64_t i = 0; r == 0 && i < n_items; i++) {
                Text job = pack_read_text(&from), progress = pack_read_text(&from);

                r = put_progress(database, &running_checkpoint, job, progress, boot_id, time_ms);
        }

        set->outcome = STORE_DONE;
        return r;
}

/* --- all running jobs ---------------------------------------------------------------------------- */

STATEMENT jobs_interrupt = {
        "UPDATE job SET state = 'interrupted', note = ?1,"
        " end_ms = ifnull((SELECT checkpoint_ms FROM running WHERE running.job = job.row), begin_ms)"
        " WHERE state = 'running'",
        0,
};

STATEMENT running_clear = {
        "DELETE FROM running",
        0,
};

int job_rows_interrupt(Database *database) {
        static const char note[] = "perfd could not open its database when it started: "
                                   "nothing is known about the job after its last checkpoint";
        Prepared *interrupt = database_prepare(database, &jobs_interrupt);
        int r;

        statement_bind_text(interrupt, (Text){ note, (int)strlen(note) });
        r = database_run(database, interrupt);
        return r != 0 ? r : database_run(database, database_prepare(database, &running_clear));
}

/* --- owner --------------------------------------------------------------------------------------- */

enum { OWNER_STATE, OWNER_UID, N_OWNER_COLUMNS };

STATEMENT owner_find = { "SELECT state, uid FROM job WHERE id = ?1", N_OWNER_COLUMNS };

int job_rows_find_owner(Database *database, Text job, JobOwner *ret) {
        Prepared *find = database_prepare(database, &owner_find);
        const char *state;
        int r;

        *ret = (JobOwner){};
        statement_bind_text(find, job);
        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;

        state = column_text(find, OWNER_STATE);
        *ret = (JobOwner){
                .is_stored = true,
                .is_running = state && strcmp(state, job_state_name(JOB_RUNNING)) == 0,
                .is_finished = state && strcmp(state, job_state_name(JOB_FINISHED)) == 0,
                .uid = (uint32_t)column_i64(find, OWNER_UID),
        };
        return database_run(database, find);
}

/* --- kinds --------------------------------------------------------------------------------------- */

static const RowKind begin_kind = { "job begin", apply_begin };
static const RowKind end_kind = { "job end", apply_end };
static const RowKind phase_kind = { "phase", apply_phase };
static const RowKind identity_kind = { "job identity", apply_identity };
static const RowKind amend_kind = { "job amend", apply_amend };
static const RowKind checkpoints_kind = { "checkpoints", apply_checkpoints };

const RowKind *const job_rows_kinds[] = { &begin_kind, &end_kind, &phase_kind, &identity_kind, &amend_kind, &checkpoints_kind, NULL };

/* --- in the caller's thread ---------------------------------------------------------------------- */

static void pack_labels(Buffer *buffer, const JobInfo *info) {
        size_t begin = pack_text_begin(buffer);

        record_put(&job_labels_record, info, buffer);
        pack_text_end(buffer, begin);
}

RowSet *job_rows_pack_begin(const JobInfo *info, uint64_t begin_realtime_ms, const char *boot_id, const char *progress,
                            const char *meter, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, info->id);
        pack_text(&buffer, info->name);
        pack_text(&buffer, info->user);
        pack_text(&buffer, info->command);
        pack_labels(&buffer, info);
        pack_u64(&buffer, info->uid);
        pack_u64(&buffer, info->gid);
        pack_u64(&buffer, (uint64_t)info->pid);
        pack_u64(&buffer, info->pid_start_ticks);
        pack_u64(&buffer, (uint64_t)info->rank);
        pack_u64(&buffer, (uint64_t)info->node);
        pack_u64(&buffer, info->n_nodes);
        pack_u64(&buffer, info->n_ranks);
        pack_text(&buffer, job_enclosure_name(info->enclosure));
        pack_text(&buffer, info->cgroup);
        pack_u64(&buffer, begin_realtime_ms);
        pack_text(&buffer, boot_id);
        pack_text(&buffer, progress);
        pack_text(&buffer, meter);
        return rowset_finish(&buffer, &begin_kind, 1, cookie);
}

static void pack_rusage(Buffer *buffer, const JobEnd *end) {
        size_t begin;

        if (!end->has_rusage) {
                pack_text(buffer, NULL);
                return;
        }

        begin = pack_text_begin(buffer);
        record_put(&job_rusage_record, &end->rusage, buffer);
        pack_text_end(buffer, begin);
}

static void pack_end(Buffer *buffer, const JobEnd *end) {
        pack_u64(buffer, end->has_exit_status);
        pack_u64(buffer, (uint64_t)end->exit_status);
        pack_u64(buffer, (uint64_t)end->signal);
        pack_rusage(buffer, end);
}

/* Number of phases that the job has had, with its last; 0: no phase ends with the job. */
static void pack_last_phase(Buffer *buffer, const PhaseView *phase) {
        pack_u64(buffer, phase ? UINT64_C(1) + phase->index : 0);
        if (phase)
                phase_rows_pack(buffer, phase);
}

RowSet *job_rows_pack_end(const StoreJobEnd *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, row->job);
        pack_text(&buffer, job_state_name(row->state));
        pack_u64(&buffer, row->end_realtime_ms);
        pack_end(&buffer, row->end);
        pack_text(&buffer, row->note && row->note[0] ? row->note : NULL);
        job_numbers_pack(&buffer, row->metrics, row->usage);
        pack_last_phase(&buffer, row->phase);
        pack_text(&buffer, row->timeline);
        return rowset_finish(&buffer, &end_kind, 1, cookie);
}

RowSet *job_rows_pack_phase(const StorePhase *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, row->job);
        pack_u64(&buffer, row->phase->end_realtime_ms);
        pack_text(&buffer, row->boot_id);
        pack_text(&buffer, row->progress);
        pack_text(&buffer, row->meter);
        /* The number of phases, with the one that begins. */
        pack_u64(&buffer, UINT64_C(2) + row->phase->index);
        phase_rows_pack(&buffer, row->phase);
        return rowset_finish(&buffer, &phase_kind, 1, cookie);
}

RowSet *job_rows_pack_identity(const StoreJobIdentity *identity, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, identity->job);
        pack_text(&buffer, job_enclosure_name(identity->enclosure));
        pack_text(&buffer, identity->cgroup);
        pack_u64(&buffer, identity->uid);
        pack_u64(&buffer, identity->gid);
        return rowset_finish(&buffer, &identity_kind, 1, cookie);
}

RowSet *job_rows_pack_amend(const char *job, const Peer *sender, const JobEnd *end, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, job);
        pack_u64(&buffer, sender->uid);
        pack_u64(&buffer, sender->is_admin || sender->uid == 0);
        pack_end(&buffer, end);
        return rowset_finish(&buffer, &amend_kind, 1, cookie);
}

RowSet *job_rows_pack_checkpoints(const StoreCheckpoint *items, size_t n_items, const char *boot_id, const char *meter,
                                  uint64_t realtime_ms) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_u64(&buffer, realtime_ms);
        pack_text(&buffer, boot_id);
        pack_text(&buffer, meter);
        pack_u64(&buffer, n_items);
        for (size_t i = 0; i < n_items; i++) {
                pack_text(&buffer, items[i].job);
                pack_text(&buffer, items[i].progress);
        }
        /* The meter is a row, too. */
        return rowset_finish(&buffer, &checkpoints_kind, n_items + 1, (StoreCookie){});
}
