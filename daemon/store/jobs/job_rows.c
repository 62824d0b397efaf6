/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_rows.h"

#include <assert.h>
#include <string.h>

#include "store/database/compress.h"
#include "store/database/database.h"
#include "store/jobs/job_amend.h"
#include "store/jobs/job_parts.h"
#include "store/jobs/job_text.h"

/* --- in the writer's thread: metrics ------------------------------------------------------------- */

/* Four columns of a row of a job or phase: layout, metrics, usage_layout, usage (job_text.h describes the texts). */
#define N_NUMBER_FIELDS 4

static int read_one(Database *database, LayoutKind kind, Field text, Field ret[static 2]) {
        int64_t layout = 0;
        int r;

        r = text.text ? job_parts_find_layout(database, kind, &layout) : 0;
        ret[0] = field_if(text.text, field_i64(layout));
        ret[1] = text;
        return r;
}

/* Unpacks the values of the four columns, and stores layouts that are new. 0 or an outcome of database.h. */
static int read_numbers(Unpack *from, Database *database, Field ret[static N_NUMBER_FIELDS]) {
        Field metrics = pack_read(from), usage = pack_read(from);
        int r;

        r = read_one(database, LAYOUT_METRICS, metrics, &ret[0]);
        return r != 0 ? r : read_one(database, LAYOUT_USAGE, usage, &ret[2]);
}

/* --- phases -------------------------------------------------------------------------------------- */

STATEMENT phase_put = {
        "INSERT INTO phase (job, number, name, begin_ms, end_ms, wall_seconds,"
        " layout, metrics, usage_layout, usage)"
        " SELECT row, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM job WHERE id = ?1"
        " ON CONFLICT (job, number) DO UPDATE SET name = excluded.name, begin_ms = excluded.begin_ms,"
        " end_ms = excluded.end_ms, wall_seconds = excluded.wall_seconds, layout = excluded.layout,"
        " metrics = excluded.metrics, usage_layout = excluded.usage_layout, usage = excluded.usage",
        0,
};

/* Replaces a phase of the same index; does nothing when the job is not stored. 0 or an outcome of database.h. */
static int put_phase(Unpack *from, Database *database, Field job) {
        Field fields[6 + N_NUMBER_FIELDS] = { job };
        int r;

        pack_read_fields(from, &fields[1], 5);
        r = read_numbers(from, database, &fields[6]);
        return r != 0 ? r : database_run(database, &phase_put, fields, N_ELEMENTS(fields));
}

/* --- progress ------------------------------------------------------------------------------------ */

STATEMENT meter_put = {
        "INSERT INTO meter (only, account, boot_id, time_ms) VALUES (1, ?1, ?2, ?3)"
        " ON CONFLICT (only) DO UPDATE SET account = excluded.account, boot_id = excluded.boot_id,"
        " time_ms = excluded.time_ms",
        0,
};

static int put_meter(Database *database, Field meter, Field boot_id, Field time_ms) {
        return meter.text ? database_run(database, &meter_put, FIELDS(meter, boot_id, time_ms)) : 0;
}

/* Binds the progress, which has the same places at the job's begin and at a checkpoint. */
STATEMENT running_put = {
        "INSERT INTO running (job, window, boot_id, checkpoint_ms) SELECT row, ?2, ?3, ?4 FROM job WHERE id = ?1",
        0,
};

STATEMENT running_checkpoint = {
        "UPDATE running SET window = ?2, boot_id = ?3, checkpoint_ms = ?4"
        " WHERE job = (SELECT row FROM job WHERE id = ?1)",
        0,
};

/* --- begin --------------------------------------------------------------------------------------- */

/* Packed fields of a job at its begin: the places of job_insert. */
#define N_JOB_FIELDS 18

STATEMENT job_insert = {
        "INSERT INTO job (id, name, user, command, labels, uid, gid, pid, pid_start_ticks, rank,"
        " node, n_nodes, n_ranks, isolation, cgroup, begun_by, by_admin, begin_ms, state)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, 'running')"
        " ON CONFLICT (id) DO NOTHING",
        0,
};

/* Users can choose any id, but must not keep an administrator from an id. The random suffix also keeps users from taking the
 * other id first. */
STATEMENT job_yield = {
        "UPDATE job SET id = substr(id, 1, 100) || '.' || lower(hex(randomblob(4)))"
        " WHERE id = ?1 AND NOT by_admin AND state <> 'running'",
        0,
};

/* *ret_is_new: no other job has the id. */
static int insert_job(Database *database, const Field job[static N_JOB_FIELDS], bool *ret_is_new) {
        bool is_by_admin = job[N_JOB_FIELDS - 2].integer;
        int r;

        r = database_run(database, &job_insert, job, N_JOB_FIELDS);
        *ret_is_new = r == 0 && database_changes(database) > 0;
        if (r != 0 || *ret_is_new || !is_by_admin)
                return r;

        r = database_run(database, &job_yield, job, 1);
        if (r != 0 || database_changes(database) == 0)
                return r;
        *ret_is_new = true;
        return database_run(database, &job_insert, job, N_JOB_FIELDS);
}

static int apply_begin(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field job[N_JOB_FIELDS], progress, boot_id, begin_ms;
        bool is_new;
        int r;

        (void)state;
        pack_read_fields(&from, job, N_JOB_FIELDS);
        r = insert_job(database, job, &is_new);
        if (r != 0)
                return r;

        if (!is_new) {
                set->outcome = STORE_CONFLICT;
                return 0;
        }
        set->outcome = STORE_DONE;
        begin_ms = job[N_JOB_FIELDS - 1];
        boot_id = pack_read(&from);
        progress = pack_read(&from);
        r = database_run(database, &running_put, FIELDS(job[0], progress, boot_id, begin_ms));
        return r != 0 ? r : put_meter(database, pack_read(&from), boot_id, begin_ms);
}

STATEMENT job_rename = { "UPDATE job SET id = ?2 WHERE id = ?1", 0 };

static int apply_rename(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field fields[2];

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        set->outcome = STORE_DONE;
        return database_run(database, &job_rename, fields, N_ELEMENTS(fields));
}

/* --- end ----------------------------------------------------------------------------------------- */

STATEMENT timeline_put = {
        "INSERT INTO timeline (part, bytes) SELECT 3 * row + ?2, ?3 FROM job WHERE id = ?1"
        " ON CONFLICT (part) DO UPDATE SET bytes = excluded.bytes",
        0,
};

static int put_timeline(Database *database, Field job, Field timeline) {
        scoped(buffer_deinit) Buffer bytes = {};
        size_t begin = 0;
        int r;

        if (!timeline.text)
                return 0;

        r = compress_bytes(timeline.text, (size_t)timeline.n, &bytes);
        for (size_t i = 0; r == 0 && i < N_TIMELINE_PARTS; i++) {
                size_t end = bytes.n * (i + 1) / N_TIMELINE_PARTS;

                assert(begin <= end && end <= bytes.n);
                r = database_run(database, &timeline_put, FIELDS(job, field_u64(i), field_blob(bytes.text + begin, end - begin)));
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
        Unpack from = rowset_unpack(set);
        /* id, state, end_ms, exit_status, signal, rusage, note; the numbers; n_phases */
        Field fields[7 + N_NUMBER_FIELDS + 1], *job = &fields[0], *n_phases = &fields[7 + N_NUMBER_FIELDS];
        int r;

        (void)state;
        pack_read_fields(&from, fields, 7);
        r = read_numbers(&from, database, &fields[7]);
        *n_phases = pack_read(&from);
        if (r == 0)
                r = database_run(database, &job_end, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        r = database_run(database, &running_remove, job, 1);
        if (r == 0 && n_phases->integer > 0)
                r = put_phase(&from, database, *job);
        return r != 0 ? r : put_timeline(database, *job, pack_read(&from));
}

/* --- phase --------------------------------------------------------------------------------------- */

STATEMENT job_phases = {
        "UPDATE job SET n_phases = max(n_phases, ?2) WHERE id = ?1",
        0,
};

/* Only a running job has progress to be replaced. */
static int apply_phase(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field job = pack_read(&from), end_ms = pack_read(&from), boot_id = pack_read(&from), progress = pack_read(&from);
        int r;

        (void)state;
        r = database_run(database, &running_checkpoint, FIELDS(job, progress, boot_id, end_ms));
        if (r != 0)
                return r;

        set->outcome = database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        if (set->outcome == STORE_MISSING)
                return 0;

        r = put_meter(database, pack_read(&from), boot_id, end_ms);
        if (r == 0)
                r = database_run(database, &job_phases, FIELDS(job, pack_read(&from)));
        return r != 0 ? r : put_phase(&from, database, job);
}

/* --- identity ------------------------------------------------------------------------------------ */

STATEMENT job_identity = {
        "UPDATE job SET isolation = ?2, cgroup = ?3, uid = ?4, gid = ?5 WHERE id = ?1 AND state = 'running'",
        0,
};

static int apply_identity(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field fields[5];
        int r;

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        r = database_run(database, &job_identity, fields, N_ELEMENTS(fields));
        set->outcome = r == 0 && database_changes(database) > 0 ? STORE_DONE : STORE_MISSING;
        return r;
}

/* --- checkpoints --------------------------------------------------------------------------------- */

static int apply_checkpoints(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field time_ms = pack_read(&from), boot_id = pack_read(&from);
        int r;

        (void)state;
        r = put_meter(database, pack_read(&from), boot_id, time_ms);
        for (size_t i = 1; r == 0 && i < set->n_rows; i++) {
                Field job = pack_read(&from), progress = pack_read(&from);

                r = database_run(database, &running_checkpoint, FIELDS(job, progress, boot_id, time_ms));
        }

        set->outcome = STORE_DONE;
        return r;
}

/* --- totals of ended jobs ------------------------------------------------------------------------ */

STATEMENT totals_put = {
        "INSERT INTO job_totals (only, text) VALUES (1, ?1) ON CONFLICT (only) DO UPDATE SET text = excluded.text",
        0,
};

static int apply_totals(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field text = pack_read(&from);
        int r;

        (void)state;
        r = database_run(database, &totals_put, &text, 1);
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
                                   "the job's usage after the last checkpoint is unknown";
        Field field = field_string(note);
        int r;

        r = database_run(database, &jobs_interrupt, &field, 1);
        return r != 0 ? r : database_run(database, &running_clear, NULL, 0);
}

/* --- kinds --------------------------------------------------------------------------------------- */

static const RowKind begin_kind = { .name = "job begin", .apply = apply_begin };
static const RowKind rename_kind = { .name = "job rename", .apply = apply_rename };
static const RowKind end_kind = { .name = "job end", .apply = apply_end };
static const RowKind phase_kind = { .name = "phase", .apply = apply_phase };
static const RowKind identity_kind = { .name = "job identity", .apply = apply_identity };
static const RowKind checkpoints_kind = { .name = "checkpoints", .apply = apply_checkpoints };
static const RowKind totals_kind = { .name = "totals of ended jobs", .apply = apply_totals };

const RowKind *const job_rows_kinds[] = {
        &begin_kind, &rename_kind, &end_kind, &phase_kind, &identity_kind, &job_amend_kind, &checkpoints_kind, &totals_kind, NULL,
};

Field job_rows_ended(const RowSet *set) {
        Unpack from = rowset_unpack(set);

        if (set->outcome != STORE_DONE)
                return (Field){};
        if (set->kind == &end_kind)
                return pack_read(&from);
        return set->kind == &job_amend_kind ? job_amend_id(set) : (Field){};
}

/* --- in the caller's thread ---------------------------------------------------------------------- */

/* NULL: none. */
static void pack_numbers(Buffer *buffer, const MetricSet *metrics, const UsageSet *usage) {
        size_t begin;

        if (metrics) {
                begin = pack_text_begin(buffer);
                job_text_write_metrics(metrics, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_fields(buffer, &(Field){}, 1);

        if (usage) {
                begin = pack_text_begin(buffer);
                job_text_write_usage(usage, buffer);
                pack_text_end(buffer, begin);
        } else
                pack_fields(buffer, &(Field){}, 1);
}

static void pack_phase(Buffer *buffer, const PhaseView *phase) {
        pack_fields(buffer, FIELDS(field_u64(phase->index), field_string(phase->name), field_u64(phase->begin_realtime_ms),
                                   field_u64(phase->end_realtime_ms),
                                   field_if(phase->has_wall_seconds, field_double(phase->wall_seconds))));
        pack_numbers(buffer, &phase->metrics, &phase->usage);
}

static void pack_labels(Buffer *buffer, const JobInfo *info) {
        size_t begin = pack_text_begin(buffer);

        record_put(&job_labels_record, info, buffer);
        pack_text_end(buffer, begin);
}

/* The order is that of job_insert. */
RowSet *job_rows_pack_begin(const StoreJobBegin *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};
        const JobInfo *info = row->info;

        rowset_begin(&buffer, FIELDS(field_string(info->id), field_string(info->name), field_string(info->user),
                                     field_string(info->command)));
        pack_labels(&buffer, info);
        pack_fields(&buffer, FIELDS(field_i64(info->uid), field_i64(info->gid), field_i64(info->pid),
                                    field_u64(info->pid_start_ticks), field_i64(info->rank), field_i64(info->node),
                                    field_i64(info->n_nodes), field_i64(info->n_ranks),
                                    field_string(job_isolation_name(info->isolation)), field_string(info->cgroup),
                                    field_u64(row->begun_by), field_i64(row->is_by_admin), field_u64(row->begin_realtime_ms)));
        pack_fields(&buffer, FIELDS(field_string(row->boot_id), field_string(row->progress), field_string(row->meter)));
        return rowset_finish(&buffer, &begin_kind, 1, cookie);
}

RowSet *job_rows_pack_rename(const char *id, const char *other) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(id), field_string(other)));
        return rowset_finish(&buffer, &rename_kind, 1, (StoreCookie){});
}

/* The order is that of job_end, then come the last phase, if the number of phases is not 0, and the timeline. */
RowSet *job_rows_pack_end(const StoreJobEnd *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(row->job), field_string(job_state_name(row->state)),
                                     field_u64(row->end_realtime_ms)));
        job_parts_pack_end(&buffer, row->end);
        pack_fields(&buffer, FIELDS(field_string(row->note && row->note[0] ? row->note : NULL)));
        pack_numbers(&buffer, row->metrics, row->usage);
        pack_fields(&buffer, FIELDS(field_u64(row->phase ? UINT64_C(1) + row->phase->index : 0)));
        if (row->phase)
                pack_phase(&buffer, row->phase);
        pack_fields(&buffer, FIELDS(row->timeline ? field_blob(row->timeline->text, row->timeline->n) : (Field){}));
        return rowset_finish(&buffer, &end_kind, 1, cookie);
}

RowSet *job_rows_pack_phase(const StorePhase *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(row->job), field_u64(row->phase->end_realtime_ms), field_string(row->boot_id),
                                     field_string(row->progress), field_string(row->meter),
                                     /* the number of phases, with the phase that begins */
                                     field_u64(UINT64_C(2) + row->phase->index)));
        pack_phase(&buffer, row->phase);
        return rowset_finish(&buffer, &phase_kind, 1, cookie);
}

RowSet *job_rows_pack_identity(const StoreJobIdentity *identity, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(identity->job), field_string(job_isolation_name(identity->isolation)),
                                     field_string(identity->cgroup), field_u64(identity->uid), field_u64(identity->gid)));
        return rowset_finish(&buffer, &identity_kind, 1, cookie);
}

RowSet *job_rows_pack_checkpoints(const StoreCheckpoint *items, size_t n_items, const char *boot_id, const char *meter,
                                  uint64_t realtime_ms) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_u64(realtime_ms), field_string(boot_id), field_string(meter)));
        for (size_t i = 0; i < n_items; i++)
                pack_fields(&buffer, FIELDS(field_string(items[i].job), field_string(items[i].progress)));
        /* The meter is a row, too. */
        return rowset_finish(&buffer, &checkpoints_kind, n_items + 1, (StoreCookie){});
}

RowSet *job_rows_pack_totals(const char *text) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(text)));
        return rowset_finish(&buffer, &totals_kind, 1, (StoreCookie){});
}
