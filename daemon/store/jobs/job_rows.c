/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_rows.h"

#include <assert.h>
#include <string.h>

#include "store/database/compress.h"
#include "store/database/database.h"
#include "store/jobs/job_text.h"
#include "store/retention/retention.h"

/* --- layout -------------------------------------------------------------------------------------- */

STATEMENT layout_find = SQL("SELECT id FROM layout WHERE keys = ?1", 1);
STATEMENT layout_insert = SQL("INSERT INTO layout (keys) VALUES (?1)", 0);

/* Finds or inserts the id of this program's layout. */
static int find_layout(Database *database, LayoutKind kind, int64_t *ret) {
        scoped(buffer_deinit) Buffer keys = {};
        int r;

        job_text_write_layout(kind, &keys);
        r = buffer_error(&keys);
        return r < 0 ? r : database_text_id(database, &layout_find, &layout_insert, field_buffer(&keys), ret);
}

/* --- owner --------------------------------------------------------------------------------------- */

enum { OWNER_RUNNING, OWNER_FINISHED, OWNER_UID, OWNER_ROW, N_OWNER_COLUMNS };

STATEMENT owner_find = SQL("SELECT state = 'running', state = 'finished', uid, row FROM job WHERE id = ?1",
                           N_OWNER_COLUMNS);

int job_rows_find_owner(Database *database, Field job, JobOwner *ret) {
        int64_t owner[N_OWNER_COLUMNS] = {};
        int r;

        r = database_get_row(database, &owner_find, &job, 1, owner, N_ELEMENTS(owner));
        if (r == 0)
                *ret = (JobOwner){
                        .is_running = owner[OWNER_RUNNING], .is_finished = owner[OWNER_FINISHED],
                        .uid = (uint32_t)owner[OWNER_UID], .row = owner[OWNER_ROW],
                };
        return r;
}

/* --- metrics ------------------------------------------------------------------------------------- */

/* Four columns of a row of a job or phase: layout, metrics, usage_layout, usage (job_text.h describes the texts). */
#define N_NUMBER_FIELDS 4

static int read_one(Database *database, LayoutKind kind, Field text, Field ret[static 2]) {
        int64_t layout = 0;
        int r;

        r = text.text ? find_layout(database, kind, &layout) : 0;
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

STATEMENT phase_put = SQL(
        "INSERT INTO phase (job, number, name, begin_ms, end_ms, wall_seconds,"
        " layout, metrics, usage_layout, usage)"
        " SELECT row, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM job WHERE id = ?1"
        " ON CONFLICT (job, number) DO UPDATE SET name = excluded.name, begin_ms = excluded.begin_ms,"
        " end_ms = excluded.end_ms, wall_seconds = excluded.wall_seconds, layout = excluded.layout,"
        " metrics = excluded.metrics, usage_layout = excluded.usage_layout, usage = excluded.usage", 0);

/* Replaces a phase of the same index; does nothing when the job is not stored. 0 or an outcome of database.h. */
static int put_phase(Unpack *from, Database *database, Field job) {
        Field fields[6 + N_NUMBER_FIELDS] = { job };
        int r;

        pack_read_fields(from, &fields[1], 5);
        r = read_numbers(from, database, &fields[6]);
        return r != 0 ? r : database_run(database, &phase_put, fields, N_ELEMENTS(fields));
}

/* --- progress ------------------------------------------------------------------------------------ */

STATEMENT meter_put = SQL(
        "INSERT INTO meter (only, account, boot_id, time_ms) VALUES (1, ?1, ?2, ?3)"
        " ON CONFLICT (only) DO UPDATE SET account = excluded.account, boot_id = excluded.boot_id,"
        " time_ms = excluded.time_ms", 0);

static int put_meter(Database *database, Field meter, Field boot_id, Field time_ms) {
        return meter.text ? database_run(database, &meter_put, FIELDS(meter, boot_id, time_ms)) : 0;
}

/* Binds the progress, which has the same places at the job's begin and at a checkpoint. */
STATEMENT running_put = SQL(
        "INSERT INTO running (job, window, boot_id, checkpoint_ms) SELECT row, ?2, ?3, ?4 FROM job WHERE id = ?1", 0);

STATEMENT running_checkpoint = SQL(
        "UPDATE running SET window = ?2, boot_id = ?3, checkpoint_ms = ?4"
        " WHERE job = (SELECT row FROM job WHERE id = ?1)", 0);

/* --- begin --------------------------------------------------------------------------------------- */

/* Packed fields of a job at its begin: the places of job_insert. */
#define N_JOB_FIELDS 18

STATEMENT job_insert = SQL(
        "INSERT INTO job (id, name, user, command, labels, uid, gid, pid, pid_start_ticks, rank,"
        " node, n_nodes, n_ranks, isolation, cgroup, begun_by, by_admin, begin_ms, state)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, 'running')"
        " ON CONFLICT (id) DO NOTHING", 0);

/* Users can choose any id, but must not keep an administrator from an id. The random suffix also keeps users from
 * taking the other id first. */
STATEMENT job_yield = SQL(
        "UPDATE job SET id = substr(id, 1, 100) || '.' || lower(hex(randomblob(4)))"
        " WHERE id = ?1 AND NOT by_admin AND state <> 'running'", 0);

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

STATEMENT job_rename = SQL("UPDATE job SET id = ?2 WHERE id = ?1", 0);

/* --- end ----------------------------------------------------------------------------------------- */

STATEMENT timeline_put = SQL(
        "INSERT INTO timeline (part, bytes) SELECT 3 * row + ?2, ?3 FROM job WHERE id = ?1"
        " ON CONFLICT (part) DO UPDATE SET bytes = excluded.bytes", 0);

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
                r = database_run(database, &timeline_put,
                                 FIELDS(job, field_u64(i), field_blob(bytes.text + begin, end - begin)));
                begin = end;
        }
        return r;
}

STATEMENT job_end = SQL(
        "UPDATE job SET state = ?2, end_ms = ?3, exit_status = ?4, signal = ?5, rusage = ?6, note = ?7,"
        " layout = ?8, metrics = ?9, usage_layout = ?10, usage = ?11,"
        " n_phases = max(n_phases, ?12), steps = ?13, gpus = ?14 WHERE id = ?1", 0);

STATEMENT running_remove = SQL("DELETE FROM running WHERE job = (SELECT row FROM job WHERE id = ?1)", 0);

static int apply_end(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        /* id, state, end_ms, exit_status, signal, rusage, note; the numbers; n_phases, steps, gpus */
        Field fields[7 + N_NUMBER_FIELDS + 3], *job = &fields[0], *n_phases = &fields[7 + N_NUMBER_FIELDS];
        Field *gpus = n_phases + 2;
        scoped(buffer_deinit) Buffer packed = {};
        int r;

        (void)state;
        pack_read_fields(&from, fields, 7);
        r = read_numbers(&from, database, &fields[7]);
        pack_read_fields(&from, n_phases, 3);
        if (r == 0 && gpus->text) {
                r = compress_bytes(gpus->text, (size_t)gpus->n, &packed);
                *gpus = field_blob(packed.text, packed.n);
        }
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

STATEMENT job_phases = SQL("UPDATE job SET n_phases = max(n_phases, ?2) WHERE id = ?1", 0);

/* Only a running job has progress to be replaced. */
static int apply_phase(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field job = pack_read(&from), end_ms = pack_read(&from), boot_id = pack_read(&from),
              progress = pack_read(&from);
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

STATEMENT job_identity = SQL(
        "UPDATE job SET isolation = ?2, cgroup = ?3, uid = ?4, gid = ?5, name = ?6, user = ?7"
        " WHERE id = ?1 AND state = 'running'", 0);

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

STATEMENT totals_put = SQL(
        "INSERT INTO job_totals (only, text) VALUES (1, ?1) ON CONFLICT (only) DO UPDATE SET text = excluded.text", 0);

/* --- all running jobs ---------------------------------------------------------------------------- */

STATEMENT jobs_interrupt = SQL(
        "UPDATE job SET state = 'interrupted', note = ?1,"
        " end_ms = ifnull((SELECT checkpoint_ms FROM running WHERE running.job = job.row AND checkpoint_ms > begin_ms),"
        " 0)"
        " WHERE state = 'running'", 0);

STATEMENT running_clear = SQL("DELETE FROM running", 0);

/* Closes every running job as interrupted, at its last checkpoint. */
static int mend(Database *database, bool is_late) {
        static const char note[] = "perfd could not open its database when it started: "
                                   "the job's usage after the last checkpoint is unknown";
        Field field = field_string(note);
        int r;

        if (!is_late)
                return 0;
        r = database_run(database, &jobs_interrupt, &field, 1);
        return r != 0 ? r : database_run(database, &running_clear, NULL, 0);
}

/* --- an end that is reported late ----------------------------------------------------------------- */

/* STORE_DONE: the user may amend the job. */
static int judge_amend(Database *database, Field job, uint32_t uid, bool is_admin, StoreOutcome *ret) {
        JobOwner owner = {};
        int r;

        r = job_rows_find_owner(database, job, &owner);
        if (r != 0)
                return r;

        if (owner.row == 0)
                *ret = STORE_MISSING;
        else if (!is_admin && owner.uid != uid)
                *ret = STORE_DENIED;
        else
                *ret = owner.is_finished ? STORE_DUPLICATE : STORE_DONE;
        return 0;
}

enum {
        ENDED_BEGIN,
        ENDED_END,
        ENDED_NOTE,
        ENDED_METRICS_LAYOUT,
        ENDED_METRICS,
        ENDED_USAGE_LAYOUT,
        ENDED_USAGE,
        N_ENDED_COLUMNS
};

STATEMENT ended_find = SQL(
        "SELECT begin_ms, end_ms, note, m.keys, metrics, u.keys, usage FROM job"
        " LEFT JOIN layout AS m ON m.id = job.layout LEFT JOIN layout AS u ON u.id = job.usage_layout WHERE job.id ="
        " ?1",
        N_ENDED_COLUMNS);

/* The numbers of a job that was closed without a report of its end. */
typedef struct Ended {
        LateEnd late;
        bool has_numbers; /* both texts could be read */
        bool has_false_note; /* the note states that no end was reported */
        bool is_rebooted;    /* the machine was rebooted since */
        MetricSet metrics;
        UsageSet usage;
} Ended;

static int find_ended(Database *database, Field job, Ended *ret) {
        Prepared *find = database_prepare(database, &ended_find, &job, 1);
        JobNumberTexts texts;
        const char *note;
        int r;

        *ret = (Ended){};
        r = database_step(database, find);
        if (r != DATABASE_ROW)
                return r;

        note = column_text(find, ENDED_NOTE);
        ret->has_false_note = note && strstr(note, JOB_NO_END_NOTE);
        ret->is_rebooted = note && strstr(note, JOB_REBOOT_NOTE);
        ret->late = (LateEnd){
                .begin_realtime_ms = column_u64(find, ENDED_BEGIN),
                .end_realtime_ms = column_u64(find, ENDED_END),
                .metrics = &ret->metrics, .usage = &ret->usage,
        };
        texts = (JobNumberTexts){ column_text(find, ENDED_METRICS_LAYOUT), column_text(find, ENDED_METRICS),
                                  column_text(find, ENDED_USAGE_LAYOUT), column_text(find, ENDED_USAGE) };
        ret->has_numbers = job_text_read_numbers(&texts, &ret->metrics, &ret->usage);
        return database_finish(database, find);
}

STATEMENT ended_settle = SQL(
        "UPDATE job SET end_ms = ?2, layout = ?3, metrics = ?4, usage_layout = ?5, usage = ?6 WHERE id = ?1", 0);

/* Replaces the time of the end and the numbers that depend on it. */
static int put_ended(Database *database, Field job, const Ended *ended) {
        scoped(buffer_deinit) Buffer metrics = {}, usage = {};
        int64_t metrics_layout = 0, usage_layout = 0;
        int r;

        job_text_write_metrics(&ended->metrics, &metrics);
        job_text_write_usage(&ended->usage, &usage);
        r = buffer_error(&metrics) < 0 ? buffer_error(&metrics) : buffer_error(&usage);
        if (r == 0)
                r = find_layout(database, LAYOUT_METRICS, &metrics_layout);
        if (r == 0)
                r = find_layout(database, LAYOUT_USAGE, &usage_layout);
        if (r != 0)
                return r;
        return database_run(database, &ended_settle,
                            FIELDS(job, field_u64(ended->late.end_realtime_ms), field_i64(metrics_layout),
                                   field_buffer(&metrics), field_i64(usage_layout), field_buffer(&usage)));
}

STATEMENT note_remove = SQL("UPDATE job SET note = NULL WHERE id = ?1", 0);

static int settle(Database *database, Field job, const JobEnd *end, uint64_t now_ms, uint32_t n_cpus, Ended *ended) {
        int r = ended->has_false_note ? database_run(database, &note_remove, &job, 1) : 0;

        if (r != 0 || !ended->has_numbers || !job_end_is_unknown(&ended->metrics))
                return r;

        ended->late.metrics = &ended->metrics;
        ended->late.usage = &ended->usage;
        ended->late.n_node_cpus = n_cpus;
        job_settle_late_end(&ended->late, end, now_ms);
        return put_ended(database, job, ended);
}

STATEMENT job_amend = SQL(
        "UPDATE job SET state = 'finished', exit_status = ?2, signal = ?3, rusage = ?4 WHERE id = ?1", 0);

static int apply_amend(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field fields[4], about[9];
        JobEnd end = {};
        Ended ended;
        int r;

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        pack_read_fields(&from, about, N_ELEMENTS(about));
        r = judge_amend(database, fields[0], (uint32_t)about[6].integer, about[7].integer, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        end.realtime_ms = (uint64_t)about[0].integer;
        r = find_ended(database, fields[0], &ended);
        /* Skip a report after the reboot that ended the job: the epilog of a batch system has not seen the end. */
        if (r != 0 || (ended.is_rebooted && end.realtime_ms > (uint64_t)about[8].integer))
                return r;

        r = database_run(database, &job_amend, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        end.client_cpu = (ClientCpu){ (uint64_t)about[1].integer, (uint64_t)about[2].integer };
        end.is_rusage_partial = about[3].integer;
        end.has_rusage = fields[3].text && record_parse(&job_rusage_record, fields[3].text, &end.rusage) == 0;
        return settle(database, fields[0], &end, (uint64_t)about[4].integer, (uint32_t)about[5].integer, &ended);
}

/* --- kinds --------------------------------------------------------------------------------------- */

static const RowKind begin_kind = { &store_jobs, .apply = apply_begin };
static const RowKind rename_kind = { &store_jobs, .statement = &job_rename };
static const RowKind end_kind = { &store_jobs, .apply = apply_end };
static const RowKind phase_kind = { &store_jobs, .apply = apply_phase };
static const RowKind identity_kind = { &store_jobs, .statement = &job_identity, .needs_change = true };
static const RowKind amend_kind = { &store_jobs, .apply = apply_amend };
static const RowKind checkpoints_kind = { &store_jobs, .apply = apply_checkpoints };
static const RowKind totals_kind = { &store_jobs, .statement = &totals_put };

Field job_rows_ended(const RowSet *set) {
        Unpack from = rowset_unpack(set);

        if (set->outcome != STORE_DONE || (set->kind != &end_kind && set->kind != &amend_kind))
                return (Field){};
        return pack_read(&from);
}

/* --- in the caller's thread ---------------------------------------------------------------------- */

/* NULL: none. */
static void pack_numbers(Buffer *buffer, const MetricSet *metrics, const UsageSet *usage) {
        PACK_TEXT_IF(metrics, buffer, job_text_write_metrics(metrics, buffer));
        PACK_TEXT_IF(usage, buffer, job_text_write_usage(usage, buffer));
}

static void pack_phase(Buffer *buffer, const PhaseView *phase) {
        pack_fields(buffer, FIELDS(field_u64(phase->index), field_string(phase->name),
                                   field_u64(phase->begin_realtime_ms), field_u64(phase->end_realtime_ms),
                                   field_if(phase->has_wall_seconds, field_double(phase->wall_seconds))));
        pack_numbers(buffer, &phase->metrics, &phase->usage);
}

/* The order is that of job_insert. */
RowSet *job_rows_pack_begin(const StoreJobBegin *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};
        const JobInfo *info = row->info;

        rowset_begin(&buffer, FIELDS(field_string(info->id), field_string(info->name), field_string(info->user),
                                     field_string(info->command)));
        PACK_TEXT(&buffer, record_put(&job_labels_record, info, &buffer));
        pack_fields(&buffer,
                    FIELDS(field_i64(info->uid), field_i64(info->gid), field_i64(info->pid),
                           field_u64(info->pid_start_ticks), field_i64(info->rank), field_i64(info->node),
                           field_i64(info->n_nodes), field_i64(info->n_ranks),
                           field_string(job_isolation_name(info->isolation)), field_string(info->cgroup),
                           field_u64(row->begun_by), field_i64(row->is_by_admin), field_u64(row->begin_realtime_ms)));
        pack_fields(&buffer, FIELDS(field_string(row->boot_id), field_string(row->progress), field_string(row->meter)));
        return rowset_finish(&buffer, &begin_kind, 1, cookie);
}

RowSet *job_rows_pack_rename(const char *id, const char *other) {
        return rowset_pack(&rename_kind, (StoreCookie){}, FIELDS(field_string(id), field_string(other)));
}

/* Appends three fields: exit status, signal and rusage. */
static void pack_end(Buffer *buffer, const JobEnd *end) {
        pack_fields(buffer,
                    FIELDS(field_if(end->has_exit_status, field_i64(end->exit_status)), field_i64(end->signal)));
        PACK_TEXT_IF(end->has_rusage, buffer, record_put(&job_rusage_record, &end->rusage, buffer));
}

/* The order is that of job_end, then come the last phase, if the number of phases is not 0, and the timeline. */
RowSet *job_rows_pack_end(const StoreJobEnd *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(row->job), field_string(job_state_name(row->state)),
                                     field_u64(row->end_realtime_ms)));
        pack_end(&buffer, row->end);
        pack_fields(&buffer, FIELDS(field_string(row->note && row->note[0] ? row->note : NULL)));
        pack_numbers(&buffer, row->metrics, row->usage);
        pack_fields(&buffer, FIELDS(field_u64(row->phase ? UINT64_C(1) + row->phase->index : 0)));
        PACK_TEXT_IF(row->steps, &buffer, record_put(&job_steps_record, row->steps, &buffer));
        PACK_TEXT_IF(row->gpus && row->gpus->n > 0, &buffer, record_put(&job_gpus_record, row->gpus, &buffer));
        if (row->phase)
                pack_phase(&buffer, row->phase);
        pack_fields(&buffer, FIELDS(row->timeline ? field_blob(row->timeline->text, row->timeline->n) : (Field){}));
        return rowset_finish(&buffer, &end_kind, 1, cookie);
}

RowSet *job_rows_pack_phase(const StorePhase *row, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(row->job), field_u64(row->phase->end_realtime_ms),
                                     field_string(row->boot_id), field_string(row->progress), field_string(row->meter),
                                     /* the number of phases, with the phase that begins */
                                     field_u64(UINT64_C(2) + row->phase->index)));
        pack_phase(&buffer, row->phase);
        return rowset_finish(&buffer, &phase_kind, 1, cookie);
}

RowSet *job_rows_pack_identity(const StoreJobIdentity *identity, StoreCookie cookie) {
        return rowset_pack(&identity_kind, cookie,
                           FIELDS(field_string(identity->job), field_string(job_isolation_name(identity->isolation)),
                                  field_string(identity->cgroup), field_u64(identity->uid), field_u64(identity->gid),
                                  field_string(identity->name), field_string(identity->user)));
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
        return rowset_pack(&totals_kind, (StoreCookie){}, FIELDS(field_string(text)));
}

RowSet *job_rows_pack_amend(const char *job, const Peer *sender, const JobEnd *end, uint64_t start_ms, uint64_t now_ms,
                            uint32_t n_cpus, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_string(job)));
        pack_end(&buffer, end);
        pack_fields(&buffer,
                    FIELDS(field_u64(end->realtime_ms), field_u64(end->client_cpu.user_us),
                           field_u64(end->client_cpu.system_us), field_i64(end->is_rusage_partial), field_u64(now_ms),
                           field_u64(n_cpus), field_u64(sender->uid), field_i64(sender->is_admin || sender->uid == 0),
                           field_u64(start_ms)));
        return rowset_finish(&buffer, &amend_kind, 1, cookie);
}

/* --- removal ------------------------------------------------------------------------------------- */

#define PHASES_AT_ONCE "512" /* phases of a job that are removed together with it; more are removed in steps */

STATEMENT phases_remove = SQL(
        "DELETE FROM phase WHERE row IN (SELECT row FROM phase INDEXED BY phase_by_job WHERE job = ?1 LIMIT ?2)", 0);
static const Statement *const phase_removals[] = { &phases_remove, NULL };
DEFINE_LEFTOVER(phase_leftover, 2, phase_removals, PHASES_AT_ONCE, "?1");

/* SQL of the trigger that runs when the job old.row is removed. */
#define PHASES_REMOVE                                                                                    \
        " INSERT INTO phase_leftover SELECT old.row WHERE old.n_phases > " PHASES_AT_ONCE ";"             \
        " DELETE FROM phase WHERE job = old.row AND old.n_phases <= " PHASES_AT_ONCE ";"

/* Jobs are removed with their phases, unless these are many: as many of the oldest jobs as have ?1 rows, and at
 * least one job. Running jobs stay. */
enum { REMOVED_ROW, REMOVED_ROWS, N_REMOVED_COLUMNS };
#define JOB_ROWS "iif(n_phases > " PHASES_AT_ONCE ", 1, 1 + n_phases)"
#define JOB_REMOVE(of)                                                                                  \
        "SELECT row, n_rows FROM (SELECT row, n_rows, total(n_rows) OVER (ORDER BY row) AS n FROM"      \
        " (SELECT row, " JOB_ROWS " AS n_rows FROM job " of " state <> 'running' ORDER BY row LIMIT ?1))" \
        " WHERE n - n_rows < ?1"

STATEMENT job_remove = SQL(JOB_REMOVE("WHERE"), N_REMOVED_COLUMNS);
STATEMENT job_remove_of_user = SQL(JOB_REMOVE("INDEXED BY job_by_uid WHERE uid = ?2 AND"),
                                       N_REMOVED_COLUMNS);

STATEMENT job_expire = SQL("SELECT row, n_rows FROM"
                           " (SELECT row, n_rows, total(n_rows) OVER (ORDER BY begin_ms, row) AS n FROM"
                           " (SELECT row, " JOB_ROWS
                           " AS n_rows, begin_ms FROM job INDEXED BY job_by_begin WHERE begin_ms < ?2 AND end_ms < ?2"
                           " AND state <> 'running' ORDER BY begin_ms LIMIT ?1))"
                           " WHERE n - n_rows < ?1",
                           N_REMOVED_COLUMNS);
STATEMENT job_next_of_user = SQL(
        "SELECT ifnull(min(row), 0) FROM job INDEXED BY job_by_uid WHERE uid = ?1 AND row >= ?2", 1);
STATEMENT job_erase = SQL(JOB_REMOVE("INDEXED BY job_by_uid WHERE uid = ?2 AND row BETWEEN ?3 AND " ERASURE_WINDOW_END
                                     " AND begin_ms < ?4 AND end_ms < ?4 AND"),
                          N_REMOVED_COLUMNS);

STATEMENT job_delete = SQL("DELETE FROM job WHERE row = ?1", 0);

/* Removes the jobs that a statement selects, and counts the removed rows. */
static int run_removal(Database *database, Prepared *selection, int64_t *ret_n) {
        scoped(buffer_deinit) Buffer removed = {};
        int64_t columns[N_REMOVED_COLUMNS], n = 0;
        int r;

        r = database_collect(database, selection, &removed);
        for (size_t at = 0; r == 0 && at < removed.n; at += sizeof(columns)) {
                memcpy(columns, removed.text + at, sizeof(columns));
                r = database_run(database, &job_delete, FIELDS(field_i64(columns[REMOVED_ROW])));
                n += columns[REMOVED_ROWS];
        }
        if (r == 0)
                *ret_n = n;
        return r;
}

/* --- salvage ------------------------------------------------------------------------------------- */

/*
 * A job whose row is lost is restored from its indexes, so that its phases and its timeline keep a job.
 */
#define RESTORED                                                                                                       \
        "'restored from indexes after damage of the database: the command, labels and numbers of the job are lost'"

/* A job that was running only according to the damaged file cannot be resumed: jobs that were running are stored
 * first. Its end is unknown, as is that of a job of which only an index is left. */

/* The number of a lost job may now belong to another job. A job without its progress cannot be resumed after a
 * restart. */
STATEMENT running_finish = SQL(
        "UPDATE job SET state = 'interrupted', end_ms = 0 WHERE state = 'running' AND row NOT IN (SELECT job FROM"
        " running)",
        0);

/* A job that began after the phase has taken the number of a lost job. */
STATEMENT phase_salvaged[] = { SQL("UPDATE job SET n_phases = ?3 + 1 WHERE row = ?2 AND n_phases <= ?3", 0), {} };
static const TableSalvage small_salvage = { .is_first = true }; /* of tables with a few rows */

/* --- tables -------------------------------------------------------------------------------------- */

/* Average size of a job with its phases in the table `holder`. It includes 2 KiB of command and labels; longer texts
 * are added. */
#define JOB_SIZE(row) \
        "(4096 + max(0, length(CAST(" row ".command AS BLOB)) + length(CAST(" row ".labels AS BLOB)) - 2048)" \
        " + ifnull(length(" row ".steps), 0) + ifnull(length(" row ".gpus), 0) + 1024 * min(" row ".n_phases, 100000))"

/*
 * row is the rowid by name, so that indexes can hold it where pages of a list need it: newest first, then by row.
 * Long texts come last: SQLite reads a row from its begin. No number is used twice: rows of other tables may remain
 * for a while after their job.
 */
static const StoreTable job_table = {
        .name = "job",
        .schema =
                "CREATE TABLE job ("
                " row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL,"
                " state TEXT NOT NULL,"
                " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL DEFAULT 0,"
                " uid INTEGER NOT NULL, gid INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start_ticks INTEGER NOT NULL,"
                " rank INTEGER NOT NULL, node INTEGER NOT NULL, n_nodes INTEGER NOT NULL, n_ranks INTEGER NOT NULL,"
                " n_phases INTEGER NOT NULL DEFAULT 0, exit_status INTEGER, signal INTEGER NOT NULL DEFAULT 0,"
                " isolation TEXT NOT NULL, cgroup TEXT, rusage TEXT, note TEXT, command TEXT NOT NULL, labels TEXT"
                " NOT NULL,"
                " layout INTEGER, metrics TEXT, usage_layout INTEGER, usage TEXT, steps TEXT, gpus BLOB,"
                " begun_by INTEGER NOT NULL DEFAULT 0, by_admin INTEGER NOT NULL DEFAULT 0);"
                "CREATE UNIQUE INDEX job_by_id ON job (id);"
                "CREATE INDEX job_by_begin ON job (begin_ms);"
                "CREATE INDEX job_by_name ON job (name, begin_ms);"
                "CREATE INDEX job_by_user ON job (user, begin_ms);"
                "CREATE INDEX job_by_state ON job (state, begin_ms);"
                "CREATE INDEX job_by_uid ON job (uid);"
                "CREATE TRIGGER job_removed AFTER DELETE ON job BEGIN"
                " DELETE FROM timeline WHERE part BETWEEN 3 * old.row AND 3 * old.row + 2;"
                PHASES_REMOVE
                " UPDATE holder SET n_bytes = n_bytes - " JOB_SIZE("old") " WHERE uid = old.uid; END;"
                "CREATE TRIGGER job_added AFTER INSERT ON job BEGIN"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " JOB_SIZE("new") ")"
                " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER job_changed AFTER UPDATE OF uid, n_phases, steps, gpus ON job"
                " WHEN new.uid <> old.uid OR new.n_phases <> old.n_phases OR new.steps IS NOT old.steps"
                " OR new.gpus IS NOT old.gpus BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " JOB_SIZE("old") " WHERE uid = old.uid;"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " JOB_SIZE("new") ")"
                " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM job ORDER BY row DESC LIMIT 1)",
                "SELECT count(*) FROM job INDEXED BY job_by_state WHERE state = 'running'",
                "SELECT max(begin_ms) FROM job INDEXED BY job_by_begin",
        },
        .retention = &(const TableRetention){
                .order = 6,
                .keep = offsetof(StoreConfig, keep_jobs_ns),
                .remove = &job_remove,
                .remove_of_user = &job_remove_of_user,
                .expire = &job_expire,
                .newest = "SELECT max(begin_ms) FROM job INDEXED BY job_by_begin",
                .run = run_removal,
        },
        .salvage = &(const TableSalvage){
                .needed = "old.state = 'running'",
                .values = (const SalvagedValue[]){
                        { "state", "iif(old.state = 'running', 'interrupted', old.state)" },
                        { "end_ms", "iif(old.end_ms IS NULL, NULL, iif(old.state = 'running' OR old.end_ms = 0, 0,"
                                    " max(old.begin_ms, old.end_ms)))" },
                        {},
                },
                .restored = (const SalvagedValue[]){
                        { "id", "'lost-id-' || old.row" }, { "state", "'interrupted'" }, { "rank", "-1" },
                        { "node", "-1" }, { "isolation", "'none'" }, { "note", RESTORED }, { "labels", "'{}'" }, {},
                },
                .is_restored = "note = " RESTORED,
        },
        .erasure = &(const TableErasure){ .next = &job_next_of_user, .select = &job_erase },
};

/* Separate from the job, because a row that was larger once leaves a hole that is not filled again. */
static const StoreTable running_table = {
        .name = "running",
        .schema =
                "CREATE TABLE running ("
                " job INTEGER PRIMARY KEY, checkpoint_ms INTEGER NOT NULL, boot_id TEXT NOT NULL, window TEXT NOT"
                " NULL);",
        .checks = {
                "SELECT total(length(window)) FROM running",
                "SELECT total(length(labels)) FROM running JOIN job ON job.row = running.job",
        },
        .salvage = &(const TableSalvage){
                .needed = "1",
                .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.job AND state = 'running')",
                .finish = &running_finish,
        },
        .erasure = &table_erasure_follows,
};

/*
 * Separate from the jobs, so that a page has more jobs, which are listed without their timelines. A timeline is
 * compressed and in three parts (3 * row, + 1, + 2): five parts share a page, while a whole timeline would fill
 * little more than half a page alone.
 */
static const StoreTable timeline_table = {
        .name = "timeline",
        .schema = "CREATE TABLE timeline (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL);",
        .checks = { "SELECT max(part) FROM timeline" },
        .salvage = &(const TableSalvage){
                .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.part / 3 AND state <> 'running')",
        },
        .erasure = &table_erasure_follows,
};

_Static_assert(N_TIMELINE_PARTS == 3, "the SQL of timelines has three parts");

/* A phase's row may be as large as a job's, hence a table with a rowid. */
static const StoreTable phase_table = {
        .name = "phase",
        .schema =
                "CREATE TABLE phase ("
                " row INTEGER PRIMARY KEY, job INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
                " begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, wall_seconds REAL,"
                " layout INTEGER, metrics TEXT, usage_layout INTEGER, usage TEXT);"
                "CREATE UNIQUE INDEX phase_by_job ON phase (job, number);",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM phase ORDER BY row DESC LIMIT 1)",
                "SELECT max(job) FROM phase INDEXED BY phase_by_job",
        },
        .salvage = &(const TableSalvage){
                .needed = "1",
                .condition = "EXISTS (SELECT 1 FROM job WHERE row = old.job AND begin_ms <= old.begin_ms)",
                .values = (const SalvagedValue[]){ { "row", "NULL" }, {} },
                .after = phase_salvaged,
        },
        .erasure = &table_erasure_follows,
};

/* The keys of stored metrics and usage (job_text.h): a few rows, shared by all jobs and phases. */
static const StoreTable layout_table = {
        .name = "layout",
        .schema = "CREATE TABLE layout (id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE);",
        .checks = { "SELECT count(*) FROM (SELECT * FROM layout)" },
        .salvage = &small_salvage,
        .erasure = &table_erasure_none,
};

/* The node meter's account, from which the jobs' progress counts: one row. */
static const StoreTable meter_table = {
        .name = "meter",
        .schema =
                "CREATE TABLE meter ("
                " only INTEGER PRIMARY KEY CHECK (only = 1), account TEXT NOT NULL, boot_id TEXT NOT NULL,"
                " time_ms INTEGER NOT NULL);",
        .checks = { "SELECT total(length(account)) FROM meter" },
        .salvage = &small_salvage,
        .erasure = &table_erasure_none,
};

/* The totals of ended jobs by user and by label: one row. */
static const StoreTable totals_table = {
        .name = "job_totals",
        .schema = "CREATE TABLE job_totals (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL);",
        .checks = { "SELECT total(length(text)) FROM job_totals" },
        .salvage = &small_salvage,
        .erasure = &table_erasure_follows, /* written anew without the user before the order */
};

const StoreSubject store_jobs = {
        .tables = STORE_TABLES(&job_table, &running_table, &timeline_table, &phase_table, &phase_leftover_table,
                               &layout_table, &meter_table, &totals_table),
        .mend = mend,
};
