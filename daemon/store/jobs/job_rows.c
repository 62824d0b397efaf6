/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_rows.h"

#include <string.h>

#include "store/compress.h"
#include "store/database.h"
#include "store/jobs/job_numbers.h"
#include "store/jobs/job_text.h"
#include "store/jobs/phase_rows.h"

/* --- in the writer's thread -------------------------------------------------------------------- */


static int put_meter(Database *database, Text meter, Text boot_id, uint64_t time_ms) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_METER_PUT);

        if (!meter.text)
                return 0;

        bind_text(put, 1, meter);
        bind_text(put, 2, boot_id);
        bind_u64(put, 3, time_ms);
        return database_run(database, STATEMENT_METER_PUT);
}

/* How far a running job is: at its begin, or at a checkpoint. */
static int put_progress(Database *database, Statement which, Text job, Text progress, Text boot_id, uint64_t time_ms) {
        sqlite3_stmt *put = database_statement(database, which);

        bind_text(put, 1, job);
        bind_text(put, 2, progress);
        bind_text(put, 3, boot_id);
        bind_u64(put, 4, time_ms);
        return database_run(database, which);
}

static int apply_begin(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *insert = database_statement(database, STATEMENT_JOB_INSERT);
        Unpack from = rowset_unpack(set);
        Text job = unpack_text(&from), boot_id, progress;
        uint64_t begin_ms;
        int r;

        (void)state;
        bind_text(insert, 1, job);
        for (int i = 2; i <= 5; i++) /* name, user, command, labels */
                bind_text(insert, i, unpack_text(&from));
        for (int i = 6; i <= 13; i++) /* uid, gid, pid, its start, rank, node, nodes, ranks: some may be negative */
                sqlite3_bind_int64(insert, i, (sqlite3_int64)unpack_u64(&from));
        bind_text(insert, 14, unpack_text(&from));
        bind_text(insert, 15, unpack_text(&from));
        begin_ms = unpack_u64(&from);
        boot_id = unpack_text(&from);
        progress = unpack_text(&from);
        bind_u64(insert, 16, begin_ms);
        r = database_run(database, STATEMENT_JOB_INSERT);
        if (r != 0)
                return r;

        if (database_changes(database) == 0) {
                set->outcome = STORE_CONFLICT;
                return 0;
        }
        set->outcome = STORE_DONE;
        r = put_progress(database, STATEMENT_RUNNING_PUT, job, progress, boot_id, begin_ms);
        return r != 0 ? r : put_meter(database, unpack_text(&from), boot_id, begin_ms);
}

/* Exit status, signal and rusage from place i on. */
static void bind_end(sqlite3_stmt *statement, int i, Unpack *from) {
        bool has_exit_status = unpack_u64(from);
        int64_t exit_status = (int64_t)unpack_u64(from);

        if (has_exit_status)
                sqlite3_bind_int64(statement, i, exit_status);
        else
                sqlite3_bind_null(statement, i);
        sqlite3_bind_int64(statement, i + 1, (sqlite3_int64)unpack_u64(from));
        bind_text(statement, i + 2, unpack_text(from));
}

static int put_timeline(Database *database, Text job, Text timeline) {
        sqlite3_stmt *put = database_statement(database, STATEMENT_TIMELINE_PUT);
        scoped(buffer_deinit) Buffer bytes = {};
        size_t begin = 0;
        int r;

        if (!timeline.text)
                return 0;

        r = compress_text(timeline.text, (size_t)timeline.n, &bytes);
        for (size_t i = 0; r == 0 && i < N_TIMELINE_PARTS; i++) {
                size_t end = bytes.n * (i + 1) / N_TIMELINE_PARTS;

                bind_text(put, 1, job);
                sqlite3_bind_int64(put, 2, (sqlite3_int64)i);
                sqlite3_bind_blob64(put, 3, bytes.text + begin, end - begin, SQLITE_STATIC);
                r = database_run(database, STATEMENT_TIMELINE_PUT);
                begin = end;
        }
        return r;
}

static int apply_end(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *update = database_statement(database, STATEMENT_JOB_END);
        Unpack from = rowset_unpack(set);
        Text job = unpack_text(&from);
        uint64_t n_phases;
        int r;

        (void)state;
        bind_text(update, 1, job);
        bind_text(update, 2, unpack_text(&from));
        bind_u64(update, 3, unpack_u64(&from));
        bind_end(update, 4, &from);
        bind_text(update, 7, unpack_text(&from));
        r = job_numbers_bind(&from, database, STATEMENT_JOB_END, 8);
        n_phases = unpack_u64(&from);
        bind_u64(update, 12, n_phases);
        if (r == 0)
                r = database_run(database, STATEMENT_JOB_END);
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        bind_text(database_statement(database, STATEMENT_RUNNING_REMOVE), 1, job);
        r = database_run(database, STATEMENT_RUNNING_REMOVE);
        if (r == 0 && n_phases > 0)
                r = phase_put(&from, database, job);
        return r != 0 ? r : put_timeline(database, job, unpack_text(&from));
}

/* Only a job that runs has progress to be put. */
static int apply_phase(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *count = database_statement(database, STATEMENT_JOB_PHASES);
        Unpack from = rowset_unpack(set);
        Text job = unpack_text(&from), boot_id, progress;
        uint64_t end_ms = unpack_u64(&from);
        int r;

        (void)state;
        boot_id = unpack_text(&from);
        progress = unpack_text(&from);
        r = put_progress(database, STATEMENT_RUNNING_CHECKPOINT, job, progress, boot_id, end_ms);
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        r = put_meter(database, unpack_text(&from), boot_id, end_ms);
        bind_text(count, 1, job);
        bind_u64(count, 2, unpack_u64(&from));
        if (r == 0)
                r = database_run(database, STATEMENT_JOB_PHASES);
        return r != 0 ? r : phase_put(&from, database, job);
}

static int apply_identity(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *update = database_statement(database, STATEMENT_JOB_LEARNED);
        Unpack from = rowset_unpack(set);
        int r;

        (void)state;
        for (int i = 1; i <= 3; i++) /* job, enclosure, cgroup */
                bind_text(update, i, unpack_text(&from));
        bind_u64(update, 4, unpack_u64(&from));
        bind_u64(update, 5, unpack_u64(&from));
        r = database_run(database, STATEMENT_JOB_LEARNED);
        set->outcome = r == 0 && database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        return r;
}

/* STORE_DONE: it may be amended by that user. */
static int judge_amend(Database *database, Text job, uint32_t uid, bool is_admin, StoreOutcome *ret) {
        sqlite3_stmt *find = database_statement(database, STATEMENT_JOB_FIND);
        StoreOutcome outcome = STORE_MISSING;
        int r;

        bind_text(find, 1, job);
        r = database_step(database, STATEMENT_JOB_FIND);
        if (r == DATABASE_ROW) {
                const char *state = (const char *)sqlite3_column_text(find, 0);

                if (!is_admin && sqlite3_column_int64(find, 1) != uid)
                        outcome = STORE_DENIED;
                else if (state && strcmp(state, job_state_name(JOB_FINISHED)) == 0)
                        outcome = STORE_DUPLICATE;
                else
                        outcome = STORE_DONE;
                r = database_run(database, STATEMENT_JOB_FIND);
        }
        if (r != 0)
                return r;

        *ret = outcome;
        return 0;
}

static int apply_amend(RowSet *set, Database *database, void *state) {
        sqlite3_stmt *amend = database_statement(database, STATEMENT_JOB_AMEND);
        Unpack from = rowset_unpack(set);
        Text job = unpack_text(&from);
        uint32_t uid = (uint32_t)unpack_u64(&from);
        bool is_admin = unpack_u64(&from);
        int r;

        (void)state;
        r = judge_amend(database, job, uid, is_admin, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        bind_text(amend, 1, job);
        bind_end(amend, 2, &from);
        return database_run(database, STATEMENT_JOB_AMEND);
}

static int apply_checkpoints(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        uint64_t time_ms = unpack_u64(&from), n_items;
        Text boot_id = unpack_text(&from);
        int r;

        (void)state;
        r = put_meter(database, unpack_text(&from), boot_id, time_ms);
        n_items = unpack_u64(&from);
        for (uint64_t i = 0; r == 0 && i < n_items; i++) {
                Text job = unpack_text(&from), progress = unpack_text(&from);

                r = put_progress(database, STATEMENT_RUNNING_CHECKPOINT, job, progress, boot_id, time_ms);
        }

        set->outcome = STORE_DONE;
        return r;
}

int job_rows_interrupt(Database *database, const char *note) {
        int r;

        bind_text(database_statement(database, STATEMENT_JOBS_INTERRUPT), 1, (Text){ note, (int)strlen(note) });
        r = database_run(database, STATEMENT_JOBS_INTERRUPT);
        return r != 0 ? r : database_run(database, STATEMENT_RUNNING_CLEAR);
}

static const RowKind begin_kind = { "job begin", apply_begin };
static const RowKind end_kind = { "job end", apply_end };
static const RowKind phase_kind = { "phase", apply_phase };
static const RowKind identity_kind = { "job identity", apply_identity };
static const RowKind amend_kind = { "job amend", apply_amend };
static const RowKind checkpoints_kind = { "checkpoints", apply_checkpoints };

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
        pack_text(&buffer, enclosure_name(info->enclosure));
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

/* How many phases the job has had with this one, its last; 0 without one. */
static void pack_last_phase(Buffer *buffer, const PhaseView *phase) {
        pack_u64(buffer, phase ? UINT64_C(1) + phase->index : 0);
        if (phase)
                phase_pack(buffer, phase);
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
        /* With the one that has begun. */
        pack_u64(&buffer, UINT64_C(2) + row->phase->index);
        phase_pack(&buffer, row->phase);
        return rowset_finish(&buffer, &phase_kind, 1, cookie);
}

RowSet *job_rows_pack_identity(const StoreJobIdentity *identity, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer);
        pack_text(&buffer, identity->job);
        pack_text(&buffer, enclosure_name(identity->enclosure));
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
