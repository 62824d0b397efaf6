/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/compress.h"
#include "store/jobs/job_rows.h"
#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"
#include "util/array.h"

/* --- a row of the job table ---------------------------------------------------------------------- */

#define JOB_COLUMNS                                                                                     \
        "row, job.id, name, user, command, uid, gid, pid, pid_start_ticks, rank, node, n_nodes, "        \
        "n_ranks, labels, isolation, cgroup, state, begin_ms, end_ms, n_phases, "                        \
        "exit_status, signal, rusage, note"

/* Columns that are members of a JobInfo, from JOB_INFO on. All texts fit, because they were checked before they were stored. */
static const StoreColumn info_columns[] = {
        COLUMN(JobInfo, id),
        COLUMN(JobInfo, name),
        COLUMN(JobInfo, user),
        COLUMN(JobInfo, command),
        COLUMN(JobInfo, uid),
        COLUMN(JobInfo, gid),
        COLUMN(JobInfo, pid),
        COLUMN(JobInfo, pid_start_ticks),
        COLUMN(JobInfo, rank),
        COLUMN(JobInfo, node),
        COLUMN(JobInfo, n_nodes),
        COLUMN(JobInfo, n_ranks),
};

/* Columns that are members of a JobView, from JOB_BEGIN on. */
static const StoreColumn view_columns[] = {
        COLUMN(JobView, begin_realtime_ms),
        COLUMN(JobView, end_realtime_ms),
        COLUMN(JobView, n_phases),
};

/* Numbers of the other columns. */
enum {
        JOB_INFO = 1,
        JOB_LABELS = JOB_INFO + N_ELEMENTS(info_columns),
        JOB_ISOLATION,
        JOB_CGROUP,
        JOB_STATE,
        JOB_BEGIN,
        JOB_EXIT_STATUS = JOB_BEGIN + N_ELEMENTS(view_columns),
        JOB_SIGNAL,
        JOB_RUSAGE,
        JOB_NOTE,
        N_JOB_COLUMNS, /* further columns of a query follow */
};

static const char *text_at(const Prepared *row, int i) {
        return column_text(row, i) ?: "";
}

static void read_end(const Prepared *row, JobEnd *ret) {
        ret->has_exit_status = !column_is_null(row, JOB_EXIT_STATUS);
        ret->exit_status = (int32_t)column_i64(row, JOB_EXIT_STATUS);
        ret->signal = (int32_t)column_i64(row, JOB_SIGNAL);
        ret->has_rusage = record_parse(&job_rusage_record, text_at(row, JOB_RUSAGE), &ret->rusage) == 0;
}

/* Reads the description of the job. Malformed labels are left out. 0 or -ENOMEM. */
static int read_info(const Prepared *row, JobInfo *info) {
        int isolation = job_isolation_find(text_at(row, JOB_ISOLATION));
        bool has_cgroup = text_at(row, JOB_CGROUP)[0] != '\0';

        (void)statement_read(row, JOB_INFO, info_columns, N_ELEMENTS(info_columns), info);
        info->isolation = isolation < 0 ? ISOLATION_NONE : (Isolation)isolation;
        if ((has_cgroup && statement_column_copy(row, JOB_CGROUP, &info->cgroup) < 0) ||
            job_text_parse_labels(text_at(row, JOB_LABELS), info) < 0)
                return -ENOMEM;
        return 0;
}

static int read_card(const Prepared *row, JobDescription *ret) {
        scoped(job_info_deinit) JobInfo info = {};
        const char *note = text_at(row, JOB_NOTE);
        int r;

        r = read_info(row, &info);
        if (r == 0)
                r = job_description_make(&info, ret);
        return r == 0 && *note ? job_description_set_note(ret, note) : r;
}

/* Reads the current row as a JobView. *ret must own nothing; metrics and usage are left zero. 0 or -ENOMEM. */
static int read_view(const Prepared *row, JobView *ret) {
        /* An unknown state was written by a later version: the job counts as interrupted. */
        int state = job_state_find(text_at(row, JOB_STATE));

        *ret = (JobView){ .state = state < 0 ? JOB_INTERRUPTED : (JobState)state };
        (void)statement_read(row, JOB_BEGIN, view_columns, N_ELEMENTS(view_columns), ret);
        if (ret->state != JOB_RUNNING)
                read_end(row, &ret->end);
        if (read_card(row, &ret->info) < 0) {
                job_description_deinit(&ret->info);
                return -ENOMEM;
        }
        return 0;
}

/* --- state --------------------------------------------------------------------------------------- */

/* State of a reader for jobs. */
typedef struct JobReader {
        JobView job;    /* owned: of the last JobRow */
        Buffer timeline;
        struct {
                Buffer keys;
                Layout layout;
        } layouts[N_LAYOUT_KINDS]; /* the last of each, which many rows share */
} JobReader;

static void deinit(void *state) {
        JobReader *jobs = state;

        job_description_deinit(&jobs->job.info);
        buffer_deinit(&jobs->timeline);
        for (size_t i = 0; i < N_LAYOUT_KINDS; i++)
                buffer_deinit(&jobs->layouts[i].keys);
}

static const ReaderState job_reader_kind = { sizeof(JobReader), deinit };

/* --- layouts and metrics ------------------------------------------------------------------------- */

/* Four columns of a row of a job or phase, whose layouts are joined by LAYOUTS(). */
#define NUMBER_COLUMNS ", m.keys, metrics, u.keys, usage"
#define LAYOUTS(table) " LEFT JOIN layout AS m ON m.id = " table ".layout LEFT JOIN layout AS u ON u.id = " table ".usage_layout"
enum { NUMBER_LAYOUT, NUMBER_METRICS, NUMBER_USAGE_LAYOUT, NUMBER_USAGE, N_NUMBER_COLUMNS };

/* NULL: there is no valid layout. */
static const Layout *find_layout(JobReader *jobs, LayoutKind kind, const char *keys) {
        Buffer *last = &jobs->layouts[kind].keys;
        Layout *layout = &jobs->layouts[kind].layout;

        if (!keys)
                return NULL;
        if (last->text && strcmp(last->text, keys) == 0)
                return layout;

        buffer_deinit(last);
        if (job_text_parse_layout(kind, keys, layout) != 0)
                return NULL;
        buffer_puts(last, keys);
        return layout;
}

/* Reads the four columns from `column` on. Malformed metrics are absent: a damaged row does not hide the others. */
static void read_numbers(JobReader *jobs, const Prepared *row, int column, MetricSet *metrics, UsageSet *usage, bool *ret_has_metrics) {
        const Layout *layout = find_layout(jobs, LAYOUT_METRICS, column_text(row, column + NUMBER_LAYOUT));
        const char *text = column_text(row, column + NUMBER_METRICS);

        *metrics = (MetricSet){};
        *usage = (UsageSet){};
        *ret_has_metrics = text && layout && job_text_parse_metrics(text, layout, metrics) == 0;

        layout = find_layout(jobs, LAYOUT_USAGE, column_text(row, column + NUMBER_USAGE_LAYOUT));
        text = column_text(row, column + NUMBER_USAGE);
        if (text && layout)
                (void)job_text_parse_usage(text, layout, usage);
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
        { "SELECT " JOB_COLUMNS NUMBER_COLUMNS " FROM job INDEXED BY job_by_" index LAYOUTS("job")            \
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
        " (SELECT bytes FROM timeline WHERE part = 3 * row + 2) FROM job" LAYOUTS("job") " WHERE job.id = ?",
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
        r = read_view(at, &jobs->job);
        if (r < 0)
                return read_connection_fail(connection, SQLITE_NOMEM);

        read_numbers(jobs, at, JOB_NUMBERS, &jobs->job.metrics, &jobs->job.usage, &row.has_metrics);
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
        "SELECT number, name, begin_ms, end_ms, wall_seconds" NUMBER_COLUMNS " FROM phase INDEXED BY phase_by_job" LAYOUTS("phase")
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
        if (r != 0)
                return r;

        read_numbers(jobs, connection->current, PHASE_NUMBERS, &phase.metrics, &phase.usage, &unused);
        *ret = phase;
        return 0;
}

/* --- recovery: the node's row -------------------------------------------------------------------- */

#define ATTEMPTS 3

enum { NODE_METER, NODE_BOOT_ID, NODE_TIME, NODE_TOTALS, N_NODE_COLUMNS };

STATEMENT node_find = {
        "SELECT account, boot_id, ifnull(time_ms, 0), text FROM (SELECT 1) LEFT JOIN meter LEFT JOIN job_totals", N_NODE_COLUMNS,
};

static int read_node(ReadConnection *connection, JobRecovery *recovery) {
        const Prepared *row;
        int r;

        r = read_connection_begin(connection, &node_find, NULL, 0);
        if (r == 0)
                r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        recovery->meter_realtime_ms = column_u64(row, NODE_TIME);
        r = statement_column_copy(row, NODE_METER, &recovery->meter);
        if (r == 0)
                r = statement_column_copy(row, NODE_BOOT_ID, &recovery->boot_id);
        return r == 0 ? statement_column_copy(row, NODE_TOTALS, &recovery->totals) : r;
}

/* --- running jobs -------------------------------------------------------------------------------- */

enum { RUNNING_CHECKPOINT = N_JOB_COLUMNS, RUNNING_BOOT_ID, RUNNING_PROGRESS, RUNNING_BEGUN_BY, RUNNING_BY_ADMIN, N_RUNNING_COLUMNS };

STATEMENT running_jobs = {
        "SELECT " JOB_COLUMNS ", checkpoint_ms, boot_id, window, begun_by, by_admin FROM job INDEXED BY job_by_state"
        " LEFT JOIN running ON running.job = job.row WHERE state = 'running' ORDER BY begin_ms, row",
        N_RUNNING_COLUMNS,
};

static int read_running(const Prepared *row, JobInfo *ret, uint64_t *ret_begin_ms) {
        JobView view;
        int r;

        r = read_view(row, &view);
        if (r < 0)
                return r;

        r = job_description_info(&view.info, ret);
        *ret_begin_ms = view.begin_realtime_ms;
        job_description_deinit(&view.info);
        return r;
}

static int add_job(const Prepared *row, JobRecovery *recovery) {
        RecoveredJob *job;
        uint64_t begin_ms = 0;
        JobInfo info;
        int r;

        r = ARRAY_EXTEND(recovery->jobs, recovery->n_jobs);
        if (r == 0)
                r = read_running(row, &info, &begin_ms);
        if (r < 0)
                return r;

        job = &recovery->jobs[recovery->n_jobs++];
        *job = (RecoveredJob){
                .info = info,
                .begin_realtime_ms = begin_ms,
                .begun_by = (uint32_t)column_u64(row, RUNNING_BEGUN_BY),
                .is_by_admin = column_i64(row, RUNNING_BY_ADMIN),
                .checkpoint_realtime_ms = column_u64(row, RUNNING_CHECKPOINT),
        };
        r = statement_column_copy(row, RUNNING_BOOT_ID, &job->boot_id);
        return r < 0 ? r : statement_column_copy(row, RUNNING_PROGRESS, &job->progress);
}

static int read_running_jobs(ReadConnection *connection, JobRecovery *recovery) {
        const Prepared *row;
        int r;

        r = read_connection_begin(connection, &running_jobs, NULL, 0);
        while (r == 0 && (r = read_connection_step(connection, &row)) == 0)
                r = add_job(row, recovery);
        return r;
}

/* --- all of it ---------------------------------------------------------------------------------------- */

static int read_all(const char *path, WalBarrier *barrier, JobRecovery *recovery) {
        scoped(read_connection_deinit) ReadConnection connection;
        int r;

        r = read_connection_init(&connection, path, barrier, UINT64_MAX);
        if (r == 0)
                r = read_node(&connection, recovery);
        if (r == 0)
                r = read_running_jobs(&connection, recovery);
        return r == READER_END ? 0 : r > 0 ? -EIO : r;
}

static int read_once(const char *path, WalBarrier *barrier, JobRecovery **ret) {
        scoped(job_reader_free_recoveryp) JobRecovery *recovery = NULL;
        int r;

        recovery = calloc(1, sizeof(*recovery));
        if (!recovery)
                return -ENOMEM;

        r = path ? read_all(path, barrier, recovery) : 0;
        if (r < 0)
                return r;

        *ret = TAKE(recovery);
        return 0;
}

/* Damage that is found here makes the writer replace the file; the next attempt waits for the new file. */
int job_reader_recover(const char *path, WalBarrier *barrier, JobRecovery **ret) {
        int r = -EIO;

        for (int i = 0; r == -EIO && i < ATTEMPTS; i++)
                r = read_once(path, barrier, ret);
        return r;
}

JobRecovery *job_reader_free_recovery(JobRecovery *recovery) {
        if (!recovery)
                return NULL;

        for (size_t i = 0; i < recovery->n_jobs; i++) {
                job_info_deinit(&recovery->jobs[i].info);
                free(recovery->jobs[i].progress);
                free(recovery->jobs[i].boot_id);
        }
        free(recovery->totals);
        free(recovery->jobs);
        free(recovery->meter);
        free(recovery->boot_id);
        free(recovery);
        return NULL;
}
