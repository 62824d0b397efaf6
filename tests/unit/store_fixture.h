/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by the tests of store and reader: a store in a temporary directory, results, and functions that wait for
 * completions.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventually.h"
#include "store/indicators/result_reader.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_rows.h"
#include "store/read/reader.h"
#include "store/database/statement.h"
#include "store/store.h"
#include "store/table/store_subject.h"
#include "util/clock.h"

/* Returns cookie number `number` of a test. */
static inline StoreCookie cookie_of(uint64_t number) {
        static const char kind[] = "test"; /* the store does not interpret cookies */

        return (StoreCookie){ .kind = (const struct Kind *)(const void *)kind,
                              .ticket = { .generation = 1, .number = number } };
}

/* Packs the start of a job by its user. */
static inline RowSet *pack_begin_row(const JobInfo *info, uint64_t begin_ms, const char *boot_id, const char *progress,
                                     const char *meter, StoreCookie cookie) {
        const StoreJobBegin row = {
                .info = info, .begin_realtime_ms = begin_ms, .boot_id = boot_id, .progress = progress, .meter = meter,
                .begun_by = info->uid,
        };

        return job_rows_pack_begin(&row, cookie);
}

#define ROOT (&(Peer){ .uid = 0, .is_admin = true })

typedef struct Place {
        char directory[64];
        Store *store;   /* NULL: not open */
        Reader *reader; /* reads the same file */
} Place;

static inline StoreConfig place_config(const Place *place) {
        StoreConfig config = {
                .size_max_bytes = UINT64_C(1) << 30,
                .expiry_period_ns = 1,
                .queue_rows_max = 100000,
                .queue_bytes_max = 64 << 20,
        };

        (void)snprintf(config.directory, sizeof(config.directory), "%s", place->directory);
        return config;
}

static inline void place_make(Place *place) {
        *place = (Place){ .directory = "/tmp/perfd-store-XXXXXX" };
        assert_non_null(mkdtemp(place->directory));
}

static inline void place_open_with(Place *place, const StoreConfig *config) {
        char *note;

        assert_int_equal(store_open(&place->store, config, &note), 0);
        assert_null(note);
        assert_int_equal(
                reader_new(&place->reader, store_path(place->store), store_wal_barrier(place->store), 10 * NS_PER_S),
                0);
}

static inline void place_open(Place *place) {
        StoreConfig config = place_config(place);

        place_open_with(place, &config);
}

/* A text as bytes of a row. */
#define BYTES(literal) ((Buffer){ .text = (char *)(uintptr_t)(literal), .n = sizeof(literal) - 1 })

static inline void place_close(Place *place) {
        place->reader = reader_free(place->reader);
        place->store = store_free(place->store);
}

static inline void place_path(const Place *place, const char *name, char ret[static PATH_MAX]) {
        (void)snprintf(ret, PATH_MAX, "%s/%s", place->directory, name);
}

/* Finds the first name in the directory with this prefix. */
static inline bool place_find(const Place *place, const char *begin, char ret[static PATH_MAX]) {
        DIR *directory = opendir(place->directory);
        struct dirent *entry;
        bool is_found = false;

        assert_non_null(directory);
        while (!is_found && (entry = readdir(directory)))
                if (strncmp(entry->d_name, begin, strlen(begin)) == 0) {
                        place_path(place, entry->d_name, ret);
                        is_found = true;
                }
        closedir(directory);
        return is_found;
}

static inline void place_remove(Place *place) {
        char path[PATH_MAX];

        place_close(place);
        while (place_find(place, "perfd", path))
                assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(place->directory), 0);
}

/* Setup function for cmocka: gives each test a separate place. */
static inline int place_setup_closed(void **state) {
        Place *place = calloc(1, sizeof(*place));

        assert_non_null(place);
        place_make(place);
        *state = place;
        return 0;
}

static inline int place_setup(void **state) {
        (void)place_setup_closed(state);
        place_open(*state);
        return 0;
}

/* For tests that do not depend on syncing. */
static inline int place_setup_volatile(void **state) {
        StoreConfig config;

        (void)place_setup_closed(state);
        config = place_config(*state);
        config.is_volatile = true;
        place_open_with(*state, &config);
        return 0;
}

static inline int place_teardown(void **state) {
        place_remove(*state);
        free(*state);
        return 0;
}

/* --- direct access to the database --------------------------------------------------------------- */

static inline sqlite3 *place_open_database(const Place *place, int flags) {
        char path[PATH_MAX];
        sqlite3 *db;

        place_path(place, "perfd.db", path);
        assert_int_equal(sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK);
        assert_int_equal(statement_define_visible(db, NULL), SQLITE_OK);
        sqlite3_busy_timeout(db, DEADLINE_MS);
        return db;
}

/* Returns the first column of the first row. */
static inline int64_t ask_place(const Place *place, const char *sql) {
        sqlite3 *db = place_open_database(place, SQLITE_OPEN_READONLY);
        sqlite3_stmt *statement;
        int64_t v;

        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        v = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        sqlite3_close(db);
        return v;
}

/* Counts the rows that only one of two queries has: without FULL JOIN, which SQLite has since 3.39. */
#define COUNT_DIFFERENCES(a, b) \
        "SELECT count(*) FROM (SELECT * FROM (" a " EXCEPT " b ") UNION ALL SELECT * FROM (" b " EXCEPT " a "))"
#define STORED_BYTES                                                                                                   \
        "SELECT uid, sum(n) FROM (SELECT uid, 256 + length(CAST(document AS BLOB)) + ifnull(length(CAST(run AS"        \
        " BLOB)), 0) AS n FROM result UNION ALL SELECT uid, 4096 + 1024 * n_phases FROM job UNION ALL"                 \
        " SELECT uid, n_bytes FROM stack UNION ALL SELECT uid, length(CAST(document AS BLOB)) FROM specification"      \
        " UNION ALL SELECT uid, 400 * n_series + 100 * (n_rows + n_events) + ifnull(length(CAST(description AS"        \
        " BLOB)), 0) FROM pipeline JOIN job ON job.row = pipeline.job) GROUP BY uid"

/* What users hold (holders.h) is the sum of their rows. */
static inline void assert_held_as_stored(const Place *place) {
        assert_int_equal(ask_place(place,
                                   COUNT_DIFFERENCES(STORED_BYTES,
                                                     "SELECT uid, n_bytes FROM holder WHERE n_bytes <> 0")),
                         0);
        assert_int_equal(ask_place(place,
                                   COUNT_DIFFERENCES("SELECT uid, row / 1024, count(*) FROM result GROUP BY 1, 2",
                                                     "SELECT uid, block, n_rows FROM holding")),
                         0);
        assert_int_equal(ask_place(place,
                                   "SELECT count(*) FROM holder AS h WHERE n_names <> (SELECT count(*) FROM indicator"
                                   " WHERE uid = h.uid)"
                                   " OR n_series <> (SELECT count(*) FROM series WHERE uid = h.uid)"),
                         0);
}

/* Returns the first statement after `of` (NULL: from the start) whose SQL contains this text. */
static inline const Statement *next_statement(const Statement *of, const char *text) {
        for (of = of ? of + 1 : __start_statements; of < __stop_statements; of++)
                if (of->sql && strstr(of->sql, text))
                        return of;
        fail_msg("no statement has: %s", text);
        return NULL;
}

static inline const Statement *statement_with(const char *text) {
        return next_statement(NULL, text);
}

/* Writes a step of a query plan as SQLite does since 3.36: "SEARCH s USING" for "SEARCH TABLE series AS s USING". */
static inline int write_step(char *ret, size_t n, const char *step) {
        char verb[16], table[64], alias[64];
        const char *rest = strstr(step, " USING ") ?: "";

        if (sscanf(step, "%15s TABLE %63s AS %63s", verb, table, alias) == 3)
                return snprintf(ret, n, "%s %s%s\n", verb, alias, rest);
        if (sscanf(step, "%15s TABLE %63s", verb, table) == 2)
                return snprintf(ret, n, "%s %s%s\n", verb, table, rest);
        return snprintf(ret, n, "%s\n", step);
}

/* Writes SQLite's query plan, one line per step. */
static inline void explain_at(const Place *place, const Statement *of, char *ret, size_t n_ret) {
        sqlite3 *db = place_open_database(place, SQLITE_OPEN_READONLY);
        Buffer sql = {};
        sqlite3_stmt *statement;
        size_t n = 0;

        buffer_puts(&sql, "EXPLAIN QUERY PLAN ");
        statement_put_sql(of, &sql);
        assert_int_equal(sqlite3_prepare_v2(db, sql.text, -1, &statement, NULL), SQLITE_OK);
        buffer_deinit(&sql);
        while (sqlite3_step(statement) == SQLITE_ROW)
                n += (size_t)write_step(ret + n, n_ret - n, (const char *)sqlite3_column_text(statement, 3));
        sqlite3_finalize(statement);
        sqlite3_close(db);
        assert_true(n > 0 && n < n_ret);
}

/* Checks that the plan contains this step, scans no whole table and sorts nothing. */
static inline void assert_plan(const Place *place, const Statement *of, const char *step) {
        char plan[2048];

        explain_at(place, of, plan, sizeof(plan));
        if (!strstr(plan, step) || strstr(plan, "SCAN") || strstr(plan, "TEMP B-TREE"))
                fail_msg("%s\nexpected: %s\nplan: %s", of->sql, step, plan);
}

/* Returns the row of a table of the subject. */
static inline const StoreTable *store_table(const StoreSubject *subject, const char *name) {
        const StoreTable *const *table = subject->tables;

        while (*table && strcmp((*table)->name, name) != 0)
                table++;
        assert_non_null(*table);
        return *table;
}

static inline void change_place(const Place *place, const char *sql) {
        sqlite3 *db = place_open_database(place, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- opening and damage -------------------------------------------------------------------------- */

/* Opens a store and returns the message in its note, which the caller frees. */
static inline char *open_with_note(Place *place, int expected) {
        StoreConfig config = place_config(place);
        char *note = NULL;

        assert_int_equal(store_open(&place->store, &config, &note), expected);
        assert_non_null(note);
        if (expected == 0)
                assert_int_equal(reader_new(&place->reader, store_path(place->store), store_wal_barrier(place->store),
                                            10 * NS_PER_S),
                                 0);
        return note;
}

static inline void write_at(const Place *place, off_t offset, const void *bytes, size_t n) {
        scoped(closep) int fd = -1;
        char path[PATH_MAX];

        place_path(place, "perfd.db", path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, bytes, n, offset), n);
}

/* --- results ------------------------------------------------------------------------------------- */

/* A result whose document is {"name":…,"component":…,"@result":{"n":…}}. */
typedef struct Item {
        Member result[1], members[3];
        Value result_value, document;
        Submission submission;
} Item;

static inline void item_make(Item *item, const char *name, const char *component, uint64_t n) {
        *item = (Item){};
        item->result[0] = (Member){ "n", { .type = VALUE_INT, .integer = (int64_t)n } };
        item->members[0] = (Member){ "name", { .type = VALUE_STRING, .string = name } };
        item->members[1] = (Member){ "component", { .type = VALUE_STRING, .string = component } };
        item->members[2].key = "@result";
        item->members[2].value.type = VALUE_OBJECT;
        item->members[2].value.members = item->result;
        item->members[2].value.n_members = 1;
        item->document.type = VALUE_OBJECT;
        item->document.members = item->members;
        item->document.n_members = 3;

        /* The number is the id. */
        for (size_t i = 0; i < sizeof(n); i++)
                item->submission.id[i] = (uint8_t)(n >> (56 - 8 * i));
        item->submission.job = "";
        item->submission.indicator = (Indicator){
                .name = name,
                .component = component,
                .result = &item->members[2].value,
                .document = &item->document,
        };
}

static inline uint64_t id_number(const uint8_t id[static 16]) {
        uint64_t n = 0;

        for (size_t i = 0; i < sizeof(n); i++)
                n = n << 8 | id[i];
        return n;
}

/* --- completions --------------------------------------------------------------------------------- */

/* Returns false if no completion arrives in time. */
static inline bool wait_done(Store *store, StoreDone *ret, int timeout_ms) {
        struct pollfd fd = { .fd = store_fd(store), .events = POLLIN };

        while (store_next_done(store, ret) == STORE_NONE)
                if (poll(&fd, 1, timeout_ms) == 0)
                        return store_next_done(store, ret) == 0;
        return true;
}

static inline StoreOutcome outcome_of(Store *store, uint64_t cookie) {
        StoreDone done;

        assert_true(wait_done(store, &done, DEADLINE_MS));
        assert_int_equal(done.cookie.ticket.number, cookie);
        return done.outcome;
}

static inline StoreOutcome put_one(Store *store, const Submission *submission, uint64_t cookie) {
        assert_int_equal(
                store_put(store, result_rows_pack(submission, 1, &(Peer){ .uid = 1000 }, 5000, cookie_of(cookie))), 0);
        return outcome_of(store, cookie);
}

static inline StoreOutcome put_number(Store *store, uint64_t n, uint64_t time_ms) {
        Item item;

        item_make(&item, "PiMatmul", "tensorflow", n);
        item.submission.time_ms = time_ms;
        return put_one(store, &item.submission, n);
}

/* Counts all rows of the filter, over as many pages as necessary. */
static inline uint64_t count_results(Reader *reader, const ResultFilter *filter) {
        uint64_t n = 0;
        ResultRow row;
        int r;

        assert_int_equal(result_reader_list(reader, filter), 0);
        while ((r = result_reader_next(reader, &row)) == 0)
                n++;
        assert_int_equal(r, READER_END);
        return n;
}
