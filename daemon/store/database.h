/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Database: one SQLite connection that writes
 *
 * Opens the file, holds every statement the writer runs, and turns SQLite's codes into
 * ours. One thread uses it at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/pack.h"

/* Every statement there is; what each says is in database.c. */
typedef enum Statement {
        STATEMENT_BEGIN,
        STATEMENT_COMMIT,
        STATEMENT_ROLLBACK,
        STATEMENT_PAGE_COUNT,
        STATEMENT_FREE_PAGES,

        STATEMENT_RESULT_INSERT,
        STATEMENT_RESULT_FIND,
        STATEMENT_TERM_FIND,
        STATEMENT_TERM_INSERT,
        STATEMENT_INDICATOR_ADD,
        STATEMENT_INDICATOR_FIND,
        STATEMENT_INDICATOR_INDEX,

        STATEMENT_SERIES_FIND,
        STATEMENT_SERIES_INSERT,
        STATEMENT_PROPERTY_INSERT,
        STATEMENT_POINT_PUT,
        STATEMENT_POINT_REMOVE,
        STATEMENT_RESULT_SERIES,

        STATEMENT_MODEL_PUT,
        STATEMENT_MODEL_REMOVE,
        STATEMENT_MODELS_FORGET,
        STATEMENT_MODELS_APPLY,
        STATEMENT_MODEL_APPLY,
        STATEMENT_ROW_NEXT,
        STATEMENT_UNINDEXED_TOP,
        STATEMENT_UNINDEXED_NEXT,
        STATEMENT_UNINDEXED_DONE,

        STATEMENT_JOB_INSERT,
        STATEMENT_JOB_END,
        STATEMENT_TIMELINE_PUT,
        STATEMENT_PHASE_PUT,
        STATEMENT_JOB_LEARNED,
        STATEMENT_JOB_PHASES,
        STATEMENT_JOB_FIND,
        STATEMENT_JOB_AMEND,
        STATEMENT_RUNNING_PUT,
        STATEMENT_RUNNING_CHECKPOINT,
        STATEMENT_RUNNING_REMOVE,
        STATEMENT_JOBS_INTERRUPT,
        STATEMENT_RUNNING_CLEAR,
        STATEMENT_LAYOUT_FIND,
        STATEMENT_LAYOUT_INSERT,
        STATEMENT_LAYOUTS_ARE_MANY,
        STATEMENT_LAYOUTS_TIDY,
        STATEMENT_METER_PUT,
        STATEMENT_NODE_SAMPLE_PUT,

        STATEMENT_SAMPLES_REMOVE,
        STATEMENT_RESULTS_REMOVE,
        STATEMENT_JOBS_REMOVE,
        STATEMENT_SAMPLES_EXPIRE,
        STATEMENT_RESULTS_EXPIRE,
        STATEMENT_JOBS_EXPIRE,
        STATEMENT_INDICATOR_SUBTRACT,
        STATEMENT_INDICATORS_TIDY,
        STATEMENT_TERMS_TIDY,
        STATEMENT_VACUUM,
        N_STATEMENTS,
} Statement;

typedef struct Database {
        sqlite3 *db;
        sqlite3_stmt *statements[N_STATEMENTS]; /* those that have run; NULL: not yet */
        int unprepared_code;                    /* why the last one could not be prepared: the next that runs fails with it */
        int n_wal_pages; /* in the write-ahead log after the last commit */
} Database;

/* Outcomes of everything that runs SQL. */
enum {
        DATABASE_ROW = 1, /* a row is there to be read */
        DATABASE_REFUSED, /* this row cannot be stored, whatever happens: too big, breaks a constraint */
        DATABASE_FULL,    /* the disk, or the limit set by PRAGMA max_page_count */
        DATABASE_CORRUPT, /* not a database, or a damaged one */
};

/* An SQLite result code as 0, an outcome, or a negative errno. */
int database_outcome(sqlite3 *db, int code);

/* Opens or creates the file and no more: nothing is read or written yet. 0 or an error. */
int database_open(Database *database, const char *path);
void database_close(Database *database);
/* Keeps n_wal_pages from here on; the struct must stay where it is. */
void database_watch(Database *database);
/* Whether to wait a while for connections that are in the way, as at first, or not at all. */
void database_wait(Database *database, bool waits);
/* Runs SQL that takes no values and whose rows nobody wants. */
int database_exec(Database *database, const char *sql);
/* The first column of the first row. */
int database_ask(Database *database, const char *sql, int64_t *ret);
/* Whether each statement can be prepared on this schema. They are when they first run: most perfds never need most. */
int database_prepare(Database *database);
/* What the last failure was, in SQLite's words. Borrowed until the next call. */
const char *database_error(Database *database);

/* Binding by position, from 1. What is bound must stay until the statement ran. */
sqlite3_stmt *database_statement(Database *database, Statement statement);
void bind_text(sqlite3_stmt *statement, int i, Text text);
/* SQLite's integers have 63 bits and a sign: what is larger becomes the largest. */
void bind_u64(sqlite3_stmt *statement, int i, uint64_t v);

/* Runs a statement to its end and makes it ready for the next time. */
int database_run(Database *database, Statement statement);
/* One row at a time: DATABASE_ROW, then 0 at the end (or another outcome), when it is reset. */
int database_step(Database *database, Statement statement);
/* The first column of the first row; *ret stays as it is when there is none. */
int database_get(Database *database, Statement statement, int64_t *ret);
/* The number of a text in a table of texts, where `insert` enters it when `find` finds none. */
int database_number(Database *database, Statement find, Statement insert, Text text, int64_t *ret);
/* Ends a transaction that failed, whether or not SQLite has done so already. */
void database_rollback(Database *database);
/* Rows the last insert, update or delete changed. */
int64_t database_changes(const Database *database);
