/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/compress.h"
#include "store/jobs/job_rows.h"
#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"
#include "util/array.h"

/* --- a row of the job table ---------------------------------------------------------------------- */

/* Texts and blobs are borrowed until the next step. */
typedef struct JobColumns {
        int64_t row;
        JobInfo info; /* without the members that are the next four texts */
        const char *labels, *isolation, *cgroup, *state;
        uint64_t begin_ms, end_ms;
        uint32_t n_phases;
        bool has_exit_status;
        int64_t exit_status, signal;
        const char *rusage, *note, *steps;
        JobNumberTexts numbers; /* not of a running job */
        int64_t has_pipeline;   /* only of a job that was found by its row */
        Blob gpus, timeline[N_TIMELINE_PARTS]; /* only of a job that was found by its id */
        struct {
                uint64_t checkpoint_ms, begun_by, by_admin;
                const char *boot_id, *window;
        } running; /* only of a running job */
} JobColumns;

/* All texts fit, because they were checked before they were stored. */
#define INFO(member) COLUMN(JobColumns, info.member, #member)
#define MEMBER(member) COLUMN(JobColumns, member, #member)
#define JOB_COLUMNS                                                                                                    \
        MEMBER(row), COLUMN(JobColumns, info.id, "job.id"), INFO(name), INFO(user), INFO(command), INFO(uid),          \
                INFO(gid), INFO(pid), INFO(pid_start_ticks), INFO(rank), INFO(node), INFO(n_nodes), INFO(n_ranks),     \
                MEMBER(labels), MEMBER(isolation), MEMBER(cgroup), MEMBER(state), MEMBER(begin_ms), MEMBER(end_ms),    \
                MEMBER(n_phases), COLUMN_OPTIONAL(JobColumns, exit_status, has_exit_status, "exit_status"),            \
                MEMBER(signal), MEMBER(rusage), MEMBER(note)

/* Reads the description of the job. Malformed labels are left out. 0 or -ENOMEM; deinit *ret in any case. */
static int read_info(const JobColumns *columns, JobInfo *ret) {
        int isolation = job_isolation_find(columns->isolation ?: "");

        *ret = columns->info;
        ret->isolation = isolation < 0 ? ISOLATION_NONE : (Isolation)isolation;
        if (columns->cgroup && *columns->cgroup) {
                ret->cgroup = strdup(columns->cgroup);
                if (!ret->cgroup)
                        return -ENOMEM;
        }
        return job_text_parse_labels(columns->labels ?: "", ret) == -ENOMEM ? -ENOMEM : 0;
}

static int read_description(const JobColumns *columns, JobDescription *ret) {
        scoped(job_info_deinit) JobInfo info = {};
        int r;

        r = read_info(columns, &info);
        if (r == 0)
                r = job_description_make(&info, ret);
        return r == 0 && columns->note && *columns->note ? JOB_DESCRIPTION_SET(ret, note, columns->note) : r;
}

/* *ret must own nothing; metrics and usage are left zero. 0 or -ENOMEM. */
static int read_view(const JobColumns *columns, JobView *ret) {
        /* An unknown state was written by a later version: the job counts as interrupted. */
        int state = job_state_find(columns->state ?: "");

        *ret = (JobView){
                .state = state < 0 ? JOB_INTERRUPTED : (JobState)state, .n_phases = columns->n_phases,
                .begin_realtime_ms = columns->begin_ms, .end_realtime_ms = columns->end_ms,
        };
        if (ret->state != JOB_RUNNING) {
                ret->end.has_exit_status = columns->has_exit_status;
                ret->end.exit_status = (int32_t)columns->exit_status;
                ret->end.signal = (int32_t)columns->signal;
                ret->end.has_rusage = record_parse(&job_rusage_record, columns->rusage ?: "", &ret->end.rusage) == 0;
        }
        if (read_description(columns, &ret->info) < 0) {
                job_description_deinit(&ret->info);
                return -ENOMEM;
        }
        return 0;
}

/* --- state --------------------------------------------------------------------------------------- */

/* State of a reader for jobs. */
typedef struct JobReader {
        JobView job;    /* owned: of the last JobRow */
        JobSteps steps;
        JobGpus gpus;
        Buffer timeline;
        struct {
                Buffer keys;
                Layout layout;
        } layouts[N_LAYOUT_KINDS]; /* the last of each, which many rows share */
} JobReader;

static void deinit(void *state) {
        JobReader *jobs = state;

        job_description_deinit(&jobs->job.info);
        record_deinit(&job_steps_record, &jobs->steps);
        job_gpus_deinit(&jobs->gpus);
        buffer_deinit(&jobs->timeline);
        for (size_t i = 0; i < N_LAYOUT_KINDS; i++)
                buffer_deinit(&jobs->layouts[i].keys);
}

static const ReaderState job_reader_kind = { sizeof(JobReader), deinit };

/* --- layouts and metrics ------------------------------------------------------------------------- */

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

/* Malformed metrics are absent: a damaged row does not hide the others. Returns true if there are metrics. */
static bool read_numbers(JobReader *jobs, const JobNumberTexts *texts, MetricSet *metrics, UsageSet *usage) {
        const Layout *of_metrics = find_layout(jobs, LAYOUT_METRICS, texts->metric_keys);
        const Layout *of_usage = find_layout(jobs, LAYOUT_USAGE, texts->usage_keys);

        *metrics = (MetricSet){};
        *usage = (UsageSet){};
        if (texts->usage && of_usage)
                (void)job_text_parse_usage(texts->usage, of_usage, usage);
        return texts->metrics && of_metrics && job_text_parse_metrics(texts->metrics, of_metrics, metrics) == 0;
}

/* --- jobs ---------------------------------------------------------------------------------------- */

enum {
        BY_NAME = 1,
        BY_USER = 2,
        BY_STATE = 4,
};

#define HAS_PIPELINE "EXISTS (SELECT 1 FROM pipeline WHERE pipeline.job = job.row)"
#define LISTED(member, sql) COLUMN(ListedJob, member, sql)
#define LIST_COLUMNS                                                                                                  \
        LISTED(row, "row"), LISTED(id, "job.id"), LISTED(name, "name"), LISTED(user, "user"),                        \
                LISTED(command, "command"), LISTED(labels, "labels"), LISTED(state, "state"), LISTED(uid, "uid"),    \
                LISTED(rank, "rank"), LISTED(begin_ms, "begin_ms"), LISTED(end_ms, "end_ms"),                        \
                LISTED(has_failed, "exit_status IS NOT NULL AND (exit_status <> 0 OR signal <> 0)"),                 \
                LISTED(has_pipeline, HAS_PIPELINE)

static const StoreColumn list_columns[] = { LIST_COLUMNS };
static const StoreColumn list_usage_columns[] = {
        LIST_COLUMNS, LISTED(usage_keys, "u.keys"), LISTED(usage, "usage"),
};

/* For reader_begin_page(). */
#define LIST(columns, join, index, filters)                                                                   \
        SELECT(ListedJob, columns, " FROM job INDEXED BY job_by_" index join                                        \
               " WHERE begin_ms >= ? AND (begin_ms, row) < (?, ?) AND visible(uid)" filters                         \
               " ORDER BY begin_ms DESC, row DESC")
#define OF_NAME " AND name = ?"
#define OF_USER " AND user = ?"
#define OF_STATE " AND state = ?"
#define LISTS(columns, join)                                                                                  \
        {                                                                                                            \
                [0] = LIST(columns, join, "begin", ""),                                                             \
                [BY_NAME] = LIST(columns, join, "name", OF_NAME),                                                   \
                [BY_USER] = LIST(columns, join, "user", OF_USER),                                                   \
                [BY_NAME | BY_USER] = LIST(columns, join, "name", OF_NAME OF_USER),                                 \
                [BY_STATE] = LIST(columns, join, "state", OF_STATE),                                                \
                [BY_NAME | BY_STATE] = LIST(columns, join, "name", OF_NAME OF_STATE),                               \
                [BY_USER | BY_STATE] = LIST(columns, join, "user", OF_USER OF_STATE),                               \
                [BY_NAME | BY_USER | BY_STATE] = LIST(columns, join, "name", OF_NAME OF_USER OF_STATE),             \
        }

STATEMENT lists[] = LISTS(list_columns, "");
STATEMENT usage_lists[] = LISTS(list_usage_columns, " LEFT JOIN layout AS u ON u.id = job.usage_layout");

#define TIMELINE(i) COLUMN(JobColumns, timeline[i], "(SELECT bytes FROM timeline WHERE part = 3 * row + " #i ")")
STATEMENT job_find_row = SELECT(JobColumns,
        COLUMNS(JOB_COLUMNS, JOB_NUMBER_COLUMNS(JobColumns, numbers), COLUMN(JobColumns, has_pipeline, HAS_PIPELINE)),
        " FROM job" JOB_LAYOUTS("job") " WHERE job.row = ? AND visible(uid)");
STATEMENT job_find = SELECT(JobColumns,
        COLUMNS(JOB_COLUMNS, JOB_NUMBER_COLUMNS(JobColumns, numbers), MEMBER(steps), MEMBER(gpus),
                TIMELINE(0), TIMELINE(1), TIMELINE(2)),
        " FROM job" JOB_LAYOUTS("job") " WHERE job.id = ?");

int job_reader_list(Reader *reader, const JobFilter *filter) {
        const PageFilter page = {
                filter->since_ms, filter->until_ms, filter->before, { filter->name, filter->user, filter->state },
        };

        return reader_begin_page(reader, filter->has_usage ? usage_lists : lists, &page);
}

double job_reader_usage(Reader *reader, const ListedJob *job, UsageMetric metric) {
        JobReader *jobs = reader_state(reader, &job_reader_kind);
        const Layout *layout = jobs ? find_layout(jobs, LAYOUT_USAGE, job->usage_keys) : NULL;

        return layout && job->usage ? job_text_find_usage(job->usage, layout, metric) : NAN;
}

/* Usage of a job that was closed when its checkpoint could not be read any more. */
static void note_missing_usage(JobView *job) {
        Quality why = job->info.isolation == ISOLATION_NONE ? QUALITY_NO_GROUP : QUALITY_LOST;

        usage_absent(&job->usage, why);
}

/* Reads the next row. */
static int next_job(Reader *reader, JobReader **ret_jobs, JobColumns *ret_columns, JobRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        JobReader *jobs = reader_state(reader, &job_reader_kind);
        int r;

        if (!jobs)
                return read_connection_fail(connection, SQLITE_NOMEM);
        r = reader_next(reader, ret_columns, sizeof(*ret_columns));
        if (r != 0)
                return r;

        job_description_deinit(&jobs->job.info);
        jobs->job = (JobView){};
        if (read_view(ret_columns, &jobs->job) < 0)
                return read_connection_fail(connection, SQLITE_NOMEM);

        *ret = (JobRow){ .row = ret_columns->row, .has_pipeline = ret_columns->has_pipeline };
        ret->has_metrics = read_numbers(jobs, &ret_columns->numbers, &jobs->job.metrics, &jobs->job.usage);
        if (!ret_columns->numbers.usage)
                note_missing_usage(&jobs->job);
        ret->view = jobs->job;
        *ret_jobs = jobs;
        return 0;
}

int job_reader_find_row(Reader *reader, int64_t row, JobRow *ret) {
        int r = read_connection_begin(reader_connection(reader), &job_find_row, FIELDS(field_i64(row)));
        JobColumns columns;
        JobReader *jobs;

        return r == 0 ? next_job(reader, &jobs, &columns, ret) : r;
}

/* Joins the parts. *ret stays empty without parts. */
static int read_timeline(const JobColumns *columns, Buffer *ret) {
        scoped(buffer_deinit) Buffer bytes = {};
        int r;

        for (size_t i = 0; i < N_TIMELINE_PARTS; i++)
                buffer_put(&bytes, columns->timeline[i].bytes, columns->timeline[i].n);

        r = buffer_error(&bytes);
        return r < 0 || bytes.n == 0 ? r : compress_restore(bytes.text, bytes.n, ret);
}

/* Damaged ones are absent. 0 or -ENOMEM. */
static int read_gpus(const JobColumns *columns, JobGpus *ret) {
        scoped(buffer_deinit) Buffer text = {};
        int r = columns->gpus.bytes ? compress_restore(columns->gpus.bytes, columns->gpus.n, &text) : 0;

        *ret = (JobGpus){};
        if (r == 0 && text.n > 0)
                r = record_parse(&job_gpus_record, text.text, ret);
        return r < 0 ? r : 0;
}

int job_reader_find(Reader *reader, const char *id, JobRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        JobColumns columns;
        JobReader *jobs;
        int r;

        r = read_connection_begin(connection, &job_find, FIELDS(field_string(id)));
        if (r == 0)
                r = next_job(reader, &jobs, &columns, ret);
        if (r != 0)
                return r;

        /* Copied, so that the query can end here, and with it its hold on the write-ahead log. */
        buffer_clear(&jobs->timeline);
        record_deinit(&job_steps_record, &jobs->steps);
        jobs->steps = (JobSteps){};
        r = record_parse(&job_steps_record, columns.steps ?: "{}", &jobs->steps) == -ENOMEM ? -ENOMEM : 0;
        ret->steps = jobs->steps;
        job_gpus_deinit(&jobs->gpus);
        if (r == 0)
                r = read_gpus(&columns, &jobs->gpus);
        ret->gpus = jobs->gpus;
        if (r == 0)
                r = read_timeline(&columns, &jobs->timeline);
        if (r != 0)
                return read_connection_fail(connection, r < 0 ? SQLITE_NOMEM : SQLITE_CORRUPT);
        if (jobs->timeline.n > 0)
                ret->timeline = (Blob){ jobs->timeline.text, jobs->timeline.n };
        reader_reset(reader);
        return 0;
}

/* --- phases -------------------------------------------------------------------------------------- */

typedef struct PhaseColumns {
        PhaseView phase;
        JobNumberTexts numbers;
} PhaseColumns;

STATEMENT phases = SELECT(PhaseColumns,
        COLUMNS(COLUMN(PhaseColumns, phase.index, "number"),
                COLUMN_REQUIRED(PhaseColumns, phase.name, "name"),
                COLUMN(PhaseColumns, phase.begin_realtime_ms, "begin_ms"),
                COLUMN(PhaseColumns, phase.end_realtime_ms, "end_ms"),
                COLUMN_OPTIONAL(PhaseColumns, phase.wall_seconds, phase.has_wall_seconds, "wall_seconds"),
                JOB_NUMBER_COLUMNS(PhaseColumns, numbers)),
        " FROM phase INDEXED BY phase_by_job" JOB_LAYOUTS(
        "phase") " WHERE job = (SELECT row FROM job WHERE id = ?) ORDER BY number");

int job_reader_list_phases(Reader *reader, const char *job) {
        return read_connection_begin(reader_connection(reader), &phases, FIELDS(field_string(job)));
}

int job_reader_next_phase(Reader *reader, PhaseView *ret) {
        JobReader *jobs = reader_state(reader, &job_reader_kind);
        PhaseColumns columns;
        int r;

        if (!jobs)
                return read_connection_fail(reader_connection(reader), SQLITE_NOMEM);
        r = reader_next(reader, &columns, sizeof(columns));
        if (r != 0)
                return r;

        (void)read_numbers(jobs, &columns.numbers, &columns.phase.metrics, &columns.phase.usage);
        *ret = columns.phase;
        return 0;
}

/* --- recovery: the node's row -------------------------------------------------------------------- */

#define ATTEMPTS 3

enum { NODE_METER, NODE_BOOT_ID, NODE_TIME, NODE_TOTALS, N_NODE_COLUMNS };

STATEMENT node_find = SQL(
        "SELECT account, boot_id, ifnull(time_ms, 0), text FROM (SELECT 1) LEFT JOIN meter LEFT JOIN job_totals",
        N_NODE_COLUMNS);

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

#define RUNNING(member) COLUMN(JobColumns, running.member, #member)
STATEMENT running_jobs = SELECT(JobColumns,
        COLUMNS(JOB_COLUMNS, RUNNING(checkpoint_ms), RUNNING(boot_id), RUNNING(window), RUNNING(begun_by),
                RUNNING(by_admin)),
        " FROM job INDEXED BY job_by_state LEFT JOIN running ON running.job = job.row WHERE state = 'running' ORDER"
        " BY begin_ms, row");

static int add_job(const JobColumns *columns, JobRecovery *recovery) {
        RecoveredJob *job;
        int r;

        r = ARRAY_EXTEND(recovery->jobs, recovery->n_jobs);
        if (r < 0)
                return r;

        job = &recovery->jobs[recovery->n_jobs++];
        *job = (RecoveredJob){
                .begin_realtime_ms = columns->begin_ms,
                .begun_by = (uint32_t)columns->running.begun_by,
                .is_by_admin = columns->running.by_admin,
                .progress = columns->running.window ? strdup(columns->running.window) : NULL,
                .boot_id = columns->running.boot_id ? strdup(columns->running.boot_id) : NULL,
                .checkpoint_realtime_ms = columns->running.checkpoint_ms,
        };
        r = read_info(columns, &job->info);
        return (columns->running.window && !job->progress) || (columns->running.boot_id && !job->boot_id) ? -ENOMEM : r;
}

static int read_running_jobs(ReadConnection *connection, JobRecovery *recovery) {
        JobColumns columns;
        int r;

        r = read_connection_begin(connection, &running_jobs, NULL, 0);
        while (r == 0 && (r = read_connection_next(connection, &columns, sizeof(columns))) == 0)
                r = add_job(&columns, recovery);
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
