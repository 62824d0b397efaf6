/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_rows.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "store/database/database.h"
#include "store/jobs/job_rows.h"
#include "store/pipelines/pipeline_merge.h"

/* --- packed form ---------------------------------------------------------------------------------- */

/* A row set has the outcome, which the writer fills in: a StoredReport, and a StoredSeries for each interval; then the fields. */
static StoredReport *report_of(RowSet *set) {
        return (StoredReport *)(void *)(set + 1);
}

static StoredSeries *series_of(RowSet *set) {
        return (StoredSeries *)(void *)(report_of(set) + 1);
}

static size_t n_outcome_bytes(size_t n_intervals) {
        return sizeof(StoredReport) + n_intervals * sizeof(StoredSeries);
}

_Static_assert(sizeof(RowSet) % alignof(StoredReport) == 0, "a row set's body is aligned for what it begins with");
_Static_assert(sizeof(StoredReport) % alignof(StoredSeries) == 0, "as are the series behind it");

enum { HEAD_JOB, HEAD_UID, HEAD_MAY_ACT, HEAD_PRODUCER, HEAD_DESCRIPTION, HEAD_EVENTS, HEAD_HAS_TIMES, N_HEAD_FIELDS };

/* An interval in the order of its fields. */
typedef union PackedInterval {
        struct {
                Field stage, part, end_ms, buffer_size;
                Field sums[7];
                Field percentiles[4];
        };
        Field all[15];
} PackedInterval;

enum { EVENT_NAME, EVENT_TIME, EVENT_SECONDS, N_EVENT_FIELDS };

_Static_assert(sizeof(PackedInterval) == sizeof(((PackedInterval *)NULL)->all), "an interval is unpacked at once");

static void pack_interval(Buffer *buffer, const PipelineInterval *interval, uint64_t arrived_ms) {
        const PipelineSums *sums = &interval->sums;
        const PipelinePercentiles *percentiles = &interval->percentiles;

        pack_fields(buffer, FIELDS(field_string(interval->stage), field_i64(interval->part),
                                   field_u64(interval->end_ms ?: arrived_ms), field_i64(interval->buffer_size),
                                   field_double(sums->elapsed_s), field_double(sums->n), field_double(sums->n_failures),
                                   field_double(sums->time_s), field_double(sums->get_s), field_double(sums->ready_s),
                                   field_double(sums->judged_s), field_double(percentiles->p90_s), field_double(percentiles->p99_s),
                                   field_double(percentiles->get_p90_s), field_double(percentiles->get_p99_s)));
}

static PipelineInterval unpack_interval(const PackedInterval *from) {
        return (PipelineInterval){
                .stage = from->stage.text,
                .part = (PipelinePart)from->part.integer,
                .end_ms = (uint64_t)from->end_ms.integer,
                .buffer_size = (uint32_t)from->buffer_size.integer,
                .sums = { from->sums[0].real, from->sums[1].real, from->sums[2].real, from->sums[3].real, from->sums[4].real,
                          from->sums[5].real, from->sums[6].real },
                .percentiles = { from->percentiles[0].real, from->percentiles[1].real, from->percentiles[2].real,
                                 from->percentiles[3].real },
        };
}

static uint64_t event_begin_ms(const PipelineEvent *event, uint64_t arrived_ms) {
        uint64_t lasted_ms = (uint64_t)(event->seconds * 1000);

        return event->begin_ms ?: arrived_ms > lasted_ms ? arrived_ms - lasted_ms : 0;
}

static bool has_times(const PipelineReport *report) {
        size_t i = 0;

        while (i < report->n_intervals && report->intervals[i].end_ms != 0)
                i++;
        return i == report->n_intervals;
}

RowSet *pipeline_rows_pack(const PipelineReport *report, const char *job, uint32_t uid, bool may_act, uint64_t arrived_ms,
                           StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        assert(report->n_intervals <= PIPELINE_REPORT_INTERVALS_MAX);
        rowset_begin(&buffer, NULL, 0);
        for (size_t i = 0; i < n_outcome_bytes(report->n_intervals); i++)
                buffer_putc(&buffer, 0);
        pack_fields(&buffer, FIELDS(field_string(job), field_i64(uid), field_i64(may_act), field_string(report->producer),
                                    field_if(report->description.text, field_text(report->description.text, report->description.n)),
                                    field_u64(report->n_events), field_i64(has_times(report))));
        for (size_t i = 0; i < report->n_intervals; i++)
                pack_interval(&buffer, &report->intervals[i], arrived_ms);
        for (size_t i = 0; i < report->n_events; i++)
                pack_fields(&buffer, FIELDS(field_string(report->events[i].name),
                                            field_u64(event_begin_ms(&report->events[i], arrived_ms)),
                                            field_double(report->events[i].seconds)));
        return rowset_finish(&buffer, &pipeline_rows_kind, report->n_intervals, cookie);
}

static Unpack unpack_head(const RowSet *set, Field ret[static N_HEAD_FIELDS]) {
        Unpack from = rowset_unpack(set);

        (void)pack_read_bytes(&from, n_outcome_bytes(set->n_rows));
        pack_read_fields(&from, ret, N_HEAD_FIELDS);
        return from;
}

/* --- intervals ------------------------------------------------------------------------------------ */

#define SERIES_COLUMNS \
        "job, stage, part, producer, end_ms, n_intervals, n_last, buffer_size, elapsed_s, n, n_failures, time_s, get_s, ready_s, judged_s"
#define SERIES_ADD \
        "n_intervals = n_intervals + 1, producer = excluded.producer," \
        " buffer_size = iif(excluded.buffer_size > 0, excluded.buffer_size, buffer_size)," \
        " elapsed_s = elapsed_s + excluded.elapsed_s, n = n + excluded.n, n_failures = n_failures + excluded.n_failures," \
        " time_s = time_s + excluded.time_s, get_s = get_s + excluded.get_s, ready_s = ready_s + excluded.ready_s," \
        " judged_s = judged_s + excluded.judged_s"
#define SERIES_INSERT \
        "INSERT INTO pipeline_series (" SERIES_COLUMNS ")" \
        " VALUES (?1, ?2, ?3, ?4, ?5, 1, ?8, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (job, stage, part) DO UPDATE SET "
enum {
        SERIES_ROW, SERIES_INTERVALS, SERIES_END, SERIES_LAST, SERIES_SUMS, N_SERIES_COLUMNS = SERIES_SUMS + 7,
};
#define SERIES_RETURNING \
        " RETURNING row, n_intervals, end_ms, n_last, elapsed_s, n, n_failures, time_s, get_s, ready_s, judged_s"

/* Adds an interval that is newer than all of its series; no row is returned for any other. */
STATEMENT series_append = {
        SERIES_INSERT "end_ms = excluded.end_ms, n_last = excluded.n, " SERIES_ADD " WHERE excluded.end_ms > end_ms" SERIES_RETURNING,
        N_SERIES_COLUMNS,
};
/* Adds an interval whose time is before that of another, because the clock was set back, or because two processes have the stage. */
STATEMENT series_add = { SERIES_INSERT SERIES_ADD SERIES_RETURNING, N_SERIES_COLUMNS };
/* The row of a series, unless the time is that of a stored interval. */
STATEMENT series_find_late = {
        "SELECT row FROM pipeline_series AS s WHERE job = ?1 AND stage = ?2 AND part = ?3 AND NOT EXISTS"
        " (SELECT 1 FROM pipeline_interval WHERE job = ?1 AND level IN (-1, 0) AND end_ms = ?4 AND series = s.row)",
        1,
};
STATEMENT series_exists = { "SELECT 1 FROM pipeline_series WHERE job = ?1 AND stage = ?2 AND part = ?3", 1 };

/* The first interval of a series, in which the queues fill, has the level -1 and is never merged. */
STATEMENT interval_insert = {
        "INSERT INTO pipeline_interval (job, level, end_ms, series, elapsed_s, n, n_failures, time_s, get_s, ready_s, judged_s,"
        " p90_s, p99_s, get_p90_s, get_p99_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        0,
};

typedef struct ReportedJob {
        int64_t row;
        Field producer;
        int64_t n_series, n_rows, merged_ms; /* as stored before the report, and with its rows */
} ReportedJob;

static void read_series(const Prepared *row, StoredSeries *ret) {
        double sums[7];

        for (int i = 0; i < (int)N_ELEMENTS(sums); i++)
                sums[i] = column_double(row, SERIES_SUMS + i);
        *ret = (StoredSeries){
                .row = column_i64(row, SERIES_ROW),
                .end_ms = column_u64(row, SERIES_END),
                .sums = { sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6] },
                .n_last = column_double(row, SERIES_LAST),
        };
}

/* Runs one of the two statements that add to a series. *ret_n_intervals: 0 if there was no row. */
static int add_to_series(Database *database, const Statement *statement, const ReportedJob *job, const PackedInterval *from,
                         StoredSeries *ret, int64_t *ret_n_intervals) {
        Prepared *row = database_prepare(database, statement,
                                         FIELDS(field_i64(job->row), from->stage, from->part, job->producer, from->end_ms,
                                                from->buffer_size, from->sums[0], from->sums[1], from->sums[2], from->sums[3],
                                                from->sums[4], from->sums[5], from->sums[6]));
        int r;

        *ret_n_intervals = 0;
        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;

        read_series(row, ret);
        *ret_n_intervals = column_i64(row, SERIES_INTERVALS);
        return database_finish(database, row);
}

/* Returns true if the job may have the series: the job has the series already, or is below its limit. */
static int check_limit(Database *database, const ReportedJob *job, const PackedInterval *from, bool *ret_is_allowed) {
        int64_t exists = 0;
        int r = 0;

        if (job->n_series >= PIPELINE_JOB_SERIES_MAX)
                r = database_get(database, &series_exists, FIELDS(field_i64(job->row), from->stage, from->part), &exists);
        *ret_is_allowed = job->n_series < PIPELINE_JOB_SERIES_MAX || exists != 0;
        return r;
}

/* Adds an interval that is older than another of its series, unless it is stored. */
static int add_late(Database *database, const ReportedJob *job, const PackedInterval *from, StoredSeries *ret, int64_t *ret_n_intervals) {
        int64_t row = 0;
        int r;

        if (from->end_ms.integer <= job->merged_ms)
                return 0;
        r = database_get(database, &series_find_late, FIELDS(field_i64(job->row), from->stage, from->part, from->end_ms), &row);
        return r == 0 && row != 0 ? add_to_series(database, &series_add, job, from, ret, ret_n_intervals) : r;
}

static int add_interval(Database *database, ReportedJob *job, const PackedInterval *from, StoredSeries *ret) {
        int64_t n_intervals;
        bool is_allowed;
        int r;

        *ret = (StoredSeries){};
        r = check_limit(database, job, from, &is_allowed);
        ret->is_rejected = !is_allowed;
        if (r != 0 || !is_allowed)
                return r;

        r = add_to_series(database, &series_append, job, from, ret, &n_intervals);
        if (r == 0 && n_intervals == 0)
                r = add_late(database, job, from, ret, &n_intervals);
        if (r != 0 || n_intervals == 0)
                return r;

        job->n_series += n_intervals == 1;
        job->n_rows++;
        return database_run(database, &interval_insert,
                            FIELDS(field_i64(job->row), field_i64(n_intervals == 1 ? -1 : 0), from->end_ms, field_i64(ret->row),
                                   from->sums[0], from->sums[1], from->sums[2], from->sums[3], from->sums[4], from->sums[5],
                                   from->sums[6], from->percentiles[0], from->percentiles[1], from->percentiles[2],
                                   from->percentiles[3]));
}

/* --- job ------------------------------------------------------------------------------------------ */

enum { JOB_SERIES, JOB_ROWS, JOB_MERGED, N_JOB_COLUMNS };
STATEMENT pipeline_find = { "SELECT n_series, n_rows, merged_ms FROM pipeline WHERE job = ?1 AND n_series > 0", N_JOB_COLUMNS };
/* The numbers of a job whose row in `pipeline` was lost with a damaged page, or is salvaged after the rows that it counts. */
STATEMENT pipeline_count = {
        "SELECT (SELECT count(*) FROM pipeline_series WHERE job = ?1), count(*), ifnull(max(end_ms) FILTER (WHERE level > 0), 0)"
        " FROM pipeline_interval WHERE job = ?1",
        N_JOB_COLUMNS,
};

static int read_numbers(Database *database, const Statement *statement, ReportedJob *job) {
        Prepared *row = database_prepare(database, statement, FIELDS(field_i64(job->row)));
        int r;

        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;
        job->n_series = column_i64(row, JOB_SERIES);
        job->n_rows = column_i64(row, JOB_ROWS);
        job->merged_ms = column_i64(row, JOB_MERGED);
        return database_finish(database, row);
}

static int find_pipeline(Database *database, ReportedJob *job) {
        int r = read_numbers(database, &pipeline_find, job);

        return r == 0 && job->n_series == 0 ? read_numbers(database, &pipeline_count, job) : r;
}

STATEMENT pipeline_put = {
        "INSERT INTO pipeline (job, n_series, n_rows, merged_ms, n_events, event_s) VALUES (?1, ?2, ?3, ?4, 0, 0)"
        " ON CONFLICT (job) DO UPDATE SET n_series = excluded.n_series, n_rows = excluded.n_rows, merged_ms = excluded.merged_ms",
        0,
};

/* Merges intervals beyond the limit of the job, and stores its numbers of rows. */
static int end_intervals(Database *database, ReportedJob *job) {
        int64_t n_max = job->n_series * PIPELINE_SERIES_ROWS_MAX, n_before;
        int r = 0;

        n_max = n_max < PIPELINE_JOB_ROWS_MAX ? n_max : PIPELINE_JOB_ROWS_MAX;
        do {
                n_before = job->n_rows;
                if (n_before > n_max)
                        r = pipeline_merge_oldest(database, job->row, job->n_series, &job->n_rows, &job->merged_ms);
        } while (r == 0 && job->n_rows < n_before);
        return r != 0 ? r : database_run(database, &pipeline_put, FIELDS(field_i64(job->row), field_i64(job->n_series),
                                                                         field_i64(job->n_rows), field_i64(job->merged_ms)));
}

/* --- events and description ----------------------------------------------------------------------- */

STATEMENT pipeline_note = {
        "UPDATE pipeline SET n_events = n_events + ?2, event_s = event_s + ?3, description = coalesce(?4, description) WHERE job = ?1",
        0,
};
STATEMENT event_insert = {
        "INSERT INTO pipeline_event (job, time_ms, name, seconds) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING", 0,
};
STATEMENT first_batch_count = {
        "SELECT count(*) FROM pipeline_event WHERE job = ?1 AND name = '" PIPELINE_EVENT_FIRST_BATCH "'", 1,
};
STATEMENT event_bound = { "SELECT time_ms FROM pipeline_event WHERE job = ?1 ORDER BY time_ms DESC LIMIT 1 OFFSET ?2", 1 };
STATEMENT event_remove = { "DELETE FROM pipeline_event WHERE job = ?1 AND time_ms < ?2 AND name <> '" PIPELINE_EVENT_FIRST_BATCH "'", 0 };

_Static_assert(PIPELINE_JOB_EVENTS_MAX == 4096, "PIPELINE_NOTED_SIZE() has this number");

static bool is_text(Field field, const char *text) {
        return field.n == (int)strlen(text) && memcmp(field.text, text, strlen(text)) == 0;
}

/*
 * A first batch stays as long as the job, and has no part in the totals. *n: those that are stored, or -1; counting them takes a search of
 * all events of the job, once in a report.
 */
static int add_first_batch(Database *database, const ReportedJob *job, const Field *event, int64_t *n) {
        int r = 0;

        if (*n < 0)
                r = database_get(database, &first_batch_count, FIELDS(field_i64(job->row)), n);
        if (r != 0 || *n >= PIPELINE_JOB_FIRST_BATCHES_MAX)
                return r;
        r = database_run(database, &event_insert,
                         FIELDS(field_i64(job->row), event[EVENT_TIME], event[EVENT_NAME], event[EVENT_SECONDS]));
        *n += r == 0 && database_changes(database) > 0;
        return r;
}

/* The totals count an event once, also when it is sent again while it is kept. */
static int add_events(Database *database, const ReportedJob *job, Unpack *from, size_t n, Field description) {
        int64_t n_added = 0, bound_ms = 0, n_first_batches = -1;
        double seconds = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                Field event[N_EVENT_FIELDS];

                pack_read_fields(from, event, N_EVENT_FIELDS);
                if (is_text(event[EVENT_NAME], PIPELINE_EVENT_FIRST_BATCH)) {
                        r = add_first_batch(database, job, event, &n_first_batches);
                        continue;
                }
                r = database_run(database, &event_insert,
                                 FIELDS(field_i64(job->row), event[EVENT_TIME], event[EVENT_NAME], event[EVENT_SECONDS]));
                if (r == 0 && database_changes(database) > 0) {
                        n_added++;
                        seconds += event[EVENT_SECONDS].real;
                }
        }
        if (r == 0 && (n_added > 0 || description.text))
                r = database_run(database, &pipeline_note,
                                 FIELDS(field_i64(job->row), field_i64(n_added), field_double(seconds), description));
        if (r != 0 || n_added == 0)
                return r;

        r = database_get(database, &event_bound, FIELDS(field_i64(job->row), field_i64(PIPELINE_JOB_EVENTS_MAX - 1)), &bound_ms);
        return r == 0 && bound_ms > 0 ? database_run(database, &event_remove, FIELDS(field_i64(job->row), field_i64(bound_ms))) : r;
}

/* --- the writer ----------------------------------------------------------------------------------- */

/* Adds the intervals of the part. */
static int add_part(RowSet *set, Database *database, ReportedJob *job, Unpack *from) {
        size_t end = rowset_part_end(set);
        int r;

        if (set->part.n_done > 0)
                from->p = (const char *)set + set->part.offset;
        r = find_pipeline(database, job);
        for (size_t i = set->part.n_done; r == 0 && i < end; i++) {
                PackedInterval interval;

                pack_read_fields(from, interval.all, N_ELEMENTS(interval.all));
                r = add_interval(database, job, &interval, &series_of(set)[i]);
        }
        set->part.n_end = end;
        set->part.offset_end = (size_t)(from->p - (const char *)set);
        return r == 0 ? end_intervals(database, job) : r;
}

static void count_stored(RowSet *set, const ReportedJob *job) {
        StoredReport *report = report_of(set);

        *report = (StoredReport){ .n_series = (uint64_t)job->n_series };
        for (size_t i = 0; i < set->part.n_end; i++) {
                const StoredSeries *series = &series_of(set)[i];

                report->n_new += series->row != 0;
                report->n_rejected += series->is_rejected;
                report->n_repeated += series->row == 0 && !series->is_rejected;
        }
}

static int apply(RowSet *set, Database *database, void *state) {
        Field head[N_HEAD_FIELDS];
        Unpack from = unpack_head(set, head);
        ReportedJob job = { .producer = head[HEAD_PRODUCER] };
        JobOwner owner = {};
        int r;

        (void)state;
        if (set->part.n_done == 0)
                memset(report_of(set), 0, n_outcome_bytes(set->n_rows));
        set->part.is_limited &= head[HEAD_HAS_TIMES].integer != 0;
        r = job_rows_find_owner(database, head[HEAD_JOB], &owner);
        if (r != 0)
                return r;
        set->outcome = owner.row == 0 ? STORE_MISSING :
                       owner.uid != (uint32_t)head[HEAD_UID].integer && !head[HEAD_MAY_ACT].integer ? STORE_DENIED : STORE_DONE;
        if (set->outcome != STORE_DONE)
                return 0;

        job.row = owner.row;
        r = add_part(set, database, &job, &from);
        count_stored(set, &job);
        if (r != 0 || set->part.n_end < set->n_rows)
                return r;
        return add_events(database, &job, &from, (size_t)head[HEAD_EVENTS].integer, head[HEAD_DESCRIPTION]);
}

const RowKind pipeline_rows_kind = { &store_pipelines, .name = "pipeline report", .apply = apply, .has_parts = true, .may_wait = true };

/* --- after completion ----------------------------------------------------------------------------- */

const StoredReport *pipeline_rows_stored(const RowSet *set) {
        assert(set->kind == &pipeline_rows_kind);
        return (const StoredReport *)(const void *)(set + 1);
}

const StoredSeries *pipeline_rows_series(const RowSet *set) {
        return (const StoredSeries *)(const void *)(pipeline_rows_stored(set) + 1);
}

const char *pipeline_rows_job(const RowSet *set) {
        Field head[N_HEAD_FIELDS];

        assert(set->kind == &pipeline_rows_kind);
        (void)unpack_head(set, head);
        return head[HEAD_JOB].text;
}

PipelineWalk pipeline_rows_walk(const RowSet *set) {
        Field head[N_HEAD_FIELDS];

        assert(set->kind == &pipeline_rows_kind);
        return (PipelineWalk){ unpack_head(set, head), set->n_rows };
}

bool pipeline_rows_next(PipelineWalk *walk, PipelineInterval *ret) {
        PackedInterval packed;

        if (walk->n_left == 0)
                return false;
        walk->n_left--;
        pack_read_fields(&walk->from, packed.all, N_ELEMENTS(packed.all));
        *ret = unpack_interval(&packed);
        return true;
}
