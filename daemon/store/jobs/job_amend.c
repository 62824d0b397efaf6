/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_amend.h"

#include <string.h>

#include "job/late_end.h"
#include "store/database/database.h"
#include "store/jobs/job_parts.h"
#include "store/jobs/job_text.h"

/* --- in the writer's thread ---------------------------------------------------------------------- */

/* STORE_DONE: the user may amend the job. */
static int judge_amend(Database *database, Field job, uint32_t uid, bool is_admin, StoreOutcome *ret) {
        JobOwner owner = {};
        int r;

        r = job_parts_find_owner(database, job, &owner);
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

enum { ENDED_BEGIN, ENDED_END, ENDED_NOTE, ENDED_METRICS_LAYOUT, ENDED_METRICS, ENDED_USAGE_LAYOUT, ENDED_USAGE, N_ENDED_COLUMNS };

STATEMENT ended_find = {
        "SELECT begin_ms, end_ms, note, m.keys, metrics, u.keys, usage FROM job"
        " LEFT JOIN layout AS m ON m.id = job.layout LEFT JOIN layout AS u ON u.id = job.usage_layout WHERE job.id = ?1",
        N_ENDED_COLUMNS,
};

/* The numbers of a job that was closed without a report of its end. */
typedef struct Ended {
        LateEnd late;
        bool has_numbers; /* both texts could be read */
        bool has_false_note; /* the note states that no end was reported */
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

STATEMENT ended_settle = {
        "UPDATE job SET end_ms = ?2, layout = ?3, metrics = ?4, usage_layout = ?5, usage = ?6 WHERE id = ?1",
        0,
};

/* Replaces the time of the end and the numbers that depend on it. */
static int put_ended(Database *database, Field job, const Ended *ended) {
        scoped(buffer_deinit) Buffer metrics = {}, usage = {};
        int64_t metrics_layout = 0, usage_layout = 0;
        int r;

        job_text_write_metrics(&ended->metrics, &metrics);
        job_text_write_usage(&ended->usage, &usage);
        r = buffer_error(&metrics) < 0 ? buffer_error(&metrics) : buffer_error(&usage);
        if (r == 0)
                r = job_parts_find_layout(database, LAYOUT_METRICS, &metrics_layout);
        if (r == 0)
                r = job_parts_find_layout(database, LAYOUT_USAGE, &usage_layout);
        if (r != 0)
                return r;
        return database_run(database, &ended_settle, FIELDS(job, field_u64(ended->late.end_realtime_ms), field_i64(metrics_layout),
                                                            field_buffer(&metrics), field_i64(usage_layout), field_buffer(&usage)));
}

STATEMENT note_remove = { "UPDATE job SET note = NULL WHERE id = ?1", 0 };

static int settle(Database *database, Field job, const JobEnd *end, uint64_t now_ms, uint32_t n_cpus) {
        Ended ended;
        int r;

        r = find_ended(database, job, &ended);
        if (r == 0 && ended.has_false_note)
                r = database_run(database, &note_remove, &job, 1);
        if (r != 0 || !ended.has_numbers || !late_end_is_unknown(&ended.metrics))
                return r;

        ended.late.metrics = &ended.metrics;
        ended.late.usage = &ended.usage;
        ended.late.n_node_cpus = n_cpus;
        late_end_settle(&ended.late, end, now_ms);
        return put_ended(database, job, &ended);
}

STATEMENT job_amend = {
        "UPDATE job SET state = 'finished', exit_status = ?2, signal = ?3, rusage = ?4 WHERE id = ?1",
        0,
};

static int apply_amend(RowSet *set, Database *database, void *state) {
        Unpack from = rowset_unpack(set);
        Field uid = pack_read(&from), is_admin = pack_read(&from), fields[4], about[6];
        JobEnd end = {};
        int r;

        (void)state;
        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        pack_read_fields(&from, about, N_ELEMENTS(about));
        r = judge_amend(database, fields[0], (uint32_t)uid.integer, is_admin.integer, &set->outcome);
        if (r != 0 || set->outcome != STORE_DONE)
                return r;

        r = database_run(database, &job_amend, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        end.realtime_ms = (uint64_t)about[0].integer;
        end.client_cpu = (ClientCpu){ (uint64_t)about[1].integer, (uint64_t)about[2].integer };
        end.is_rusage_partial = about[3].integer;
        end.has_rusage = fields[3].text && record_parse(&job_rusage_record, fields[3].text, &end.rusage) == 0;
        return settle(database, fields[0], &end, (uint64_t)about[4].integer, (uint32_t)about[5].integer);
}

Field job_amend_id(const RowSet *set) {
        Unpack from = rowset_unpack(set);
        Field fields[3]; /* uid, is_admin, id */

        pack_read_fields(&from, fields, N_ELEMENTS(fields));
        return fields[2];
}

const RowKind job_amend_kind = { .name = "job amend", .apply = apply_amend };

/* --- in the caller's thread ---------------------------------------------------------------------- */

RowSet *job_amend_pack(const char *job, const Peer *sender, const JobEnd *end, uint64_t now_ms, uint32_t n_cpus, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        rowset_begin(&buffer, FIELDS(field_u64(sender->uid), field_i64(sender->is_admin || sender->uid == 0), field_string(job)));
        job_parts_pack_end(&buffer, end);
        pack_fields(&buffer, FIELDS(field_u64(end->realtime_ms), field_u64(end->client_cpu.user_us), field_u64(end->client_cpu.system_us),
                                    field_i64(end->is_rusage_partial), field_u64(now_ms), field_u64(n_cpus)));
        return rowset_finish(&buffer, &job_amend_kind, 1, cookie);
}
