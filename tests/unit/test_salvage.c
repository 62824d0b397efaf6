/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database with damaged pages: a new file replaces it at once, and eventually contains the rows of all intact
 * pages.
 */
/* tests: daemon/store/damage/salvage.c daemon/store/damage/damaged_table.c daemon/store/damage/damaged_file.c
    daemon/store/writer.c */

#include "store/damage/damaged_table.h"
#include "store/damage/salvage.h"
#include "store/indicators/result_reader.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store/opening.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/table/schema.h"
#include "store_fixture.h"

static void assert_salvaged(Place *place, uint64_t n_files) {
        StoreStats stats;
        char path[PATH_MAX];

        EVENTUALLY((store_stats(place->store, &stats), stats.damage.salvaged[0] && !stats.damage.is_salvaging));
        assert_int_equal(stats.damage.n_files, n_files);
        assert_non_null(strstr(stats.damage.salvaged, "perfd.db.salvaged-"));
        assert_true(place_find(place, "perfd.db.salvaged-", path));
        assert_false(place_find(place, "perfd.db.damaged-", path));
}

/* Overwrites the first page of a table or index. */
static void damage_root(const Place *place, const char *name) {
        char sql[128];
        uint8_t junk[4096];
        off_t page;

        memset(junk, 0x5a, sizeof(junk));
        (void)snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
        page = ask_place(place, sql);
        write_at(place, (page - 1) * 4096, junk, sizeof(junk));
}

static void a_damaged_page_found_while_writing_costs_no_row(void **state) {
        Place *place = *state;
        StoreStats stats;

        /* An index that is not read when opening, but by the first job. */
        place_open(place);
        for (uint64_t n = 1; n <= 50; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        damage_root(place, "job_by_user");

        place_open(place);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&(JobInfo){ .id = "a" }, 1, "b", "w", "m", cookie_of(5))), 0);
        assert_int_equal(outcome_of(place->store, 5), STORE_DONE);
        store_stats(place->store, &stats);
        assert_true(stats.is_writable);
        assert_int_equal(stats.n_commit_failures, 0);
        assert_non_null(strstr(stats.damage.found, "malformed"));

        assert_salvaged(place, 1);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 50);
        assert_int_equal(put_number(place->store, 50, 50), STORE_DUPLICATE);
        place_close(place);

        place_open(place);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 50);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE state = 'running'"), 1);
        assert_int_equal(ask_place(place, "SELECT n_results FROM indicator"), 50);
}

static void a_damaged_page_found_by_a_query_replaces_the_file(void **state) {
        Place *place = *state;
        StoreStats stats;

        place_open(place);
        for (uint64_t n = 1; n <= 50; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        damage_root(place, "result_by_name");

        place_open(place);
        assert_int_equal(result_reader_list(place->reader, &(ResultFilter){ .name = "PiMatmul" }), 0);
        {
                ResultRow row;

                assert_int_equal(result_reader_next(place->reader, &row), READER_BROKEN);
        }
        EVENTUALLY((store_stats(place->store, &stats), stats.damage.n_files == 1));
        assert_salvaged(place, 1);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "PiMatmul" }), 50);
        assert_int_equal(put_number(place->store, 51, 51), STORE_DONE);
        assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "PiMatmul" }), 51);
}

static void running_jobs_and_their_phases_outlive_damage(void **state) {
        PhaseView phase = { .index = 0, .name = "load", .begin_realtime_ms = 1, .end_realtime_ms = 5 };
        StorePhase mark = { .job = "b", .phase = &phase, .progress = "w", .boot_id = "b", .meter = "m" };
        Place *place = *state;
        JobEnd end = { .has_exit_status = true };
        StoreJobEnd over = {
                .job = "b", .state = JOB_FINISHED, .end_realtime_ms = 20, .end = &end, .timeline = &BYTES("points"),
        };
        JobRow row;

        place_open(place);
        for (const char *id = "abc"; *id; id++) {
                JobInfo info = { .id = { *id } };

                assert_int_equal(store_put(place->store, pack_begin_row(&info, 1, "b", "w", "m", cookie_of(1))), 0);
                assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        }
        assert_int_equal(store_put(place->store, job_rows_pack_phase(&mark, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
        over.job = "a";
        assert_int_equal(store_put(place->store, job_rows_pack_end(&over, cookie_of(3))), 0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        place_close(place);
        damage_root(place, "job_by_user");

        place_open(place);
        over.job = "b";
        assert_int_equal(store_put(place->store, job_rows_pack_end(&over, cookie_of(4))), 0);
        assert_int_equal(outcome_of(place->store, 4), STORE_DONE);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&(JobInfo){ .id = "d" }, 30, "b", "w", "m", cookie_of(5))), 0);
        assert_int_equal(outcome_of(place->store, 5), STORE_DONE);
        assert_salvaged(place, 1);

        assert_int_equal(job_reader_find(place->reader, "a", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
        reader_reset(place->reader);
        assert_int_equal(job_reader_find(place->reader, "c", &row), 0);
        assert_int_equal(row.view.state, JOB_RUNNING);
        reader_reset(place->reader);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job"), 4);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase JOIN job ON job.row = phase.job WHERE id = 'b'"),
                         1);
        assert_int_equal(
                ask_place(place, "SELECT count(*) FROM timeline JOIN job ON job.row = part / 3 WHERE id IN ('a', 'b')"),
                6);
        assert_held_as_stored(place);
}

/* The user of a pipeline is charged for what was salvaged. */
static void pipelines_are_charged_to_their_user(void **state) {
        Place *place = *state;

        place_open(place);
        assert_int_equal(store_put(place->store, pack_begin_row(&(JobInfo){ .id = "a", .uid = 1000 }, 1, "b", "w", "m",
                                                                cookie_of(5))),
                         0);
        assert_int_equal(outcome_of(place->store, 5), STORE_DONE);
        place_close(place);
        change_place(place,
                     "INSERT INTO pipeline_series VALUES (7, 1, '0:1:a', 0, '', 3, 3, 1, 0, 3, 3, 0, 3, 0, 0, 0);"
                     "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)"
                     " INSERT INTO pipeline_interval SELECT 1, 0, i, 7, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0 FROM n;"
                     "INSERT INTO pipeline VALUES (1, 1, 50, 0, 2, 1, '{\"threads\":4}')");
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"),
                         4096 + 400 + 50 * 100 + 2 * 100 + 13);
        damage_root(place, "job_by_user");

        place_open(place);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&(JobInfo){ .id = "b" }, 1, "b", "w", "m", cookie_of(6))), 0);
        assert_int_equal(outcome_of(place->store, 6), STORE_DONE);
        assert_salvaged(place, 1);
        assert_int_equal(ask_place(place, "SELECT n_rows FROM pipeline"), 50);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"),
                         4096 + 400 + 50 * 100 + 2 * 100 + 13);
        place_close(place);
        change_place(place, "DELETE FROM job");
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"), 0);
}

/* Stores a report of an interval, and of an event without duration, as the writer does between two steps of a
 * salvage. */
static void report_interval(Database *database, uint64_t end_ms, uint64_t n_expected) {
        PipelineInterval interval = {
                .stage = "0:1:a", .part = PIPELINE_TASKS, .end_ms = end_ms, .sums = { .elapsed_s = 1, .n = 1 }
        };
        PipelineEvent event = { "gc", end_ms, 0 };
        const PipelineReport report = {
                .job = "a", .producer = "", .intervals = &interval, .n_intervals = 1, .events = &event, .n_events = 1,
        };
        scoped(rowset_freep) RowSet *set = pipeline_rows_pack(&report, "a", 1000, false, end_ms, cookie_of(1));

        assert_int_equal(database_begin(database), 0);
        assert_int_equal(set->kind->apply(set, database, NULL), 0);
        assert_int_equal(database_commit(database), 0);
        assert_int_equal(set->outcome, STORE_DONE);
        assert_int_equal(pipeline_rows_stored(set)->n_new, n_expected);
}

static void put_merged_pipeline(Place *place) {
        place_open(place);
        assert_int_equal(store_put(place->store, pack_begin_row(&(JobInfo){ .id = "a", .uid = 1000 }, 1, "b", "w", "m",
                                                                cookie_of(5))),
                         0);
        assert_int_equal(outcome_of(place->store, 5), STORE_DONE);
        place_close(place);
        change_place(
                place,
                "INSERT INTO pipeline_series VALUES (7, 1, '0:1:a', 0, '', 1000, 50, 1, 0, 50, 50, 0, 0, 0, 0, 0);"
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)"
                " INSERT INTO pipeline_interval SELECT 1, i < 30, i * 20, 7, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM n;"
                "INSERT INTO pipeline VALUES (1, 1, 50, 29 * 20, 9, 4.5, '{\"threads\":4}')");
}

/* Reports on the job after the first rows were salvaged, and after the last. meanwhile: SQL that runs in between. */
static void salvage_with_reports(const Place *place, const char *meanwhile) {
        char old_path[PATH_MAX], new_path[PATH_MAX];
        bool has_more = true;
        Database database;
        Salvage salvage;

        place_path(place, "perfd.db", old_path);
        place_path(place, "perfd.new", new_path);
        assert_int_equal(opening_open_file(new_path, &database), 0);
        assert_int_equal(salvage_open(&salvage, old_path), 0);
        assert_int_equal(salvage_begin(&salvage, &database), 0);
        report_interval(&database, 2000, 1);
        report_interval(&database, 20, 0); /* merged before */
        assert_int_equal(database_exec(&database, meanwhile), 0);
        while (has_more)
                assert_int_equal(salvage_step(&salvage, &database, &has_more), 0);
        salvage_close(&salvage);
        report_interval(&database, 3000, 1);
        database_close(&database);
        assert_int_equal(rename(new_path, old_path), 0);
}

static void running_pipelines_are_reported_during_a_salvage(void **state) {
        Place *place = *state;

        put_merged_pipeline(place);
        salvage_with_reports(place, "");
        assert_int_equal(
                ask_place(place,
                          "SELECT count(*) FROM pipeline WHERE n_series = 1 AND n_rows = 52 AND merged_ms = 29 * 20"
                          " AND n_events = 9 + 3 AND event_s = 4.5 AND description IS NOT NULL"),
                1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM pipeline_interval WHERE series = 7"), 52);
        assert_int_equal(ask_place(place, "SELECT n = 52 FROM pipeline_series"), 1);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"),
                         4096 + 400 + 52 * 100 + 12 * 100 + 13);
}

/* Of a job that has ended, the row is salvaged late: a report may come before it. */
static void a_row_of_a_report_gets_the_totals_of_the_damaged_file(void **state) {
        Place *place = *state;

        put_merged_pipeline(place);
        salvage_with_reports(place, "UPDATE pipeline SET merged_ms = 0, n_events = 2, event_s = 0, description = NULL");
        assert_int_equal(
                ask_place(place,
                          "SELECT count(*) FROM pipeline WHERE n_series = 1 AND n_rows = 52 AND merged_ms = 29 * 20"
                          " AND n_events = 9 + 1 AND event_s = 4.5 AND description IS NOT NULL"),
                1);
        assert_int_equal(ask_place(place, "SELECT n_bytes FROM holder WHERE uid = 1000"),
                         4096 + 400 + 52 * 100 + 10 * 100 + 13);
}

/* Of about a thousand rows, one page with about 16 is lost, wherever the page is. */
static void only_the_rows_of_damaged_pages_are_lost(void **state) {
        static const char *const names[] = { "result", "result_by_id", "term" };
        Place *place = *state;
        uint64_t n_left = 2000;

        place_open(place);
        for (uint64_t n = 1; n <= n_left; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        change_place(place, "INSERT INTO stack VALUES (7, x'07', 1000, 0, 0, 10, '{}');"
                            "INSERT INTO specification VALUES (8, x'08', 1000, 0, '{}');"
                            "UPDATE result SET stack = 7, specification = 8 WHERE row % 2 = 0");
        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                scoped(freep) char *note = NULL;

                damage_root(place, names[i]);
                note = open_with_note(place, 0);
                assert_non_null(strstr(note, "perfd.db.damaged-"));
                assert_salvaged(place, 1);
                assert_int_equal(count_results(place->reader, &(ResultFilter){ .name = "PiMatmul" }), n_left);
                place_close(place);
        }
        write_at(place, 100 * 4096, (char[4096]){}, 4096);
        damage_root(place, "result");
        free(open_with_note(place, 0));
        assert_salvaged(place, 1);
        assert_in_range(count_results(place->reader, &(ResultFilter){ .name = "PiMatmul" }), n_left - 50, n_left);
        assert_true(ask_place(place, "SELECT n_bytes FROM holder") > 0);
        assert_held_as_stored(place);
        assert_in_range(ask_place(place, "SELECT n_results FROM stack"), n_left / 2 - 50, n_left / 2);
        assert_int_equal(ask_place(place, "SELECT n_results FROM stack"),
                         ask_place(place, "SELECT count(*) FROM result WHERE stack = 7"));
        assert_int_equal(ask_place(place, "SELECT n_results FROM specification"),
                         ask_place(place, "SELECT count(*) FROM result WHERE specification = 8"));
}

/* Gives the directory a name that has another meaning as a pattern. */
static void rename_as_pattern(Place *place) {
        char name[sizeof(place->directory)];

        assert_true(snprintf(name, sizeof(name), "%s-[ab]?*\\", place->directory) < (int)sizeof(name));
        assert_int_equal(rename(place->directory, name), 0);
        strcpy(place->directory, name);
}

static void a_salvage_that_was_interrupted_is_repeated(void **state) {
        Place *place = *state;
        char path[PATH_MAX], damaged[PATH_MAX + 64];
        StoreOutcome outcome;

        rename_as_pattern(place);
        place_open(place);
        for (uint64_t n = 1; n <= 50; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        place_path(place, "perfd.db", path);
        (void)snprintf(damaged, sizeof(damaged), "%s.damaged-2026-01-01T00:00:00Z", path);
        assert_int_equal(rename(path, damaged), 0);

        place_open(place);
        outcome = put_number(place->store, 7, 7); /* a duplicate if the salvage was faster */
        assert_true(outcome == STORE_DONE || outcome == STORE_DUPLICATE);
        assert_salvaged(place, 0);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 50);
        assert_int_equal(ask_place(place, "SELECT n_results FROM indicator"), 50);
        assert_held_as_stored(place);
}

/* As another version of perfd may have made the file. */
static void columns_are_found_by_name(void **state) {
        Place *place = *state;
        char before[256];

        place_open(place);
        for (uint64_t n = 1; n <= 20; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        assert_int_equal(store_put(place->store,
                                   pack_begin_row(&(JobInfo){ .id = "a", .uid = 7 }, 1, "b", "w", "m", cookie_of(5))),
                         0);
        assert_int_equal(outcome_of(place->store, 5), STORE_DONE);
        place_close(place);
#define RESULTS                                                                                                        \
        "SELECT sum(time_ms) + sum(uid) + total(length(document)) + count(version IS NULL) + count(exit_status) FROM " \
        "result"
        (void)snprintf(before, sizeof(before), "SELECT (" RESULTS ") = %lld", (long long)ask_place(place, RESULTS));

        change_place(place, "ALTER TABLE result RENAME TO sound;"
                            "CREATE TABLE result (document TEXT NOT NULL, time_ms INTEGER NOT NULL, uid INTEGER NOT "
                            "NULL, run TEXT,"
                            " row INTEGER PRIMARY KEY, job TEXT, id BLOB NOT NULL, name INTEGER, component INTEGER, "
                            "batch_index INTEGER,"
                            " score REAL, exit_status INTEGER, version TEXT, series INTEGER, job_row INTEGER, batch "
                            "BLOB);"
                            "INSERT INTO result SELECT document, time_ms, uid, run, row, job, id, name, component, "
                            "batch_index, score,"
                            " exit_status, version, series, job_row, batch FROM sound;"
                            "DROP TABLE sound;"
                            "PRAGMA writable_schema = ON;"
                            "UPDATE sqlite_schema SET sql = replace(sql, ', by_admin INTEGER NOT NULL DEFAULT 0', '')"
                            " WHERE name = 'job';");
        damage_root(place, "job_by_user");
        damage_root(place, "term");

        free(open_with_note(place, 0));
        assert_salvaged(place, 1);
        assert_int_equal(count_results(place->reader, &(ResultFilter){}), 20);
        assert_int_equal(ask_place(place, before), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE claimed_ms IS NULL"), 20);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE id = 'a' AND uid = 7 AND by_admin = 0"), 1);
}

static void a_value_of_another_type_is_not_moved(void **state) {
        Place *place = *state;

        place_open(place);
        for (uint64_t n = 1; n <= 20; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_close(place);
        change_place(place, "UPDATE result SET document = x'00' WHERE row = 7;"
                            "UPDATE result SET uid = 'x' WHERE row = 8;"
                            "UPDATE result SET score = 3 WHERE row = 9");
        damage_root(place, "term");

        free(open_with_note(place, 0));
        assert_salvaged(place, 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result"), 18);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE row IN (7, 8)"), 0);
        assert_int_equal(ask_place(place, "SELECT typeof(score) = 'real' FROM result WHERE row = 9"), 1);
}

/* SQLite has moved another tree to the root of the table that was dropped. */
static void a_missing_table_has_no_rows(void **state) {
        char old_path[PATH_MAX], new_path[PATH_MAX];
        Place *place = *state;
        Field fields[DAMAGED_COLUMNS_MAX];
        DamagedTable table;
        Database database;
        DamagedFile *file;
        size_t n;

        place_open(place);
        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        place_close(place);
        change_place(place, "DROP TABLE stack");
        place_path(place, "perfd.db", old_path);
        place_path(place, "new.db", new_path);
        assert_int_equal(opening_open_file(new_path, &database), 0);
        assert_int_equal(damaged_file_open(&file, old_path, SCHEMA_APPLICATION_ID), 0);

        assert_int_equal(damaged_table_open(&table, file, &database, "stack", NULL), 0);
        assert_int_equal(damaged_table_next(&table, fields, &n), 0);
        assert_int_equal(n, 0);
        damaged_table_close(&table);
        assert_int_equal(damaged_table_open(&table, file, &database, "result", NULL), 0);
        assert_int_equal(damaged_table_next(&table, fields, &n), 0);
        assert_int_equal(n, 19);
        assert_int_equal(damaged_table_next(&table, fields, &n), 0);
        assert_int_equal(n, 0);
        assert_false(table.is_damaged);
        damaged_table_close(&table);
        damaged_file_free(file);
        database_close(&database);
        assert_int_equal(unlink(new_path), 0);
}

/* Indexes tell which jobs there were, so that phases and timelines outside of damaged pages stay. */
static void jobs_of_a_damaged_page_are_restored_from_indexes(void **state) {
        PhaseView phase = { .index = 2, .name = "load", .begin_realtime_ms = 11, .end_realtime_ms = 15 };
        StorePhase mark = { .phase = &phase, .progress = "w", .boot_id = "b", .meter = "m" };
        StoreJobEnd over = {
                .state = JOB_FINISHED, .end_realtime_ms = 20, .end = &(JobEnd){}, .timeline = &BYTES("points"),
        };
        Place *place = *state;
        JobRow row;

        place_open(place);
        for (int i = 1; i <= 10; i++) {
                JobInfo info = { .name = "train", .user = "alice", .uid = 1000 };

                (void)snprintf(info.id, sizeof(info.id), "job-%d", i);
                mark.job = over.job = info.id;
                assert_int_equal(store_put(place->store, pack_begin_row(&info, 10, "b", "w", "m", cookie_of(1))), 0);
                assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
                assert_int_equal(store_put(place->store, job_rows_pack_phase(&mark, cookie_of(2))), 0);
                assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
                if (i == 10)
                        break;
                assert_int_equal(store_put(place->store, job_rows_pack_end(&over, cookie_of(3))), 0);
                assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
        }
        place_close(place);
        damage_root(place, "job");

        free(open_with_note(place, 0));
        assert_salvaged(place, 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE name = 'train' AND user = 'alice' AND uid = "
                                          "1000 AND n_phases = 3"
                                          " AND begin_ms = 10 AND note LIKE 'restored from indexes%'"),
                         10);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE state = 'finished' AND id GLOB 'job-[1-9]'"),
                         9);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job WHERE state = 'interrupted' AND id = 'job-10'"), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase JOIN job ON job.row = phase.job"), 10);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline JOIN job ON job.row = part / 3"), 3 * 9);
        assert_held_as_stored(place);
        assert_int_equal(job_reader_find(place->reader, "job-1", &row), 0);
        assert_int_equal(row.view.state, JOB_FINISHED);
}

static void copy_file(const char *from, const char *to) {
        char command[2 * PATH_MAX + 16];

        assert_true(snprintf(command, sizeof(command), "cp '%s' '%s'", from, to) < (int)sizeof(command));
        assert_int_equal(system(command), 0);
}

/* No checkpoint has moved the rows from the log to the file yet. */
static void rows_in_the_log_are_salvaged_as_well(void **state) {
        char path[PATH_MAX], wal[PATH_MAX + 8], damaged[PATH_MAX + 64], damaged_wal[PATH_MAX + 72];
        Place *place = *state;
        uint64_t n_left;

        place_open(place);
        for (uint64_t n = 1; n <= 20; n++)
                assert_int_equal(put_number(place->store, n, n), STORE_DONE);
        place_path(place, "perfd.db", path);
        (void)snprintf(wal, sizeof(wal), "%s-wal", path);
        (void)snprintf(damaged, sizeof(damaged), "%s.damaged-2026-01-01T00:00:00Z", path);
        (void)snprintf(damaged_wal, sizeof(damaged_wal), "%s-wal", damaged);
        copy_file(path, damaged);
        copy_file(wal, damaged_wal);
        place_close(place);
        assert_int_equal(unlink(path), 0);

        place_open(place);
        assert_salvaged(place, 0);
        n_left = count_results(place->reader, &(ResultFilter){});
        assert_int_equal(n_left, 20);
        assert_false(place_find(place, "perfd.db.damaged-", path));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_closed, place_teardown)
                TEST(a_damaged_page_found_while_writing_costs_no_row),
                TEST(a_damaged_page_found_by_a_query_replaces_the_file),
                TEST(running_jobs_and_their_phases_outlive_damage),
                TEST(pipelines_are_charged_to_their_user),
                TEST(running_pipelines_are_reported_during_a_salvage),
                TEST(a_row_of_a_report_gets_the_totals_of_the_damaged_file),
                TEST(only_the_rows_of_damaged_pages_are_lost),
                TEST(a_salvage_that_was_interrupted_is_repeated),
                TEST(columns_are_found_by_name),
                TEST(a_value_of_another_type_is_not_moved),
                TEST(a_missing_table_has_no_rows),
                TEST(jobs_of_a_damaged_page_are_restored_from_indexes),
                TEST(rows_in_the_log_are_salvaged_as_well),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
