/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of data pipelines in a real store, read back and as JSON. */
/* tests: daemon/store/pipelines/pipeline_rows.c daemon/store/pipelines/pipeline_reader.c
          daemon/http/pipelines/pipelines_subject.c */
#include "store_fixture.h"

#include "http/routes.h"
#include "store/retention/retention.h"
#include "store/opening.h"
#include "store/pipelines/pipeline_reader.h"
#include "store/pipelines/pipeline_rows.h"

#define UID     1000
#define STAGE   "0:1:decode[4]"
#define BEGIN_MS UINT64_C(1764000000000)

static void put_job(Place *place, const char *id) {
        JobInfo info = { .uid = UID, .gid = UID, .rank = -1, .node = -1 };

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&info, BEGIN_MS, "boot-1", "progress", "meter", cookie_of(1))),
                0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
}

static int setup(void **state) {
        (void)place_setup_volatile(state);
        put_job(*state, "train");
        return 0;
}

/* 10 tasks of half a second in 60 s; end: of the minute with this number. */
static PipelineInterval tasks_of(uint64_t minute) {
        return (PipelineInterval){
                .stage = STAGE, .part = PIPELINE_TASKS, .end_ms = BEGIN_MS + minute * 60000,
                .sums = { .elapsed_s = 60, .n = 10, .n_failures = 1, .time_s = 4.5 },
                .percentiles = { .p90_s = 0.5 + (double)minute, .p99_s = 0.6 },
        };
}

static PipelineInterval queue_of(uint64_t minute) {
        return (PipelineInterval){
                .stage = STAGE, .part = PIPELINE_QUEUE, .end_ms = BEGIN_MS + minute * 60000 + 5, .buffer_size = 2,
                .sums = { .elapsed_s = 60, .n = 9, .time_s = 1, .get_s = 2, .ready_s = 30, .judged_s = 60 },
        };
}

/* Stores a report and returns its outcome. */
static StoreOutcome put(Place *place, const PipelineReport *report, const char *job, uint32_t uid, StoredReport *ret,
                        StoredSeries *ret_first) {
        StoreDone done;

        assert_int_equal(store_put(place->store, pipeline_rows_pack(report, job, uid, false, BEGIN_MS, cookie_of(2))),
                         0);
        assert_true(wait_done(place->store, &done, DEADLINE_MS));
        assert_string_equal(pipeline_rows_job(done.rows), job);
        *ret = *pipeline_rows_stored(done.rows);
        if (ret_first && report->n_intervals > 0)
                *ret_first = pipeline_rows_series(done.rows)[0];
        return done.outcome;
}

static StoredReport put_intervals(Place *place, PipelineInterval *intervals, size_t n, StoredSeries *ret_first) {
        const PipelineReport report = {
                .job = "train", .producer = "spdl 0.8.0", .intervals = intervals, .n_intervals = n
        };
        StoredReport stored;

        assert_int_equal(put(place, &report, "train", UID, &stored, ret_first), STORE_DONE);
        return stored;
}

static void a_series_has_the_sums_of_its_intervals(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), queue_of(1), tasks_of(2) };
        PipelineSeriesRow row;
        StoredSeries first;
        Place *place = *state;

        assert_int_equal(put_intervals(place, intervals, 3, &first).n_new, 3);
        assert_true(first.row > 0 && first.sums.n == 10);
        assert_int_equal(pipeline_reader_list(place->reader, "train"), 0);
        assert_int_equal(pipeline_reader_next(place->reader, &row), 0);
        assert_string_equal(row.stage, STAGE);
        assert_string_equal(row.producer, "spdl 0.8.0");
        assert_int_equal(row.part, PIPELINE_TASKS);
        assert_int_equal(row.n_intervals, 2);
        assert_int_equal(row.end_ms, BEGIN_MS + 120000);
        assert_true(row.sums.n == 20 && row.sums.n_failures == 2 && row.sums.time_s == 9 && row.sums.elapsed_s == 120);
        assert_true(row.first.n == 10 && row.first.time_s == 4.5);
        assert_int_equal(pipeline_reader_next(place->reader, &row), 0);
        assert_int_equal(row.part, PIPELINE_QUEUE);
        assert_int_equal(row.buffer_size, 2);
        assert_true(row.sums.ready_s == 30 && row.sums.judged_s == 60 && row.n_last == 9);
        assert_int_equal(pipeline_reader_next(place->reader, &row), READER_END);
}

static void an_interval_is_stored_once(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), tasks_of(3), tasks_of(1) }, late = tasks_of(2);
        StoredReport stored = put_intervals(*state, intervals, 3, NULL);
        PipelineSeriesRow row;
        Place *place = *state;

        assert_int_equal(stored.n_new, 2);
        assert_int_equal(stored.n_repeated, 1);
        stored = put_intervals(place, intervals, 3, NULL);
        assert_int_equal(stored.n_new, 0);
        assert_int_equal(stored.n_repeated, 3);

        /* The clock was set back, or another process has the stage. */
        stored = put_intervals(place, &late, 1, NULL);
        assert_int_equal(stored.n_new, 1);
        assert_int_equal(pipeline_reader_list(place->reader, "train"), 0);
        assert_int_equal(pipeline_reader_next(place->reader, &row), 0);
        assert_true(row.sums.n == 30);
        assert_int_equal(row.end_ms, BEGIN_MS + 180000);
}

static void a_report_needs_a_job_of_the_sender(void **state) {
        PipelineInterval interval = tasks_of(1);
        const PipelineReport report = { .job = "", .producer = "", .intervals = &interval, .n_intervals = 1 };
        StoredReport stored;

        assert_int_equal(put(*state, &report, "never", UID, &stored, NULL), STORE_MISSING);
        assert_int_equal(put(*state, &report, "train", UID + 1, &stored, NULL), STORE_DENIED);
        assert_int_equal(stored.n_new, 0);
        assert_int_equal(ask_place(*state, "SELECT count(*) FROM pipeline_series"), 0);
}

static double total(Place *place, const char *column) {
        char sql[128];

        (void)snprintf(sql, sizeof(sql), "SELECT total(%s) FROM pipeline_interval", column);
        return (double)ask_place(place, sql);
}

static void the_oldest_intervals_of_a_long_run_are_merged(void **state) {
        const unsigned n = 5000;
        PipelineInterval *intervals = calloc(n, sizeof(*intervals)), again;
        StoredSeries series;
        Place *place = *state;

        for (unsigned i = 0; i < n; i++)
                intervals[i] = tasks_of(i + 1);
        for (unsigned i = 0; i < n; i += 1000)
                assert_int_equal(put_intervals(place, &intervals[i], 1000, &series).n_new, 1000);
        again = intervals[n / 2];
        free(intervals);

        assert_in_range(ask_place(place, "SELECT count(*) FROM pipeline_interval"), PIPELINE_SERIES_ROWS_MAX / 2,
                        PIPELINE_SERIES_ROWS_MAX);
        assert_int_equal(ask_place(place, "SELECT n_rows = (SELECT count(*) FROM pipeline_interval) FROM pipeline"), 1);
        assert_true(total(place, "n") == 10.0 * n && total(place, "elapsed_s") == 60.0 * n);
        assert_int_equal(ask_place(place, "SELECT max(p90_s) = 5000.5 FROM pipeline_interval"), 1);
        assert_int_equal(
                ask_place(place, "SELECT count(*) FROM pipeline_interval WHERE level = -1 AND end_ms = 1764000060000"),
                1);
        /* All of the run has about the same resolution, and the newest is as received. */
        assert_in_range(ask_place(place, "SELECT max(elapsed_s) FROM pipeline_interval"), 60 * 8, 60 * 16);
        assert_int_equal(ask_place(place, "SELECT level FROM pipeline_interval ORDER BY end_ms DESC LIMIT 1"), 0);
        assert_int_equal(put_intervals(place, &again, 1, NULL).n_repeated, 1);
}

/* The second page, after a merge, has the last interval of the first page again, in the sum with the next. */
static void a_page_may_begin_with_the_sum_of_an_interval_of_the_page_before(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), tasks_of(2), tasks_of(3), tasks_of(4) };
        PipelineFilter filter = { .n_max = 2 };
        PipelineIntervalRow row;
        int64_t n_rows = 4, merged_ms = 0;
        Place *place = *state;
        Database database;
        char path[PATH_MAX];

        (void)put_intervals(place, intervals, N_ELEMENTS(intervals), NULL);
        assert_int_equal(pipeline_reader_list_intervals(place->reader, "train", &filter), 0);
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), 0);
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), 0);
        assert_int_equal(row.end_ms, intervals[1].end_ms);
        filter.after = (PipelinePlace){ .stage = STAGE, .part = PIPELINE_TASKS, .end_ms = row.end_ms };
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), READER_END);

        place_path(place, "perfd.db", path);
        assert_int_equal(database_open(&database, path), 0);
        assert_int_equal(pipeline_rows_merge(&database, 1, 1, &n_rows, &merged_ms), 0);
        database_close(&database);
        assert_int_equal(n_rows, 3);

        assert_int_equal(pipeline_reader_list_intervals(place->reader, "train", &filter), 0);
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), 0);
        assert_int_equal(row.end_ms, intervals[2].end_ms);
        assert_true(row.level == 1 && row.sums.n == 20 &&
                    row.end_ms - 1000 * (uint64_t)row.sums.elapsed_s < filter.after.end_ms);
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), 0);
        assert_true(row.end_ms == intervals[3].end_ms && row.sums.n == 10);
        assert_int_equal(pipeline_reader_next_interval(place->reader, &row), READER_END);
}

/* The salvage of a damaged database may lose the totals of a job, and keep the rows. */
static void totals_that_were_lost_are_counted_again(void **state) {
        enum { n = 1000 };
        PipelineInterval intervals[n], next = tasks_of(n + 1);
        Place *place = *state;

        for (unsigned i = 0; i < n; i++)
                intervals[i] = tasks_of(i + 1);
        assert_int_equal(put_intervals(place, intervals, n, NULL).n_new, n);
        change_place(place, "DELETE FROM pipeline; UPDATE holder SET n_bytes = 4096");

        assert_int_equal(put_intervals(place, &next, 1, NULL).n_new, 1);
        assert_int_equal(put_intervals(place, &intervals[1], 1, NULL).n_repeated, 1);
        assert_int_equal(ask_place(place,
                                   "SELECT count(*) FROM pipeline WHERE n_series = 1"
                                   " AND n_rows = (SELECT count(*) FROM pipeline_interval)"
                                   " AND merged_ms = (SELECT max(end_ms) FROM pipeline_interval WHERE level > 0)"),
                         1);
        assert_int_equal(
                ask_place(place, "SELECT n_bytes = 4096 + 400 + 100 * n_rows FROM pipeline, holder WHERE uid = 1000"),
                1);
}

/* The limit counts stages, not their parts. */
static void stages_of_a_job_are_bounded(void **state) {
        static char labels[PIPELINE_JOB_STAGES_MAX + 2][32];
        static PipelineInterval intervals[PIPELINE_JOB_STAGES_MAX + 2];
        StoredReport stored;

        for (unsigned i = 0; i < N_ELEMENTS(intervals); i++) {
                intervals[i] = tasks_of(1);
                (void)snprintf(labels[i], sizeof(labels[i]), "0:%u:s", i);
                intervals[i].stage = labels[i];
        }
        stored = put_intervals(*state, intervals, N_ELEMENTS(intervals), NULL);
        assert_int_equal(stored.n_new, PIPELINE_JOB_STAGES_MAX);
        assert_int_equal(stored.n_rejected, 2);

        /* A later interval and the queue of a stage that is there, and another stage. */
        intervals[0].end_ms += 60000;
        intervals[1] = queue_of(1);
        intervals[1].stage = labels[1];
        intervals[2] = intervals[PIPELINE_JOB_STAGES_MAX];
        stored = put_intervals(*state, intervals, 3, NULL);
        assert_int_equal(stored.n_new, 2);
        assert_int_equal(stored.n_rejected, 1);
}

#define PARTS_STAGES (2 * ROWSET_SMALL_ROWS_MAX + 44)

static RowSet *pack_large(bool has_times) {
        PipelineInterval intervals[PARTS_STAGES];
        PipelineEvent event = { "gc", BEGIN_MS, 1 };
        char labels[PARTS_STAGES][32];

        for (unsigned i = 0; i < PARTS_STAGES; i++) {
                intervals[i] = tasks_of(1);
                (void)snprintf(labels[i], sizeof(labels[i]), "0:%u:s", i);
                intervals[i].stage = labels[i];
        }
        if (!has_times)
                intervals[PARTS_STAGES - 1].end_ms = 0;
        return pipeline_rows_pack(&(PipelineReport){ .job = "train",
                                                     .producer = "",
                                                     .intervals = intervals,
                                                     .n_intervals = PARTS_STAGES,
                                                     .events = &event,
                                                     .n_events = 1 },
                                  "train", UID, false, BEGIN_MS, cookie_of(1));
}

/* Stores the next part as the writer does, after a first attempt that is rolled back. Returns the end of the part. */
static size_t put_part(Database *database, RowSet *set) {
        set->part.n_done = set->part.n_end;
        set->part.offset = set->part.offset_end;
        set->part.is_limited = true;
        for (int i = 0; i < 2; i++) {
                assert_int_equal(database_begin(database), 0);
                assert_int_equal(set->kind->apply(set, database, NULL), 0);
                if (i == 0)
                        database_rollback(database);
        }
        assert_int_equal(database_commit(database), 0);
        assert_int_equal(set->outcome, STORE_DONE);
        assert_int_equal(pipeline_rows_stored(set)->n_new + pipeline_rows_stored(set)->n_repeated, set->part.n_end);
        return set->part.n_end;
}

/* Other users' rows are stored in between. What is stored when the report fails is not stored again. */
static void a_large_report_is_stored_in_parts(void **state) {
        scoped(rowset_freep) RowSet *set = NULL, *again = NULL, *without_times = NULL;
        Place *place = *state;
        char path[PATH_MAX];
        Database database;

        place_close(place);
        place_path(place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &database), 0);
        set = pack_large(true);
        assert_int_equal(put_part(&database, set), ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(ask_place(place, "SELECT n_series + n_rows FROM pipeline"), 2 * ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_event"), 0);

        again = pack_large(true);
        assert_int_equal(put_part(&database, again), ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(pipeline_rows_stored(again)->n_repeated, ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(put_part(&database, again), 2 * ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(put_part(&database, again), PARTS_STAGES);
        assert_int_equal(pipeline_rows_stored(again)->n_new, PARTS_STAGES - ROWSET_SMALL_ROWS_MAX);
        assert_int_equal(ask_place(place, "SELECT n_series + n_rows FROM pipeline"), 2 * PARTS_STAGES);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_event"), 1);

        without_times = pack_large(false);
        assert_int_equal(put_part(&database, without_times), PARTS_STAGES);
        database_close(&database);
}

static PipelineReport events_of(PipelineEvent *events, size_t n) {
        return (PipelineReport){ .job = "train", .producer = "", .events = events, .n_events = n,
                                 .description = json_text("{\"threads\":4}", 13) };
}

static void events_count_once_and_the_newest_are_kept(void **state) {
        PipelineEvent events[1000];
        PipelineReport report;
        PipelineHeadRow head;
        PipelineEventRow row;
        StoredReport stored;
        Place *place = *state;

        for (unsigned i = 0; i < 2 * PIPELINE_JOB_FIRST_BATCHES_MAX; i++)
                events[i] = (PipelineEvent){ PIPELINE_EVENT_FIRST_BATCH, BEGIN_MS - 1000 + i, 2.5 + i };
        report = events_of(events, 2 * (size_t)PIPELINE_JOB_FIRST_BATCHES_MAX);
        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_event"), PIPELINE_JOB_FIRST_BATCHES_MAX);

        for (unsigned round = 0; round < 6; round++) {
                for (unsigned i = 0; i < 1000; i++)
                        events[i] = (PipelineEvent){ "gc", BEGIN_MS + round * 1000 + i, 0.5 };
                report = events_of(events, 1000);
                assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        }
        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);

        assert_int_equal(pipeline_reader_find_head(place->reader, "train", &head), 0);
        assert_int_equal(head.n_events, 6000);
        assert_true(head.event_s == 3000);
        assert_int_equal(head.description.n, 13);
        assert_int_equal(head.first_batch_ms, BEGIN_MS - 1000);
        assert_true(head.first_batch_s == 2.5);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_event"),
                         PIPELINE_JOB_EVENTS_MAX + PIPELINE_JOB_FIRST_BATCHES_MAX);
        assert_int_equal(
                pipeline_reader_list_events(place->reader, "train", &(PipelineFilter){ .since_ms = BEGIN_MS + 5999 }),
                0);
        assert_int_equal(pipeline_reader_next_event(place->reader, &row), 0);
        assert_string_equal(row.name, "gc");
        assert_int_equal(pipeline_reader_next_event(place->reader, &row), READER_END);
        assert_int_equal(pipeline_reader_find_head(place->reader, "never", &head), 0);
        assert_int_equal(head.n_events, 0);
}

static void rows_are_removed_with_their_job_and_belong_to_its_user(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), queue_of(1) };
        PipelineEvent event = { "gc", BEGIN_MS, 1 };
        PipelineReport report = events_of(&event, 1);
        Place *place = *state;
        StoredReport stored;
        int64_t before = ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000");
        sqlite3 *db;

        (void)put_intervals(place, intervals, 2, NULL);
        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"), before + 1000 + 100 + 13);

        db = place_open_database(place, SQLITE_OPEN_READWRITE);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM job", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline"), 0);

        /* The next job does not get the rows that remain. */
        put_job(place, "next");
        assert_int_equal(ask_place(place, "SELECT row FROM job"), 2);
        place_close(place);
        place_open(place);
        EVENTUALLY(
                ask_place(place,
                          "SELECT (SELECT count(*) FROM pipeline_series) + (SELECT count(*) FROM pipeline_interval) +"
                          " (SELECT count(*) FROM pipeline_event) + (SELECT count(*) FROM pipeline_leftover)") == 0);
}

/* A detected job may have an unknown user until its user begins it. */
static void rows_are_charged_to_the_later_user_of_their_job(void **state) {
        const StoreJobIdentity identity = { .job = "train", .name = "", .user = "", .uid = UID + 1, .gid = UID + 1 };
        PipelineInterval intervals[] = { tasks_of(1), queue_of(1) };
        PipelineEvent event = { "gc", BEGIN_MS, 1 };
        PipelineReport report = events_of(&event, 1);
        Place *place = *state;
        StoredReport stored;

        (void)put_intervals(place, intervals, 2, NULL);
        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_identity(&identity, cookie_of(3))), 0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        assert_held_as_stored(place);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"), 0);
        change_place(place, "DELETE FROM job");
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1001"), 0);
}

/* However many rows a removed job has, a step between batches removes a bounded number, and so does each removal for
 * space. */
static void rows_of_a_removed_job_are_removed_in_steps(void **state) {
        const StoreTable *noted = store_table(&store_pipelines, "pipeline_leftover");
        Place *place = *state;
        char path[PATH_MAX];
        Database database;
        bool has_more = true;
        int64_t n = 0;

        place_close(place);
        change_place(
                place,
                "INSERT INTO pipeline VALUES (1, 10, 5000, 0, 0, 0, NULL);"
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                " INSERT INTO pipeline_interval SELECT 1, 0, i / 10, i % 10, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0 FROM n;"
                "DELETE FROM job");
        place_path(place, "perfd.db", path);
        assert_int_equal(opening_open_file(path, &database), 0);
        assert_int_equal(retention_find_leftover(store_pipelines.tables, &database, &has_more), 0);
        assert_true(has_more);

        assert_int_equal(retention_remove_leftover(noted->retention->leftover, &database,
                                                   database_prepare(&database, noted->retention->remove_of_user,
                                                                    FIELDS(field_i64(256), field_i64(7))), &n), 0);
        assert_int_equal(n, 1024);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_interval"), 5000 - 1024);
        for (int64_t before = 5000 - 1024; has_more; before = n) {
                assert_int_equal(retention_step_leftover(store_pipelines.tables, &database, &has_more), 0);
                n = ask_place(place, "SELECT count(*) FROM pipeline_interval");
                assert_in_range(before - n, has_more ? 1 : 0, 1024);
        }
        assert_int_equal(n, 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_leftover"), 0);
        database_close(&database);
}

#define FLOOD_STAGES 60

static void put_minute_of_stages(Place *place, uint64_t minute) {
        PipelineInterval intervals[FLOOD_STAGES];
        char stages[FLOOD_STAGES][32];

        for (size_t i = 0; i < FLOOD_STAGES; i++) {
                (void)snprintf(stages[i], sizeof(stages[i]), "0:%zu:decode[4]", i);
                intervals[i] = tasks_of(minute);
                intervals[i].stage = stages[i];
        }
        assert_int_equal(put_intervals(place, intervals, FLOOD_STAGES, NULL).n_new, FLOOD_STAGES);
}

/* A running job is never removed: what its user holds beyond the share is merged, and nobody else loses a row. */
static void intervals_of_a_user_above_the_share_are_merged(void **state) {
        const unsigned n = PIPELINE_SERIES_ROWS_MAX;
        JobInfo victim = { .id = "victim", .uid = UID + 1, .rank = -1, .node = -1 };
        StoreJobEnd end = {
                .job = "victim",
                .state = JOB_FINISHED,
                .end_realtime_ms = 2,
                .end = &(JobEnd){},
                .timeline = &BYTES("points"),
        };
        Place *place = *state;
        StoreConfig config = place_config(place);

        config.size_max_bytes = 2 << 20;
        store_configure(place->store, &config);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&victim, 1, "boot-1", "progress", "meter", cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&end, cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);

        for (unsigned minute = 1; minute <= n; minute++)
                put_minute_of_stages(place, minute);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE id = 'victim'"), 1);
        assert_in_range(ask_place(place, "SELECT n_rows FROM pipeline"), PIPELINE_SERIES_ROWS_MIN * FLOOD_STAGES,
                        FLOOD_STAGES * n * 3 / 4);
        assert_int_equal(ask_place(place, "SELECT n_rows = (SELECT count(*) FROM pipeline_interval) FROM pipeline"), 1);
        assert_int_equal(ask_place(place,
                                   "SELECT n_bytes = 4096 + 400 * pipeline.n_series + 100 * n_rows FROM pipeline,"
                                   " holder WHERE uid = 1000"),
                         1);
        assert_true(total(place, "n") == 10.0 * n * FLOOD_STAGES);
}

/* --- HTTP ----------------------------------------------------------------------------------------- */

static const char *ask(Place *place, Buffer *body, const char *path, const char *name, const char *value,
                       unsigned status) {
        Exchange exchange;

        exchange_init(&exchange, body);
        exchange.sources.reader = place->reader;
        assert_int_equal(exchange_set_path(&exchange.target, &exchange.response, path), 0);
        if (name)
                assert_int_equal(exchange_add_parameter(&exchange.target, &exchange.response, name, value), 0);
        routes_answer(&exchange);
        assert_int_equal(exchange.response.status, status);
        return body->text;
}

static void assert_says(const char *text, const char *words) {
        if (!strstr(text, words))
                fail_msg("%s does not say %s", text, words);
}

static void the_stages_of_a_job_are_answered_in_their_order(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), queue_of(1), tasks_of(1) };
        scoped(buffer_deinit) Buffer body = {};
        Place *place = *state;
        const char *text;

        intervals[2].stage = "0:10:collate";
        (void)put_intervals(place, &intervals[2], 1, NULL);
        (void)put_intervals(place, intervals, 2, NULL);
        text = ask(place, &body, "/api/v1/jobs/train/pipeline", NULL, NULL, 200);
        assert_says(text,
                    "\"stage\":\"0:1:decode[4]\",\"pipeline\":0,\"position\":1,\"name\":\"decode\",\"concurrency\":4");
        assert_says(text, "\"success_s\":4.5");
        assert_says(text, "\"put_wait_s\":1.0");
        assert_true(strstr(text, "decode") < strstr(text, "collate"));
        assert_says(strstr(text, "collate"), "\"concurrency\":null");
        assert_says(strstr(text, "collate"), "\"queue\":null");
        assert_says(text, "\"events\":{\"count\":0");
        (void)ask(place, &body, "/api/v1/jobs/never/pipeline", NULL, NULL, 404);
}

/* The first interval is left out of both, as are the changes of a job that the caller does not ask for. */
static void a_verdict_is_answered_with_the_changes_of_the_run(void **state) {
        scoped(buffer_deinit) Buffer body = {};
        Place *place = *state;
        const char *text;

        for (uint64_t minute = 1; minute <= 40; minute++) {
                PipelineInterval intervals[] = { tasks_of(minute), queue_of(minute) };

                intervals[0].sums.n_failures = 0;
                intervals[0].sums.time_s = minute == 1 ? 900 : minute > 20 ? 239 : 119;
                intervals[1].sums.get_s = 30;
                (void)put_intervals(place, intervals, 2, NULL);
        }
        text = ask(place, &body, "/api/v1/jobs/train/pipeline", NULL, NULL, 200);
        assert_says(text, "\"verdicts\":[{\"pipeline\":0,\"limit\":\"stage\",\"stage\":\"decode\"");
        assert_says(text, "\"sentence\":\"decode is the limit: its 4 workers are busy 7");
        assert_says(text, "\"advice\":\"Try a concurrency of 8");
        assert_says(text, "\"changes\":[{\"stage\":\"decode\",\"begin_ms\":1764001200000,\"end_ms\":null,"
                          "\"before_seconds\":11.9,\"during_seconds\":23.9}]");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline", "threads", "2", 200), "\"limit\":\"pool\"");
        text = ask(place, &body, "/api/v1/jobs/train/pipeline", "changes", "0", 200);
        assert_says(text, "\"verdicts\":[{");
        assert_null(strstr(text, "changes"));
        (void)ask(place, &body, "/api/v1/jobs/train/pipeline", "changes", "yes", 400);
        (void)ask(place, &body, "/api/v1/jobs/train/pipeline", "threads", "-1", 400);
}

static void intervals_are_answered_as_json_and_csv(void **state) {
        PipelineInterval intervals[] = { tasks_of(1), queue_of(1), tasks_of(2) };
        scoped(buffer_deinit) Buffer body = {};
        Place *place = *state;
        const char *text;

        (void)put_intervals(place, intervals, 3, NULL);
        text = ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", NULL, NULL, 200);
        assert_says(text, "\"part\":\"tasks\",\"end_ms\":1764000060000,\"merged\":1,\"elapsed_s\":60.0");
        assert_says(text, "\"ave_time\":0.5,\"p90_time\":1.5");
        assert_says(text, "\"occupancy_rate\":0.5,\"begin_ms\":1764000000005,\"empty_s\":30.0,\"empty_rate\":0.5}");
        assert_says(text, "\"occupancy_rate\":null,\"begin_ms\":1764000000000,\"empty_s\":null,\"empty_rate\":null}");
        assert_says(text, "\"truncated\":false");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "limit", "1", 200),
                    "\"truncated\":true");
        assert_says(body.text, "\"next\":\"00000019ab698d260303a313a6465636f64655b345d\"");
        text = ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "page",
                   "00000019ab698d260303a313a6465636f64655b345d", 200);
        assert_says(text, "\"end_ms\":1764000120000");
        assert_null(strstr(text, "\"end_ms\":1764000060000"));
        assert_says(text, "\"part\":\"queue\"");
        assert_says(text, "\"truncated\":false,\"next\":null");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "page", "0", 400),
                    "'next' in the previous page");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "stage", "none", 200),
                    "\"intervals\":[]");
        text = ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "format", "csv", 200);
        assert_says(text, "stage,part,end_ms,merged,");
        assert_says(text, "0:1:decode[4],queue,1764000060005,1,60,,,,,,9,0.15,");
        text = ask(place, &body, "/api/v1/jobs/train/pipeline/intervals", "format", "xml", 400);
        assert_says(text, "one of json, csv");
}

static void events_are_answered(void **state) {
        PipelineEvent event = { "gc", BEGIN_MS, 0.25 };
        PipelineReport report = events_of(&event, 1);
        scoped(buffer_deinit) Buffer body = {};
        Place *place = *state;
        StoredReport stored;

        assert_int_equal(put(place, &report, "train", UID, &stored, NULL), STORE_DONE);
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline/events", NULL, NULL, 200),
                    "{\"name\":\"gc\",\"time_ms\":1764000000000,\"seconds\":0.25}");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline/events", "until_ms", "1764000000000", 200),
                    "\"events\":[]");
        assert_says(ask(place, &body, "/api/v1/jobs/train/pipeline", NULL, NULL, 200),
                    "\"description\":{\"threads\":4}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, place_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_series_has_the_sums_of_its_intervals),
                TEST(an_interval_is_stored_once),
                TEST(a_report_needs_a_job_of_the_sender),
                TEST(the_oldest_intervals_of_a_long_run_are_merged),
                TEST(a_page_may_begin_with_the_sum_of_an_interval_of_the_page_before),
                TEST(totals_that_were_lost_are_counted_again),
                TEST(stages_of_a_job_are_bounded),
                TEST(a_large_report_is_stored_in_parts),
                TEST(events_count_once_and_the_newest_are_kept),
                TEST(rows_are_removed_with_their_job_and_belong_to_its_user),
                TEST(rows_are_charged_to_the_later_user_of_their_job),
                TEST(rows_of_a_removed_job_are_removed_in_steps),
                TEST(intervals_of_a_user_above_the_share_are_merged),
                TEST(the_stages_of_a_job_are_answered_in_their_order),
                TEST(a_verdict_is_answered_with_the_changes_of_the_run),
                TEST(intervals_are_answered_as_json_and_csv),
                TEST(events_are_answered),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
