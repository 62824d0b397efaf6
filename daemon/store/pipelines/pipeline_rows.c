/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pipelines/pipeline_rows.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "store/database/database.h"
#include "store/jobs/job_rows.h"
#include "store/retention/retention.h"

/* --- merging ------------------------------------------------------------------------------------- */

/*
 * An interval of level 0 is as it was received; merging the intervals of a series within some time makes one of the
 * next level. The time is that of the oldest intervals of the lowest level that has enough of them, two of each
 * series if all report at the same times. So the intervals of a long run are of about the same length, and the
 * newest as received.
 */

/* An interval of the last level is 2^30 intervals. */
#define LEVELS_MAX 30
/* In a job with more intervals, a level has two of one series, which can be merged. */
#define SERIES_ROWS_MIN_TEXT "32"
_Static_assert(PIPELINE_SERIES_ROWS_MIN == 32 && PIPELINE_SERIES_ROWS_MIN == LEVELS_MAX + 2,
               "the first interval of a series has a level of its own");
/* Intervals that are merged at once, for each series. */
#define BATCH_SERIES_ROWS 2

enum { OLDEST_N, OLDEST_END, N_OLDEST_COLUMNS };
STATEMENT oldest_find = SQL(
        "SELECT count(*), max(end_ms) FROM"
        " (SELECT end_ms FROM pipeline_interval WHERE job = ?1 AND level = ?2 ORDER BY end_ms LIMIT ?3)",
        N_OLDEST_COLUMNS);
STATEMENT merged_insert = SQL(
        "INSERT INTO pipeline_interval SELECT job, level + 1, max(end_ms), series, sum(elapsed_s), sum(n),"
        " sum(n_failures), sum(time_s),"
        " sum(get_s), sum(ready_s), sum(judged_s), max(p90_s), max(p99_s), max(get_p90_s), max(get_p99_s)"
        " FROM pipeline_interval WHERE job = ?1 AND level = ?2 AND end_ms <= ?3 GROUP BY series", 0);
STATEMENT oldest_remove = SQL("DELETE FROM pipeline_interval WHERE job = ?1 AND level = ?2 AND end_ms <= ?3", 0);

typedef struct OldestRows {
        int level;
        int64_t n, end_ms;
} OldestRows;

/* Finds the lowest level with n rows, else the level with most. */
static int choose(Database *database, int64_t job, int64_t n, OldestRows *ret) {
        int r = 0;

        *ret = (OldestRows){};
        for (int level = 0; r == 0 && ret->n < n && level < LEVELS_MAX; level++) {
                int64_t oldest[N_OLDEST_COLUMNS] = {};

                r = database_get_row(database, &oldest_find, FIELDS(field_i64(job), field_i64(level), field_i64(n)),
                                     oldest, N_OLDEST_COLUMNS);
                if (r == 0 && oldest[OLDEST_N] > ret->n)
                        *ret = (OldestRows){ level, oldest[OLDEST_N], oldest[OLDEST_END] };
        }
        return r;
}

int pipeline_rows_merge(Database *database, int64_t job, int64_t n_series, int64_t *n_rows, int64_t *merged_ms) {
        Field fields[3];
        OldestRows oldest;
        int r;

        assert(job > 0 && n_series > 0 && *n_rows > 0);
        r = choose(database, job, n_series * BATCH_SERIES_ROWS, &oldest);
        if (r != 0 || oldest.n < 2)
                return r;

        fields[0] = field_i64(job);
        fields[1] = field_i64(oldest.level);
        fields[2] = field_i64(oldest.end_ms);
        r = database_run(database, &merged_insert, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        *n_rows += database_changes(database);
        r = database_run(database, &oldest_remove, fields, N_ELEMENTS(fields));
        if (r != 0)
                return r;
        *n_rows -= database_changes(database);
        if (*merged_ms < oldest.end_ms)
                *merged_ms = oldest.end_ms;
        return 0;
}

/* --- retention ------------------------------------------------------------------------------------ */

enum { LARGEST_JOB, LARGEST_SERIES, LARGEST_ROWS, LARGEST_MERGED, LARGEST_WANTED, N_LARGEST_COLUMNS };
#define LARGEST(of) \
        "SELECT p.job, p.n_series, p.n_rows, p.merged_ms, ?1 FROM pipeline AS p JOIN job AS j ON j.row = p.job" \
        " WHERE p.n_rows > " SERIES_ROWS_MIN_TEXT " * p.n_series" of " ORDER BY p.n_rows / p.n_series DESC LIMIT 1"

STATEMENT merge_any = SQL(LARGEST(""), N_LARGEST_COLUMNS);
STATEMENT merge_of_user = SQL(LARGEST(" AND j.uid = ?2"), N_LARGEST_COLUMNS);

STATEMENT pipeline_shrink = SQL("UPDATE pipeline SET n_rows = ?2, merged_ms = ?3 WHERE job = ?1", 0);

static int merge_job(Database *database, const int64_t job[static N_LARGEST_COLUMNS], int64_t *ret_n) {
        int64_t n_rows = job[LARGEST_ROWS], merged_ms = job[LARGEST_MERGED], n_before;
        int r;

        do {
                n_before = n_rows;
                r = pipeline_rows_merge(database, job[LARGEST_JOB], job[LARGEST_SERIES], &n_rows, &merged_ms);
        } while (r == 0 && n_rows < n_before && job[LARGEST_ROWS] - n_rows < job[LARGEST_WANTED] &&
                 n_rows > PIPELINE_SERIES_ROWS_MIN * job[LARGEST_SERIES]);
        if (r == 0)
                r = database_run(database, &pipeline_shrink,
                                 FIELDS(field_i64(job[LARGEST_JOB]), field_i64(n_rows), field_i64(merged_ms)));
        *ret_n = job[LARGEST_ROWS] - n_rows;
        return r;
}

/*
 * Merges intervals of the job with most intervals of a series, of all users or of user ?2, until ?1 rows are fewer,
 * and counts them. The totals of a series stay.
 */
static int run_merge(Database *database, Prepared *job, int64_t *ret_n) {
        int64_t columns[N_LARGEST_COLUMNS];
        int r;

        r = database_step(database, job);
        if (r != DATABASE_ROW)
                return r;
        for (int i = 0; i < N_LARGEST_COLUMNS; i++)
                columns[i] = column_i64(job, i);
        r = database_finish(database, job);
        return r == 0 ? merge_job(database, columns, ret_n) : r;
}

/* --- packed form ---------------------------------------------------------------------------------- */

/* A row set has the outcome, which the writer fills in: a StoredReport, and a StoredSeries for each interval; then
 * the fields. */
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
                                   field_double(sums->judged_s), field_double(percentiles->p90_s),
                                   field_double(percentiles->p99_s), field_double(percentiles->get_p90_s),
                                   field_double(percentiles->get_p99_s)));
}

static PipelineInterval unpack_interval(const PackedInterval *from) {
        return (PipelineInterval){
                .stage = from->stage.text,
                .part = (PipelinePart)from->part.integer,
                .end_ms = (uint64_t)from->end_ms.integer,
                .buffer_size = (uint32_t)from->buffer_size.integer,
                .sums = { from->sums[0].real, from->sums[1].real, from->sums[2].real, from->sums[3].real,
                          from->sums[4].real, from->sums[5].real, from->sums[6].real },
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

RowSet *pipeline_rows_pack(const PipelineReport *report, const char *job, uint32_t uid, bool may_act,
                           uint64_t arrived_ms, StoreCookie cookie) {
        scoped(buffer_deinit) Buffer buffer = {};

        assert(report->n_intervals <= PIPELINE_REPORT_INTERVALS_MAX);
        rowset_begin(&buffer, NULL, 0);
        for (size_t i = 0; i < n_outcome_bytes(report->n_intervals); i++)
                buffer_putc(&buffer, 0);
        pack_fields(
                &buffer,
                FIELDS(field_string(job), field_i64(uid), field_i64(may_act), field_string(report->producer),
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

#define SERIES_COLUMNS                                                                                                 \
        "job, stage, part, producer, end_ms, n_intervals, n_last, buffer_size, elapsed_s, n, n_failures, time_s, "     \
        "get_s, ready_s, judged_s"
#define SERIES_ADD                                                                                                     \
        "n_intervals = n_intervals + 1, producer = excluded.producer,"                                                 \
        " buffer_size = iif(excluded.buffer_size > 0, excluded.buffer_size, buffer_size),"                             \
        " elapsed_s = elapsed_s + excluded.elapsed_s, n = n + excluded.n, n_failures = n_failures + "                  \
        "excluded.n_failures,"                                                                                         \
        " time_s = time_s + excluded.time_s, get_s = get_s + excluded.get_s, ready_s = ready_s + excluded.ready_s,"    \
        " judged_s = judged_s + excluded.judged_s"
#define SERIES_INSERT                                                                                                  \
        "INSERT INTO pipeline_series (" SERIES_COLUMNS ")"                                                             \
        " VALUES (?1, ?2, ?3, ?4, ?5, 1, ?8, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (job, stage, part) DO "   \
        "UPDATE SET "
enum {
        SERIES_ROW, SERIES_INTERVALS, SERIES_END, SERIES_LAST, SERIES_SUMS, N_SERIES_COLUMNS = SERIES_SUMS + 7,
};

/* Adds an interval that is newer than all of its series; no row changes for any other. */
STATEMENT series_append = SQL(SERIES_INSERT "end_ms = excluded.end_ms, n_last = excluded.n, " SERIES_ADD
                                            " WHERE excluded.end_ms > end_ms", 0);
/* Adds an interval whose time is before that of another, because the clock was set back, or because two processes
 * have the stage. */
STATEMENT series_add = SQL(SERIES_INSERT SERIES_ADD, 0);
STATEMENT series_get = SQL(
        "SELECT row, n_intervals, end_ms, n_last, elapsed_s, n, n_failures, time_s, get_s, ready_s, judged_s"
        " FROM pipeline_series WHERE job = ?1 AND stage = ?2 AND part = ?3", N_SERIES_COLUMNS);
/* The row of a series, unless the time is that of a stored interval. */
STATEMENT series_find_late = SQL(
        "SELECT row FROM pipeline_series AS s WHERE job = ?1 AND stage = ?2 AND part = ?3 AND NOT EXISTS"
        " (SELECT 1 FROM pipeline_interval WHERE job = ?1 AND level IN (-1, 0) AND end_ms = ?4 AND series = s.row)", 1);
STATEMENT stage_exists = SQL("SELECT 1 FROM pipeline_series WHERE job = ?1 AND stage = ?2 LIMIT 1", 1);
STATEMENT stages_count = SQL("SELECT count(DISTINCT stage) FROM pipeline_series WHERE job = ?1", 1);

/* The first interval of a series, in which the queues fill, has the level -1 and is never merged. */
STATEMENT interval_insert = SQL(
        "INSERT INTO pipeline_interval (job, level, end_ms, series, elapsed_s, n, n_failures, time_s, get_s, ready_s,"
        " judged_s,"
        " p90_s, p99_s, get_p90_s, get_p99_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
        " ?15)",
        0);

typedef struct ReportedJob {
        int64_t row;
        Field producer;
        int64_t n_series, n_rows, merged_ms; /* as stored before the report, and with its rows */
        int64_t n_stages; /* 0: not counted, as there are fewer series than a job may have stages */
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

/* Runs one of the two statements that add to a series. *ret_n_intervals: 0 if no row changed. */
static int add_to_series(Database *database, const Statement *statement, const ReportedJob *job,
                         const PackedInterval *from, StoredSeries *ret, int64_t *ret_n_intervals) {
        Prepared *row;
        int r;

        *ret_n_intervals = 0;
        r = database_run(database, statement,
                         FIELDS(field_i64(job->row), from->stage, from->part, job->producer, from->end_ms,
                                from->buffer_size, from->sums[0], from->sums[1], from->sums[2], from->sums[3],
                                from->sums[4], from->sums[5], from->sums[6]));
        if (r != 0 || database_changes(database) == 0)
                return r;

        row = database_prepare(database, &series_get, FIELDS(field_i64(job->row), from->stage, from->part));
        r = database_step(database, row);
        if (r != DATABASE_ROW)
                return r;

        read_series(row, ret);
        *ret_n_intervals = column_i64(row, SERIES_INTERVALS);
        return database_finish(database, row);
}

/* Returns true if the job may have the stage: the job has the stage already, or is below its limit. */
static int check_limit(Database *database, ReportedJob *job, const PackedInterval *from, bool *ret_is_allowed) {
        int64_t exists = 0;
        int r = 0;

        *ret_is_allowed = true;
        if (job->n_series < PIPELINE_JOB_STAGES_MAX)
                return 0;
        if (job->n_stages == 0)
                r = database_get(database, &stages_count, FIELDS(field_i64(job->row)), &job->n_stages);
        if (r == 0)
                r = database_get(database, &stage_exists, FIELDS(field_i64(job->row), from->stage), &exists);
        *ret_is_allowed = exists != 0 || job->n_stages < PIPELINE_JOB_STAGES_MAX;
        job->n_stages += *ret_is_allowed && exists == 0;
        return r;
}

/* Adds an interval that is older than another of its series, unless it is stored. */
static int add_late(Database *database, const ReportedJob *job, const PackedInterval *from, StoredSeries *ret,
                    int64_t *ret_n_intervals) {
        int64_t row = 0;
        int r;

        if (from->end_ms.integer <= job->merged_ms)
                return 0;
        r = database_get(database, &series_find_late,
                         FIELDS(field_i64(job->row), from->stage, from->part, from->end_ms), &row);
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
                            FIELDS(field_i64(job->row), field_i64(n_intervals == 1 ? -1 : 0), from->end_ms,
                                   field_i64(ret->row), from->sums[0], from->sums[1], from->sums[2], from->sums[3],
                                   from->sums[4], from->sums[5], from->sums[6], from->percentiles[0],
                                   from->percentiles[1], from->percentiles[2], from->percentiles[3]));
}

/* --- job ------------------------------------------------------------------------------------------ */

enum { JOB_SERIES, JOB_ROWS, JOB_MERGED, N_JOB_COLUMNS };
STATEMENT pipeline_find = SQL("SELECT n_series, n_rows, merged_ms FROM pipeline WHERE job = ?1 AND n_series > 0",
                              N_JOB_COLUMNS);
/* The numbers of a job whose row in `pipeline` was lost with a damaged page, or is salvaged after the rows that it
 * counts. */
STATEMENT pipeline_count = SQL(
        "SELECT (SELECT count(*) FROM pipeline_series WHERE job = ?1), count(*), ifnull(max(end_ms) FILTER (WHERE"
        " level > 0), 0)"
        " FROM pipeline_interval WHERE job = ?1", N_JOB_COLUMNS);

static int read_numbers(Database *database, const Statement *statement, ReportedJob *job) {
        int64_t numbers[N_JOB_COLUMNS] = {};
        int r;

        r = database_get_row(database, statement, FIELDS(field_i64(job->row)), numbers, N_JOB_COLUMNS);
        job->n_series = numbers[JOB_SERIES];
        job->n_rows = numbers[JOB_ROWS];
        job->merged_ms = numbers[JOB_MERGED];
        return r;
}

static int find_pipeline(Database *database, ReportedJob *job) {
        int r = read_numbers(database, &pipeline_find, job);

        return r == 0 && job->n_series == 0 ? read_numbers(database, &pipeline_count, job) : r;
}

STATEMENT pipeline_put = SQL(
        "INSERT INTO pipeline (job, n_series, n_rows, merged_ms, n_events, event_s) VALUES (?1, ?2, ?3, ?4, 0, 0)"
        " ON CONFLICT (job) DO UPDATE SET n_series = excluded.n_series, n_rows = excluded.n_rows, merged_ms ="
        " excluded.merged_ms",
        0);

/* Merges intervals beyond the limit of the job, and stores its numbers of rows. */
static int end_intervals(Database *database, ReportedJob *job) {
        int64_t n_max = job->n_series * PIPELINE_SERIES_ROWS_MAX, n_before;
        int r = 0;

        n_max = n_max < PIPELINE_JOB_ROWS_MAX ? n_max : PIPELINE_JOB_ROWS_MAX;
        do {
                n_before = job->n_rows;
                if (n_before > n_max)
                        r = pipeline_rows_merge(database, job->row, job->n_series, &job->n_rows, &job->merged_ms);
        } while (r == 0 && job->n_rows < n_before);
        return r != 0 ? r
                      : database_run(database, &pipeline_put,
                                     FIELDS(field_i64(job->row), field_i64(job->n_series), field_i64(job->n_rows),
                                            field_i64(job->merged_ms)));
}

/* --- events and description ----------------------------------------------------------------------- */

STATEMENT pipeline_note = SQL(
        "UPDATE pipeline SET n_events = n_events + ?2, event_s = event_s + ?3, description = coalesce(?4,"
        " description) WHERE job = ?1",
        0);
STATEMENT event_insert = SQL(
        "INSERT INTO pipeline_event (job, time_ms, name, seconds) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING", 0);
STATEMENT first_batch_count = SQL(
        "SELECT count(*) FROM pipeline_event WHERE job = ?1 AND name = '" PIPELINE_EVENT_FIRST_BATCH "'", 1);
STATEMENT event_bound = SQL("SELECT time_ms FROM pipeline_event WHERE job = ?1 ORDER BY time_ms DESC LIMIT 1 OFFSET ?2",
                            1);
STATEMENT event_remove = SQL(
        "DELETE FROM pipeline_event WHERE job = ?1 AND time_ms < ?2 AND name <> '" PIPELINE_EVENT_FIRST_BATCH "'", 0);

_Static_assert(PIPELINE_JOB_EVENTS_MAX == 4096, "NOTED_SIZE() has this number");

static bool is_text(Field field, const char *text) {
        return field.n == (int)strlen(text) && memcmp(field.text, text, strlen(text)) == 0;
}

/*
 * A first batch stays as long as the job, and has no part in the totals. *n: those that are stored, or -1; counting
 * them takes a search of all events of the job, once in a report.
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
                r = database_run(
                        database, &event_insert,
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

        r = database_get(database, &event_bound, FIELDS(field_i64(job->row), field_i64(PIPELINE_JOB_EVENTS_MAX - 1)),
                         &bound_ms);
        return r == 0 && bound_ms > 0
                       ? database_run(database, &event_remove, FIELDS(field_i64(job->row), field_i64(bound_ms)))
                       : r;
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
        set->outcome = owner.row == 0                                                                 ? STORE_MISSING
                       : owner.uid != (uint32_t)head[HEAD_UID].integer && !head[HEAD_MAY_ACT].integer ? STORE_DENIED
                                                                                                      : STORE_DONE;
        if (set->outcome != STORE_DONE)
                return 0;

        job.row = owner.row;
        r = add_part(set, database, &job, &from);
        count_stored(set, &job);
        if (r != 0 || set->part.n_end < set->n_rows)
                return r;
        return add_events(database, &job, &from, (size_t)head[HEAD_EVENTS].integer, head[HEAD_DESCRIPTION]);
}

const RowKind pipeline_rows_kind = { &store_pipelines, .apply = apply, .has_parts = true, .may_wait = true };

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

/* --- removal -------------------------------------------------------------------------------------- */

/*
 * A job may have half a million intervals. ?1 of retention counts rows of the size of a result, with its indexes; an
 * interval has no index.
 */
STATEMENT intervals_remove = SQL(
        "DELETE FROM pipeline_interval WHERE (job, level, end_ms, series) IN"
        " (SELECT job, level, end_ms, series FROM pipeline_interval WHERE job = ?1 LIMIT ?2)", 0);
STATEMENT series_remove = SQL(
        "DELETE FROM pipeline_series WHERE row IN"
        " (SELECT row FROM pipeline_series INDEXED BY pipeline_series_by_job WHERE job = ?1 LIMIT ?2)", 0);
STATEMENT events_remove = SQL(
        "DELETE FROM pipeline_event WHERE (job, time_ms, name) IN"
        " (SELECT job, time_ms, name FROM pipeline_event WHERE job = ?1 LIMIT ?2)", 0);
static const Statement *const pipeline_removals[] = { &intervals_remove, &series_remove, &events_remove, NULL };
DEFINE_LEFTOVER(pipeline_leftover, 1, pipeline_removals, "1024", "4 * ?1");

/* SQL of the trigger that runs when the job old.row is removed. */
#define ROWS_REMOVE                                                                                      \
        " INSERT INTO pipeline_leftover SELECT old.row WHERE EXISTS (SELECT 1 FROM pipeline WHERE job = old.row)" \
        " OR EXISTS (SELECT 1 FROM pipeline_series WHERE job = old.row);"

/* --- salvage -------------------------------------------------------------------------------------- */

#define HAS_JOB "EXISTS (SELECT 1 FROM job WHERE row = old.job)"

/*
 * Counts the series and intervals that are stored when it runs. The row of a running job is stored before reports of
 * the job, and counted again after its intervals, as a row that a report has made in the meantime.
 */
#define COUNT_SERIES(job) "(SELECT count(*) FROM pipeline_series WHERE job = " job ")"
#define COUNT_INTERVALS(job) "(SELECT count(*) FROM pipeline_interval WHERE job = " job ")"
STATEMENT pipeline_recount = SQL("UPDATE pipeline SET n_series = " COUNT_SERIES("?1") ", n_rows = " COUNT_INTERVALS(
                                         "?1") ", merged_ms = max(merged_ms, ?4),"
                                               " n_events = max(n_events, ?5), event_s = max(event_s, ?6), description "
                                               "= coalesce(description, ?7) WHERE job"
                                               " = ?1",
                                 0);

/* --- tables --------------------------------------------------------------------------------------- */

/* The columns from `elapsed_s` on are the members of PipelineSums. All rows of a job are removed after it. */
static const StoreTable series_table = {
        .name = "pipeline_series",
        .schema =
                "CREATE TABLE pipeline_series ("
                " row INTEGER PRIMARY KEY, job INTEGER NOT NULL, stage TEXT NOT NULL, part INTEGER NOT NULL, producer"
                " TEXT NOT NULL,"
                " end_ms INTEGER NOT NULL, n_intervals INTEGER NOT NULL, n_last REAL NOT NULL, buffer_size INTEGER"
                " NOT NULL,"
                " elapsed_s REAL NOT NULL, n REAL NOT NULL, n_failures REAL NOT NULL,"
                " time_s REAL NOT NULL, get_s REAL NOT NULL, ready_s REAL NOT NULL, judged_s REAL NOT NULL);"
                "CREATE UNIQUE INDEX pipeline_series_by_job ON pipeline_series (job, stage, part);",
        .checks = {
                "SELECT count(*) FROM (SELECT * FROM pipeline_series ORDER BY row DESC LIMIT 1)",
                "SELECT max(job) FROM pipeline_series INDEXED BY pipeline_series_by_job",
        },
        .salvage = &(const TableSalvage){ .needed = "1", .condition = HAS_JOB },
        .erasure = &table_erasure_follows,
};

/*
 * By time before the series: the intervals of a report are neighbours, and change few pages. When space is needed
 * and no ended job and no result is left to be removed, the intervals of running jobs are merged.
 */
static const StoreTable interval_table = {
        .name = "pipeline_interval",
        .schema =
                "CREATE TABLE pipeline_interval ("
                " job INTEGER NOT NULL, level INTEGER NOT NULL, end_ms INTEGER NOT NULL, series INTEGER NOT NULL,"
                " elapsed_s REAL NOT NULL, n REAL NOT NULL, n_failures REAL NOT NULL, time_s REAL NOT NULL, get_s"
                " REAL NOT NULL,"
                " ready_s REAL NOT NULL, judged_s REAL NOT NULL,"
                " p90_s REAL NOT NULL, p99_s REAL NOT NULL, get_p90_s REAL NOT NULL, get_p99_s REAL NOT NULL,"
                " PRIMARY KEY (job, level, end_ms, series)) WITHOUT ROWID;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM pipeline_interval LIMIT 1)" },
        .retention = &(const TableRetention){
                .order = 7,
                .remove = &merge_any,
                .remove_of_user = &merge_of_user,
                .run = run_merge,
        },
        .salvage = &(const TableSalvage){
                .condition = "EXISTS (SELECT 1 FROM pipeline_series WHERE row = old.series AND job = old.job)",
        },
        .erasure = &table_erasure_follows,
};

static const StoreTable event_table = {
        .name = "pipeline_event",
        .schema =
                "CREATE TABLE pipeline_event ("
                " job INTEGER NOT NULL, time_ms INTEGER NOT NULL, name TEXT NOT NULL, seconds REAL NOT NULL,"
                " PRIMARY KEY (job, time_ms, name)) WITHOUT ROWID;",
        .checks = { "SELECT count(*) FROM (SELECT * FROM pipeline_event LIMIT 1)" },
        .salvage = &(const TableSalvage){ .condition = HAS_JOB },
        .erasure = &table_erasure_follows,
};

/* Average size in the table `holder` of the series with their texts and of the intervals, and that of the events
 * that may be stored of a job, and of the description. */
#define NOTED_SIZE(row) "100 * min(" row ".n_events, 4096) + ifnull(length(CAST(" row ".description AS BLOB)), 0)"
#define SIZE_OF(row) "(400 * " row ".n_series + 100 * " row ".n_rows + " NOTED_SIZE(row) ")"
#define SIZE_OF_JOB(job) "ifnull((SELECT " SIZE_OF("p") " FROM pipeline AS p WHERE p.job = " job "), 0)"
#define CHARGE(size, job)                                                                                              \
        " UPDATE holder SET n_bytes = n_bytes + " size " WHERE uid = (SELECT uid FROM job WHERE row = " job ");"

/* Numbers of rows and totals of the events of a job, and the description of its pipelines. merged_ms: end of the
 * newest merged interval. */
static const StoreTable pipeline_table = {
        .name = "pipeline",
        .schema =
                "CREATE TABLE pipeline ("
                " job INTEGER PRIMARY KEY, n_series INTEGER NOT NULL, n_rows INTEGER NOT NULL, merged_ms INTEGER NOT"
                " NULL,"
                " n_events INTEGER NOT NULL, event_s REAL NOT NULL, description TEXT);"
                "CREATE TRIGGER pipeline_added AFTER INSERT ON pipeline BEGIN" CHARGE(SIZE_OF("new"), "new.job") " END;"
                "CREATE TRIGGER pipeline_changed AFTER UPDATE OF n_series, n_rows, n_events, description ON pipeline"
                " BEGIN"
                CHARGE(SIZE_OF("new") " - " SIZE_OF("old"), "new.job") " END;"
                "CREATE TRIGGER pipeline_job_changed AFTER UPDATE OF uid ON job WHEN new.uid <> old.uid BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF_JOB("old.row") " WHERE uid = old.uid;"
                " INSERT INTO holder (uid, n_bytes) VALUES (new.uid, " SIZE_OF_JOB("new.row") ")"
                " ON CONFLICT (uid) DO UPDATE SET n_bytes = n_bytes + excluded.n_bytes; END;"
                "CREATE TRIGGER pipeline_job_removed AFTER DELETE ON job BEGIN"
                " UPDATE holder SET n_bytes = n_bytes - " SIZE_OF_JOB("old.row") " WHERE uid = old.uid;"
                ROWS_REMOVE " DELETE FROM pipeline WHERE job = old.row; END;",
        .checks = { "SELECT max(job) FROM pipeline" },
        .salvage = &(const TableSalvage){
                .needed = "1",
                .condition = HAS_JOB,
                .values = (const SalvagedValue[]){ { "n_series", COUNT_SERIES("old.job") },
                                                   { "n_rows", COUNT_INTERVALS("old.job") },
                                                   {} },
                .before = &pipeline_recount,
        },
        .erasure = &table_erasure_follows,
};

const StoreSubject store_pipelines = {
        .tables = STORE_TABLES(&series_table, &interval_table, &event_table, &pipeline_table, &pipeline_leftover_table),
};
