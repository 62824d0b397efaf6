/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/compress.h"
#include "store/jobs/job_columns.h"
#include "store/jobs/job_rows.h"
#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"

/* --- state --------------------------------------------------------------------------------------- */

/* State of a reader for jobs. */
typedef struct JobReader {
        JobView job;    /* owned: of the last JobRow */
        Buffer timeline;
        unsigned n_connects; /* generation of the connection when the layouts were read: another database has other layouts */
        struct {
                int64_t id; /* 0: none yet */
                Layout layout;
        } layouts[N_LAYOUT_KINDS]; /* the last of each */
} JobReader;

static void deinit(void *state) {
        JobReader *jobs = state;

        job_description_deinit(&jobs->job.info);
        buffer_deinit(&jobs->timeline);
}

static const ReaderState job_reader_kind = { sizeof(JobReader), deinit };

/* --- layouts and metrics ------------------------------------------------------------------------- */

enum { LAYOUT_KEYS, N_LAYOUT_COLUMNS };

STATEMENT layout_find = { "SELECT keys FROM layout WHERE id = ?", N_LAYOUT_COLUMNS };

/* Reads inside the current query. *ret is NULL if there is no valid layout with that id. */
static int find_layout(JobReader *jobs, ReadConnection *connection, LayoutKind kind, int64_t id, const Layout **ret) {
        Layout *layout = &jobs->layouts[kind].layout;
        Prepared *find;
        const char *keys;
        int r;

        if (jobs->n_connects != connection->n_connects)
                for (size_t i = 0; i < N_LAYOUT_KINDS; i++)
                        jobs->layouts[i].id = 0;
        jobs->n_connects = connection->n_connects;

        *ret = layout;
        if (id == jobs->layouts[kind].id && id != 0)
                return 0;

        jobs->layouts[kind].id = 0;
        r = read_connection_prepare(connection, &layout_find, FIELDS(field_i64(id)), &find);
        if (r != 0)
                return r;

        r = read_connection_step_inside(connection, find);
        if (r == 0) {
                keys = column_text(find, LAYOUT_KEYS);
                jobs->layouts[kind].id = keys && job_text_parse_layout(kind, keys, layout) == 0 ? id : 0;
                sqlite3_reset(find->handle);
        } else if (r != READER_END)
                return r;

        if (jobs->layouts[kind].id == 0)
                *ret = NULL;
        return 0;
}

/* Reads the text in a column and the layout whose id is in the column before. *ret_layout is NULL if they cannot be read. */
static int read_text(JobReader *jobs, ReadConnection *connection, LayoutKind kind, int column, const char **ret,
                     const Layout **ret_layout) {
        const Prepared *row = connection->current;

        *ret_layout = NULL;
        *ret = column_text(row, column + 1);
        return *ret ? find_layout(jobs, connection, kind, column_i64(row, column), ret_layout) : 0;
}

/* Four columns of a row of a job or phase. */
#define NUMBER_COLUMNS ", layout, metrics, usage_layout, usage"
enum { NUMBER_LAYOUT, NUMBER_METRICS, NUMBER_USAGE_LAYOUT, NUMBER_USAGE, N_NUMBER_COLUMNS };

_Static_assert(NUMBER_METRICS == NUMBER_LAYOUT + 1 && NUMBER_USAGE == NUMBER_USAGE_LAYOUT + 1, "read_text() reads pairs");

/* Reads the four columns from `column` on. Malformed metrics are absent: a damaged row does not hide the others. */
static int read_numbers(JobReader *jobs, ReadConnection *connection, int column, MetricSet *metrics, UsageSet *usage,
                        bool *ret_has_metrics) {
        const Layout *layout;
        const char *text;
        int r;

        *metrics = (MetricSet){};
        *usage = (UsageSet){};
        r = read_text(jobs, connection, LAYOUT_METRICS, column + NUMBER_LAYOUT, &text, &layout);
        if (r != 0)
                return r;
        *ret_has_metrics = text && layout && job_text_parse_metrics(text, layout, metrics) == 0;

        r = read_text(jobs, connection, LAYOUT_USAGE, column + NUMBER_USAGE_LAYOUT, &text, &layout);
        if (r != 0)
                return r;
        if (text && layout)
                (void)job_text_parse_usage(text, layout, usage);
        return 0;
}

/* --- jobs ---------------------------------------------------------------------------------------- */

enum {
        BY_NAME = 1,
        BY_USER = 2,
        BY_STATE = 4,

        JOB_NUMBERS = N_JOB_COLUMNS,
        N_LIST_COLUMNS = JOB_NUMBERS + N_NUMBER_COLUMNS,
        JOB_TIMELINE = N_LIST_COLUMNS, /* the first part */
        N_FIND_COLUMNS = JOB_TIMELINE + N_TIMELINE_PARTS,
};

/* For reader_begin_page(). */
#define LIST(index, filters)                                                                                  \
        { "SELECT " JOB_COLUMNS NUMBER_COLUMNS " FROM job INDEXED BY job_by_" index                           \
          " WHERE begin_ms >= ? AND (begin_ms, row) < (?, ?)" filters " ORDER BY begin_ms DESC, row DESC",    \
          N_LIST_COLUMNS }
#define OF_NAME " AND name = ?"
#define OF_USER " AND user = ?"
#define OF_STATE " AND state = ?"

STATEMENT lists[] = {
        [0] = LIST("begin", ""),
        [BY_NAME] = LIST("name", OF_NAME),
        [BY_USER] = LIST("user", OF_USER),
        [BY_NAME | BY_USER] = LIST("name", OF_NAME OF_USER),
        [BY_STATE] = LIST("state", OF_STATE),
        [BY_NAME | BY_STATE] = LIST("name", OF_NAME OF_STATE),
        [BY_USER | BY_STATE] = LIST("user", OF_USER OF_STATE),
        [BY_NAME | BY_USER | BY_STATE] = LIST("name", OF_NAME OF_USER OF_STATE),
};

STATEMENT job_find = {
        "SELECT " JOB_COLUMNS NUMBER_COLUMNS ","
        " (SELECT bytes FROM timeline WHERE part = 3 * row),"
        " (SELECT bytes FROM timeline WHERE part = 3 * row + 1),"
        " (SELECT bytes FROM timeline WHERE part = 3 * row + 2) FROM job WHERE id = ?",
        N_FIND_COLUMNS,
};

int job_reader_list(Reader *reader, const JobFilter *filter) {
        const PageFilter page = {
                filter->since_ms, filter->until_ms, filter->before, { filter->name, filter->user, filter->state },
        };

        return reader_begin_page(reader, lists, &page);
}

/* Usage of a job that was closed when its checkpoint could not be read any more. */
static void note_missing_usage(JobView *job) {
        Quality why = job->info.isolation == ISOLATION_NONE ? QUALITY_NO_GROUP : QUALITY_LOST;

        memset(job->usage.quality, (int)why, sizeof(job->usage.quality));
}

/* Reads the current row. */
static int read_job(JobReader *jobs, ReadConnection *connection, JobRow *ret) {
        const Prepared *at = connection->current;
        JobRow row = { .row = column_i64(at, 0) };
        int r;

        job_description_deinit(&jobs->job.info);
        jobs->job = (JobView){};
        r = job_columns_read(at, &jobs->job);
        if (r < 0)
                return read_connection_fail(connection, SQLITE_NOMEM);

        r = read_numbers(jobs, connection, JOB_NUMBERS, &jobs->job.metrics, &jobs->job.usage, &row.has_metrics);
        if (r != 0)
                return r;
        if (column_is_null(at, JOB_NUMBERS + NUMBER_USAGE))
                note_missing_usage(&jobs->job);

        row.view = jobs->job;
        *ret = row;
        return 0;
}

static int next_job(Reader *reader, JobReader **ret_jobs, JobRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        JobReader *jobs = reader_state(reader, &job_reader_kind);
        const Prepared *row;
        int r;

        if (!jobs)
                return read_connection_fail(connection, SQLITE_NOMEM);

        r = read_connection_step(connection, &row);
        if (r == 0)
                r = read_job(jobs, connection, ret);
        *ret_jobs = jobs;
        return r;
}

int job_reader_next(Reader *reader, JobRow *ret) {
        JobReader *jobs;

        return next_job(reader, &jobs, ret);
}

/* Joins the parts of the current row. *ret stays empty without parts. */
static int read_timeline(const Prepared *row, Buffer *ret) {
        scoped(buffer_deinit) Buffer bytes = {};
        int r;

        for (int i = JOB_TIMELINE; i < JOB_TIMELINE + N_TIMELINE_PARTS; i++) {
                Blob part = column_blob(row, i);

                buffer_put(&bytes, part.bytes, part.n);
        }

        r = buffer_error(&bytes);
        return r < 0 || bytes.n == 0 ? r : compress_restore(bytes.text, bytes.n, ret);
}

int job_reader_find(Reader *reader, const char *id, JobRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        JobReader *jobs;
        int r;

        r = read_connection_begin(connection, &job_find, FIELDS(field_string(id)));
        if (r == 0)
                r = next_job(reader, &jobs, ret);
        if (r != 0)
                return r;

        /* Copied, so that the query can end here, and with it its hold on the write-ahead log. */
        buffer_clear(&jobs->timeline);
        r = read_timeline(connection->current, &jobs->timeline);
        if (r != 0)
                return read_connection_fail(connection, r < 0 ? SQLITE_NOMEM : SQLITE_CORRUPT);
        if (jobs->timeline.n > 0)
                ret->timeline = (Blob){ jobs->timeline.text, jobs->timeline.n };
        reader_reset(reader);
        return 0;
}

/* --- phases -------------------------------------------------------------------------------------- */

static const StoreColumn phase_columns[] = {
        COLUMN(PhaseView, index),
        COLUMN_REQUIRED(PhaseView, name),
        COLUMN(PhaseView, begin_realtime_ms),
        COLUMN(PhaseView, end_realtime_ms),
        COLUMN_OPTIONAL(PhaseView, wall_seconds, has_wall_seconds),
};

enum { PHASE_NUMBERS = N_ELEMENTS(phase_columns), N_PHASE_COLUMNS = PHASE_NUMBERS + N_NUMBER_COLUMNS };

STATEMENT phases = {
        "SELECT number, name, begin_ms, end_ms, wall_seconds" NUMBER_COLUMNS " FROM phase INDEXED BY phase_by_job"
        " WHERE job = (SELECT row FROM job WHERE id = ?) ORDER BY number",
        N_PHASE_COLUMNS,
};

int job_reader_list_phases(Reader *reader, const char *job) {
        return read_connection_begin(reader_connection(reader), &phases, FIELDS(field_string(job)));
}

int job_reader_next_phase(Reader *reader, PhaseView *ret) {
        ReadConnection *connection = reader_connection(reader);
        JobReader *jobs = reader_state(reader, &job_reader_kind);
        PhaseView phase;
        bool unused;
        int r;

        if (!jobs)
                return read_connection_fail(connection, SQLITE_NOMEM);

        r = read_connection_next(connection, phase_columns, N_ELEMENTS(phase_columns), &phase, sizeof(phase));
        if (r == 0)
                r = read_numbers(jobs, connection, PHASE_NUMBERS, &phase.metrics, &phase.usage, &unused);
        if (r == 0)
                *ret = phase;
        return r;
}
