/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Read connection: connection of a reader, and its current query
 *
 * For the subjects' readers. Statements are prepared once. The statements of one query may be nested; all of them
 * share one read transaction and one time limit.
 */

#include <stdint.h>

#include <sqlite3.h>

#include "store/database/statement.h"
#include "store/wal_barrier.h"

typedef struct ReadConnection {
        char *path;          /* owned */
        WalBarrier *barrier; /* borrowed, or NULL */
        uint64_t timeout_ns;
        sqlite3 *db; /* owned; NULL until the first query, and again after a failure */
        unsigned n_connects;
        StatementCache statements;
        Prepared *current; /* outer statement of the query that runs, or NULL */
        uint64_t deadline_ns, yielded_ns; /* CLOCK_BOOTTIME; yielded_ns: when other threads were let run last */
        unsigned n_steps; /* of the query */
        bool is_inside; /* the barrier */
        VisibleRows visible; /* for the statements */
        unsigned generation; /* generation of the barrier for the file that db has open */
} ReadConnection;

/* 0 or -ENOMEM. Must not be moved afterwards. */
int read_connection_init(ReadConnection *connection, const char *path, WalBarrier *barrier, uint64_t timeout_ns);
void read_connection_deinit(ReadConnection *connection);

/*
 * Begins a query with its outer statement and starts the clock. Values are copied, as in all statements of a query.
 * 0 or an outcome of store_types.h, as all here.
 */
int read_connection_begin(ReadConnection *connection, const Statement *statement, const Field *fields, size_t n_fields);
/* Steps the outer statement. 0: a row, borrowed until the next step. */
int read_connection_step(ReadConnection *connection, const Prepared **ret);
/* Steps the outer statement, a SELECT(), and reads the row into *ret, of n_ret bytes, which is zeroed first. */
int read_connection_next(ReadConnection *connection, void *ret, size_t n_ret);
/* Ends the query, and with it the read transaction. */
void read_connection_end(ReadConnection *connection);

/* Returns a statement inside the query. Borrowed until the next failure. */
int read_connection_prepare(ReadConnection *connection, const Statement *statement, const Field *fields,
                            size_t n_fields, Prepared **ret);
/* 0: a row. READER_END: no more rows, and the statement is reset. */
int read_connection_step_inside(ReadConnection *connection, Prepared *prepared);

/* Converts an SQLite code to an outcome. A connection that failed is closed, and opened again by the next query. */
int read_connection_fail(ReadConnection *connection, int code);
