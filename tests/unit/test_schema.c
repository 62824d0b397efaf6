/* SPDX-License-Identifier: Apache-2.0 */
/* The schema: each table belongs to one subject, all statements are valid, and an older file is moved aside. */
/* tests: daemon/store/subject_states.c daemon/store/database/statement.c */

#include "store_fixture.h"

#include <glob.h>

#include "store/database/database.h"
#include "store/indicators/indicator_reader.h"
#include "store/indicators/points.h"
#include "store/jobs/job_reader.h"
#include "store/jobs/job_rows.h"
#include "store/node/store_node.h"
#include "store/retention/retention.h"
#include "store/table/schema.h"
#include "store/table/store_subject.h"

/* --- tables -------------------------------------------------------------------------------------- */

static const StoreTable *table_at(size_t i) {
        for (const StoreSubject *const *subject = store_subject_list; *subject; subject++)
                for (const StoreTable *const *table = (*subject)->tables; *table; table++)
                        if (i-- == 0)
                                return *table;
        return NULL;
}

#define OBJECTS_MAX 256

typedef struct Objects {
        size_t n;
        char names[OBJECTS_MAX][64];
} Objects;

/* Adds the objects that a table's schema creates: all must belong to that table, except for triggers of tables
 * before it. */
static void add_objects(sqlite3 *db, const StoreTable *table, Objects *objects) {
        size_t n_before = objects->n;
        bool has_itself = false;
        sqlite3_stmt *statement;

        assert_int_equal(
                sqlite3_exec(db, "CREATE TEMP TABLE before AS SELECT name FROM main.sqlite_schema", NULL, NULL, NULL),
                SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, table->schema, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(
                sqlite3_prepare_v2(db,
                                   "SELECT name, tbl_name, type FROM main.sqlite_schema WHERE name NOT IN before"
                                   " AND name <> 'sqlite_sequence'",
                                   -1, &statement, NULL),
                SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
                if (strcmp((const char *)sqlite3_column_text(statement, 2), "trigger") != 0)
                        assert_string_equal((const char *)sqlite3_column_text(statement, 1), table->name);
                assert_true(objects->n < OBJECTS_MAX);
                (void)snprintf(objects->names[objects->n], sizeof(objects->names[0]), "%s",
                               sqlite3_column_text(statement, 0));
                has_itself |= strcmp(objects->names[objects->n++], table->name) == 0;
        }
        sqlite3_finalize(statement);
        assert_int_equal(sqlite3_exec(db, "DROP TABLE temp.before", NULL, NULL, NULL), SQLITE_OK);
        assert_true(has_itself && objects->n > n_before);
}

static size_t count_name(const Objects *objects, const char *name) {
        size_t n = 0;

        for (size_t i = 0; i < objects->n; i++)
                n += strcmp(objects->names[i], name) == 0;
        return n;
}

static void every_table_index_and_trigger_belongs_to_one_row(void **state) {
        sqlite3 *memory, *db = place_open_database(*state, SQLITE_OPEN_READONLY);
        Objects *objects = calloc(1, sizeof(*objects));
        sqlite3_stmt *statement;
        size_t n = 0;

        assert_non_null(objects);
        assert_int_equal(sqlite3_open(":memory:", &memory), SQLITE_OK);
        for (size_t i = 0; table_at(i); i++)
                add_objects(memory, table_at(i), objects);
        sqlite3_close(memory);

        /* SQLite makes sqlite_sequence, the highest numbers of jobs. */
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE name <> 'sqlite_sequence'", -1,
                                            &statement, NULL),
                         SQLITE_OK);
        for (; sqlite3_step(statement) == SQLITE_ROW; n++)
                assert_int_equal(count_name(objects, (const char *)sqlite3_column_text(statement, 0)), 1);
        sqlite3_finalize(statement);
        sqlite3_close(db);
        assert_int_equal(n, objects->n);
        assert_true(n > 20);
        free(objects);
}

static void every_table_is_checked_and_keeps_its_rows_by_a_limit_or_by_another_table(void **state) {
        (void)state;
        for (size_t i = 0; table_at(i); i++) {
                const StoreTable *table = table_at(i);
                const TableRetention *retention = table->retention;

                assert_non_null(table->checks[0]);
                for (size_t k = 0; k < TABLE_CHECKS_MAX && table->checks[k]; k++)
                        assert_non_null(strstr(table->checks[k], table->name));
                if (!retention)
                        continue;
                assert_non_null(retention->remove);
                assert_int_equal((retention->run != NULL) + (retention->leftover != NULL), 1);
                assert_int_equal(retention->expire != NULL, retention->keep > 0);
                for (size_t k = 0; k < i; k++)
                        assert_true(!table_at(k)->retention || retention->order != table_at(k)->retention->order);
        }
}

static void assert_in_array(const Statement *statement) {
        assert_true(!statement || (statement >= __start_statements && statement < __stop_statements));
}

static void every_removal_is_in_the_array_of_statements(void **state) {
        (void)state;
        for (size_t i = 0; table_at(i); i++) {
                const TableRetention *retention = table_at(i)->retention;

                if (!retention)
                        continue;
                assert_in_array(retention->remove);
                assert_in_array(retention->remove_of_user);
                assert_in_array(retention->expire);
        }
}

/* SQLite stores the columns of the key first, and salvage reads the columns of a row in their declared order. */
static void tables_without_rowids_begin_with_the_columns_of_their_key(void **state) {
        assert_true(ask_place(*state, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%WITHOUT ROWID'") >= 7);
        assert_int_equal(ask_place(*state,
                                   "SELECT count(*) FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c"
                                   " WHERE t.sql LIKE '%WITHOUT ROWID' AND c.pk > 0 AND c.pk <> c.cid + 1"),
                         0);
}

/* The linker includes a file with its statements only if one of its functions is used. */
static void (*const volatile used[])(void) = {
        (void (*)(void))indicator_reader_list, (void (*)(void))job_reader_list, (void (*)(void))job_reader_recover,
        (void (*)(void))points_new, (void (*)(void))result_reader_list, (void (*)(void))store_node_list,
};

static void every_statement_has_its_declared_columns(void **state) {
        sqlite3 *db = place_open_database(*state, SQLITE_OPEN_READWRITE);
        size_t n = 0;

        assert_true(__stop_statements - __start_statements <= STATEMENT_CACHE_SLOTS);
        for (const Statement *next = __start_statements; next < __stop_statements; next++) {
                sqlite3_stmt *statement;

                if (!next->sql)
                        continue;
                if (statement_prepare(db, next, 0, &statement) != SQLITE_OK)
                        fail_msg("%s: %s", next->sql, sqlite3_errmsg(db));
                assert_int_equal(sqlite3_column_count(statement), next->n_columns);
                sqlite3_finalize(statement);
                n++;
        }
        sqlite3_close(db);
        assert_true(n > 60 && used[0]);
}

static void a_removed_job_takes_its_phases_and_timeline_with_it(void **state) {
        Place *place = *state;
        PhaseView phase = { .name = "load" };
        StoreJobEnd end = {
                .job = "a",
                .state = JOB_FINISHED,
                .end_realtime_ms = 2,
                .end = &(JobEnd){},
                .phase = &phase,
                .timeline = &BYTES("t"),
        };

        assert_int_equal(
                store_put(place->store, pack_begin_row(&(JobInfo){ .id = "a" }, 1, "b", "w", "m", cookie_of(1))), 0);
        assert_int_equal(store_put(place->store, job_rows_pack_end(&end, cookie_of(2))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        assert_int_equal(outcome_of(place->store, 2), STORE_DONE);
        place_close(place);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline"), 3);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase"), 1);

        change_place(place, "DELETE FROM job");
        assert_int_equal(ask_place(place, "SELECT count(*) FROM timeline"), 0);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM phase"), 0);
}

/* --- versions ------------------------------------------------------------------------------------ */

static void put_a_job_and_close(Place *place) {
        assert_int_equal(
                store_put(place->store, pack_begin_row(&(JobInfo){ .id = "a" }, 1, "b", "w", "m", cookie_of(1))), 0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        place_close(place);
}

static void a_new_file_has_the_version_of_its_program(void **state) {
        assert_int_equal(ask_place(*state, "PRAGMA user_version"), SCHEMA_VERSION);
}

static void a_file_of_an_older_perfd_is_moved_aside_whole_and_named(void **state) {
        Place *place = *state;
        StoreConfig config = place_config(place);
        char pattern[PATH_MAX];
        StoreStats stats;
        glob_t files;
        char *note;

        put_a_job_and_close(place);
        change_place(place, "PRAGMA user_version = 1");
        assert_int_equal(store_open(&place->store, &config, &note), 0);
        assert_non_null(note);
        assert_non_null(strstr(note, "has format 1 of an older perfd, which this perfd cannot read: moved to "));
        place_path(place, "perfd.db.older-*Z", pattern);
        assert_int_equal(glob(pattern, 0, NULL, &files), 0);
        assert_int_equal(files.gl_pathc, 1);
        assert_non_null(strstr(note, files.gl_pathv[0]));
        free(note);

        assert_int_equal(put_number(place->store, 1, 1), STORE_DONE);
        assert_int_equal(ask_place(place, "PRAGMA user_version"), SCHEMA_VERSION);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job"), 0);
        store_stats(place->store, &stats);
        assert_int_equal(stats.damage.n_files, 0);

        place_close(place);
        place_path(place, "perfd.db", pattern);
        assert_int_equal(rename(files.gl_pathv[0], pattern), 0);
        globfree(&files);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM job"), 1);
}

static void a_newer_file_is_refused(void **state) {
        Place *place = *state;
        char *note;
        StoreConfig config = place_config(place);

        place_close(place);
        change_place(place, "PRAGMA user_version = 8");
        assert_int_equal(store_open(&place->store, &config, &note), STORE_UNSUPPORTED);
        assert_non_null(strstr(note, "has format 8, written by a newer perfd; this perfd supports up to 7"));
        free(note);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup_volatile, place_teardown)
                TEST(every_table_index_and_trigger_belongs_to_one_row),
                TEST(every_table_is_checked_and_keeps_its_rows_by_a_limit_or_by_another_table),
                TEST(every_removal_is_in_the_array_of_statements),
                TEST(tables_without_rowids_begin_with_the_columns_of_their_key),
                TEST(every_statement_has_its_declared_columns),
                TEST(a_removed_job_takes_its_phases_and_timeline_with_it),
                TEST(a_new_file_has_the_version_of_its_program),
                TEST(a_file_of_an_older_perfd_is_moved_aside_whole_and_named),
                TEST(a_newer_file_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
