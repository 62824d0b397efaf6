/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "store/compress.h"
#include "store/jobs/job_columns.h"
#include "store/jobs/job_rows.h"
#include "store/jobs/job_text.h"
#include "store/read_connection.h"

#define N_NUMBER_COLUMNS 4

struct Reader {
        ReadConnection asking;

        JobView job;    /* owned: what the last JobRow shows */
        char *timeline; /* owned */
        struct {
                int64_t number; /* 0: none yet */
                Layout layout;
        } layouts[N_LAYOUT_KINDS]; /* the last of each */
};

int reader_new(Reader **ret, const char *path, WalBarrier *gate, uint64_t timeout_ns) {
        scoped(reader_freep) Reader *reader = calloc(1, sizeof(*reader));
        int r;

        if (!reader)
                return -ENOMEM;

        r = read_connection_init(&reader->asking, path, gate, timeout_ns);
        if (r < 0)
                return r;

        *ret = TAKE(reader);
        return 0;
}

Reader *reader_free(Reader *reader) {
        if (!reader)
                return NULL;

        read_connection_deinit(&reader->asking);
        job_view_deinit(&reader->job);
        free(reader->timeline);
        free(reader);
        return NULL;
}

void reader_reset(Reader *reader) {
        read_connection_end(&reader->asking);
}

ReadConnection *reader_connection(Reader *reader) {
        return &reader->asking;
}

/* Layouts are numbered by the database, which may be another one when it is opened again. */
static int give_up(Reader *reader, int code) {
        int r = read_connection_give_up(&reader->asking, code);

        for (size_t i = 0; !reader->asking.db && i < N_LAYOUT_KINDS; i++)
                reader->layouts[i].number = 0;
        return r;
}

static int ask(Reader *reader, unsigned question) {
        if (!reader->asking.db)
                for (size_t i = 0; i < N_LAYOUT_KINDS; i++)
                        reader->layouts[i].number = 0;
        return read_connection_begin(&reader->asking, question);
}

static int step(Reader *reader) {
        return read_connection_step(&reader->asking);
}

/* --- values in and out --------------------------------------------------------------------------- */

/* Copied: the filter need not outlive the call. Left out where the statement has no such place. */
static void bind_filter(Reader *reader, int i, const char *text) {
        if (text)
                sqlite3_bind_text(reader->asking.current, i, text, -1, SQLITE_TRANSIENT);
}

static sqlite3_int64 as_integer(uint64_t v) {
        return v > INT64_MAX ? INT64_MAX : (sqlite3_int64)v;
}

/* Rows of [since, until) before a key. `until` is a key as well: the one before all rows of that time. */
static void bind_page(Reader *reader, uint64_t since_ms, uint64_t until_ms, const PageKey *before) {
        sqlite3_int64 time_ms = INT64_MAX, row = INT64_MAX;

        if (before->time_ms != 0 || before->row != 0) {
                time_ms = as_integer(before->time_ms);
                row = before->row;
        }
        if (until_ms != 0 && as_integer(until_ms) <= time_ms) {
                time_ms = as_integer(until_ms);
                row = INT64_MIN;
        }

        sqlite3_bind_int64(reader->asking.current, 4, as_integer(since_ms));
        sqlite3_bind_int64(reader->asking.current, 5, time_ms);
        sqlite3_bind_int64(reader->asking.current, 6, row);
}

static const char *text_at(const Reader *reader, int i) {
        return (const char *)sqlite3_column_text(reader->asking.current, i);
}

static uint64_t u64_at(const Reader *reader, int i) {
        return (uint64_t)sqlite3_column_int64(reader->asking.current, i);
}

/* --- results ------------------------------------------------------------------------------------- */

int reader_results(Reader *reader, const ResultFilter *filter) {
        unsigned by = (filter->name ? RESULTS_BY_NAME : 0U) | (filter->component ? RESULTS_BY_COMPONENT : 0U) |
                      (filter->job ? RESULTS_BY_JOB : 0U);
        int r;

        r = ask(reader, QUESTION_RESULTS + by);
        if (r != 0)
                return r;

        bind_filter(reader, 1, filter->name);
        bind_filter(reader, 2, filter->component);
        bind_filter(reader, 3, filter->job);
        bind_page(reader, filter->since_ms, filter->until_ms, &filter->before);
        return 0;
}

static int take_result(Reader *reader, ResultRow *ret) {
        const void *id, *batch;

        *ret = (ResultRow){
                .row = sqlite3_column_int64(reader->asking.current, 0),
                .name = text_at(reader, 2),
                .component = text_at(reader, 3),
                .version = text_at(reader, 4),
                .job = text_at(reader, 5),
                .uid = (uint32_t)u64_at(reader, 6),
                .time_ms = u64_at(reader, 7),
                .has_score = sqlite3_column_type(reader->asking.current, 8) != SQLITE_NULL,
                .score = sqlite3_column_double(reader->asking.current, 8),
                .document = text_at(reader, 9),
                .has_exit_status = sqlite3_column_type(reader->asking.current, 10) != SQLITE_NULL,
                .exit_status = sqlite3_column_int64(reader->asking.current, 10),
                .batch_index = u64_at(reader, 12),
                .run = text_at(reader, 13),
        };
        batch = sqlite3_column_blob(reader->asking.current, 11);
        ret->has_batch = batch && sqlite3_column_bytes(reader->asking.current, 11) == sizeof(ret->batch);
        if (ret->has_batch)
                memcpy(ret->batch, batch, sizeof(ret->batch));
        id = sqlite3_column_blob(reader->asking.current, 1);
        if (id && sqlite3_column_bytes(reader->asking.current, 1) == sizeof(ret->id))
                memcpy(ret->id, id, sizeof(ret->id));

        /* SQLite says "out of memory" by NULL where the schema has none. */
        return ret->name && ret->component && ret->document ? 0 : give_up(reader, SQLITE_NOMEM);
}

int reader_next_result(Reader *reader, ResultRow *ret) {
        int r;

        r = step(reader);
        return r == 0 ? take_result(reader, ret) : r;
}

int reader_result(Reader *reader, int64_t row, ResultRow *ret) {
        int r;

        r = ask(reader, QUESTION_RESULT);
        if (r != 0)
                return r;

        sqlite3_bind_int64(reader->asking.current, 1, row);
        r = step(reader);
        return r == 0 ? take_result(reader, ret) : r;
}

int reader_indicators(Reader *reader) {
        return ask(reader, QUESTION_INDICATORS);
}

int reader_next_indicator(Reader *reader, IndicatorRow *ret) {
        int r;

        r = step(reader);
        if (r != 0)
                return r;

        *ret = (IndicatorRow){
                .name = text_at(reader, 0),
                .component = text_at(reader, 1),
                .n_results = u64_at(reader, 2),
                .latest_ms = u64_at(reader, 3),
        };
        return ret->name && ret->component ? 0 : give_up(reader, SQLITE_NOMEM);
}

/* --- jobs ---------------------------------------------------------------------------------------- */

/*
 * Beside the question that is being answered, within its time. *ret is NULL when there is none of that number that
 * makes sense.
 */
static int find_layout(Reader *reader, LayoutKind kind, int64_t number, const Layout **ret) {
        Layout *layout = &reader->layouts[kind].layout;
        sqlite3_stmt *statement;
        const char *keys;
        int code;

        *ret = layout;
        if (number == reader->layouts[kind].number && number != 0)
                return 0;

        code = read_connection_prepare(&reader->asking, QUESTION_LAYOUT, &statement);
        if (code != 0)
                return code;

        sqlite3_bind_int64(statement, 1, number);
        code = sqlite3_step(statement);
        keys = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        reader->layouts[kind].number = keys && layout_parse(kind, keys, layout) == 0 ? number : 0;
        sqlite3_reset(statement);
        if (code != SQLITE_ROW && code != SQLITE_DONE)
                return give_up(reader, code);

        if (reader->layouts[kind].number == 0)
                *ret = NULL;
        return 0;
}

/* The text at a column and, before it, the number of its layout. *ret_layout is NULL when they cannot be read. */
static int read_text(Reader *reader, LayoutKind kind, int column, const char **ret, const Layout **ret_layout) {
        *ret_layout = NULL;
        *ret = text_at(reader, column + 1);
        return *ret ? find_layout(reader, kind, sqlite3_column_int64(reader->asking.current, column), ret_layout) : 0;
}

/*
 * The four columns that begin there. What is malformed is absent: one damaged row keeps nobody from the others.
 */
static int read_numbers(Reader *reader, int column, MetricSet *metrics, UsageSet *usage, bool *ret_has_metrics) {
        const Layout *layout;
        const char *text;
        int r;

        *metrics = (MetricSet){};
        *usage = (UsageSet){};
        r = read_text(reader, LAYOUT_METRICS, column, &text, &layout);
        if (r != 0)
                return r;
        *ret_has_metrics = text && layout && metrics_parse(text, layout, metrics) == 0;

        r = read_text(reader, LAYOUT_USAGE, column + 2, &text, &layout);
        if (r != 0)
                return r;
        if (text && layout)
                (void)usage_set_parse(text, layout, usage);
        return 0;
}

/* Of an older perfd, or closed when nobody could tell any more. */
static void say_usage_is_not_known(JobView *job) {
        Quality why = job->info.enclosure == ENCLOSURE_NONE ? QUALITY_NO_GROUP : QUALITY_LOST;

        memset(job->usage.quality, (int)why, sizeof(job->usage.quality));
}

/* The row the statement is at. */
static int read_job(Reader *reader, JobRow *ret) {
        JobRow row = { .row = sqlite3_column_int64(reader->asking.current, 0) };
        int r;

        job_view_deinit(&reader->job);
        reader->job = (JobView){};
        r = job_columns_read(reader->asking.current, &reader->job);
        if (r < 0)
                return give_up(reader, SQLITE_NOMEM);

        r = read_numbers(reader, N_JOB_COLUMNS, &reader->job.metrics, &reader->job.usage, &row.has_metrics);
        if (r != 0)
                return r;
        if (sqlite3_column_type(reader->asking.current, N_JOB_COLUMNS + 3) == SQLITE_NULL)
                say_usage_is_not_known(&reader->job);

        row.view = reader->job;
        *ret = row;
        return 0;
}

int reader_jobs(Reader *reader, const JobFilter *filter) {
        unsigned by = (filter->name ? JOBS_BY_NAME : 0U) | (filter->user ? JOBS_BY_USER : 0U) |
                      (filter->state ? JOBS_BY_STATE : 0U);
        int r;

        r = ask(reader, QUESTION_JOBS + by);
        if (r != 0)
                return r;

        bind_filter(reader, 1, filter->name);
        bind_filter(reader, 2, filter->user);
        bind_filter(reader, 3, filter->state);
        bind_page(reader, filter->since_ms, filter->until_ms, &filter->before);
        return 0;
}

int reader_next_job(Reader *reader, JobRow *ret) {
        int r;

        r = step(reader);
        return r != 0 ? r : read_job(reader, ret);
}

/* The parts of the row the statement is at, put together. NULL stays when there are none. */
static int read_timeline(Reader *reader) {
        scoped(buffer_deinit) Buffer bytes = {}, text = {};
        int r;

        for (int i = 0; i < N_TIMELINE_PARTS; i++) {
                int column = N_JOB_COLUMNS + N_NUMBER_COLUMNS + i;
                const void *part = sqlite3_column_blob(reader->asking.current, column);

                if (part)
                        buffer_put(&bytes, part, (size_t)sqlite3_column_bytes(reader->asking.current, column));
        }

        r = buffer_error(&bytes);
        if (r < 0 || bytes.n == 0)
                return r;

        r = compress_restore(bytes.text, bytes.n, &text);
        if (r != 0)
                return r;

        reader->timeline = buffer_take(&text);
        return reader->timeline ? 0 : -ENOMEM;
}

int reader_job(Reader *reader, const char *id, JobRow *ret) {
        int r;

        r = ask(reader, QUESTION_JOB);
        if (r != 0)
                return r;

        bind_filter(reader, 1, id);
        r = step(reader);
        if (r == 0)
                r = read_job(reader, ret);
        if (r != 0)
                return r;

        /* Kept, so that the question can end here and with it its hold on the write-ahead log. */
        free(TAKE(reader->timeline));
        r = read_timeline(reader);
        if (r != 0)
                return give_up(reader, r < 0 ? SQLITE_NOMEM : SQLITE_CORRUPT);
        ret->timeline = reader->timeline;
        reader_reset(reader);
        return 0;
}

/* --- phases -------------------------------------------------------------------------------------- */

int reader_phases(Reader *reader, const char *job) {
        int r;

        r = ask(reader, QUESTION_PHASES);
        if (r != 0)
                return r;

        bind_filter(reader, 1, job);
        return 0;
}

int reader_next_phase(Reader *reader, PhaseView *ret) {
        PhaseView phase = {};
        const char *name;
        bool unused;
        int r;

        r = step(reader);
        if (r != 0)
                return r;

        name = text_at(reader, 1);
        if (!name)
                return give_up(reader, SQLITE_NOMEM);
        phase.index = (uint32_t)u64_at(reader, 0);
        (void)snprintf(phase.name, sizeof(phase.name), "%s", name);
        phase.begin_realtime_ms = u64_at(reader, 2);
        phase.end_realtime_ms = u64_at(reader, 3);
        phase.has_wall_seconds = sqlite3_column_type(reader->asking.current, 4) != SQLITE_NULL;
        phase.wall_seconds = sqlite3_column_double(reader->asking.current, 4);
        r = read_numbers(reader, 5, &phase.metrics, &phase.usage, &unused);
        if (r != 0)
                return r;

        *ret = phase;
        return 0;
}

/* --- the node's history -------------------------------------------------------------------------- */

int reader_node_samples(Reader *reader, uint64_t since_ms, uint64_t until_ms) {
        int r;

        r = ask(reader, QUESTION_NODE_SAMPLES);
        if (r != 0)
                return r;

        sqlite3_bind_int64(reader->asking.current, 4, as_integer(since_ms));
        sqlite3_bind_int64(reader->asking.current, 5, until_ms ? as_integer(until_ms) : INT64_MAX);
        return 0;
}

int reader_next_node_sample(Reader *reader, NodeSampleRow *ret) {
        int r;

        r = step(reader);
        if (r != 0)
                return r;

        *ret = (NodeSampleRow){
                .begin_ms = u64_at(reader, 0),
                .interval_ms = u64_at(reader, 1),
                .timeline = text_at(reader, 2),
        };
        return ret->timeline ? 0 : give_up(reader, SQLITE_NOMEM);
}
