/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Database: the SQLite connection that writes
 *
 * Opens the file, runs statements and maps SQLite's result codes to outcomes. One thread uses a Database at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/database/pack.h"
#include "store/database/statement.h"

typedef struct Database {
        sqlite3 *db; /* owned; NULL: closed */
        StatementCache statements;
        int n_wal_pages; /* in the write-ahead log after the last commit */
} Database;

/* Outcomes of everything that runs SQL. */
enum {
        DATABASE_ROW = 1, /* at a row */
        DATABASE_REFUSED, /* the values can never be stored: too large, or against a constraint */
        DATABASE_FULL,    /* the disk is full, or the limit of PRAGMA max_page_count is reached */
        DATABASE_CORRUPT, /* not a database, or a damaged database */
        DATABASE_MISFIT,  /* a statement that the SQLite library or the tables do not know */
        DATABASE_QUOTA,   /* a limit of the user of the rows is reached; only of functions that get the limit */
};

/* Converts an SQLite result code to 0, an outcome, or a negative errno. */
int database_outcome(sqlite3 *db, int code);

/* Opens or creates the file, without reading or writing. 0 or an error. */
int database_open(Database *database, const char *path);
void database_close(Database *database);
/* Keeps n_wal_pages up to date from here on; the struct must not be moved afterwards. */
void database_watch(Database *database);
/* Sets whether to wait for a lock that another connection holds, as after opening, or to fail at once. */
void database_wait(Database *database, bool waits);

/* Runs SQL text without values and ignores its rows. */
int database_exec(Database *database, const char *sql);
/* Runs SQL text and reads the first column of the first row; 0 when there is none. */
int database_query(Database *database, const char *sql, int64_t *ret);
/* Checks that all statements can be prepared on this schema. */
int database_check_statements(Database *database);
/* Returns SQLite's message about the last failure. Borrowed until the next call. */
const char *database_error(Database *database);

/* Binds the values of a statement's places, which must stay until the statement ran. Statements are prepared when
 * first used, because most are never needed. Borrowed. */
Prepared *database_prepare(Database *database, const Statement *statement, const Field *fields, size_t n_fields);
/* Steps to the next row: DATABASE_ROW, then 0 at the end (or another outcome), when the statement is reset. */
int database_step(Database *database, Prepared *prepared);
/* Steps to the end. */
int database_finish(Database *database, Prepared *prepared);
/* Runs a statement to its end. */
int database_run(Database *database, const Statement *statement, const Field *fields, size_t n_fields);
/* Runs a statement of n_ret columns and reads its first row as integers; *ret stays as it is when there is none. */
int database_get_row(Database *database, const Statement *statement, const Field *fields, size_t n_fields, int64_t *ret,
                     size_t n_ret);
/* As above, of one column. */
int database_get(Database *database, const Statement *statement, const Field *fields, size_t n_fields, int64_t *ret);
/* Runs an insert of one row, and returns its rowid. */
int database_insert(Database *database, const Statement *statement, const Field *fields, size_t n_fields, int64_t *ret);
/* Finds the id of a text in a table of texts: `find` looks the text up, `insert` adds a new one. */
int database_text_id(Database *database, const Statement *find, const Statement *insert, Field text, int64_t *ret);
/* Runs a delete and counts the rows that it removed: for StoreTable.run. */
/* Runs a query of integers for rows that are about to change: appends the columns of all rows to the buffer, one
 * int64_t after the other. */
int database_collect(Database *database, Prepared *query, Buffer *ret);
int database_run_removal(Database *database, Prepared *removal, int64_t *ret_n);
/* Returns the number of rows that the last insert, update or delete changed. */
int64_t database_changes(const Database *database);

/* Begin, commit and roll back a transaction; rollback also if SQLite has rolled back by itself. */
int database_begin(Database *database);
int database_commit(Database *database);
void database_rollback(Database *database);
