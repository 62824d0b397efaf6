/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Read connection: the connection of a reader, and the query that runs on it
 *
 * For the subjects' readers. Statements are prepared once. The statements of one query may run inside each other; all of them share one
 * read transaction and one time limit.
 */

#include <stdint.h>

#include <sqlite3.h>

#include "store/statement.h"
#include "store/store_types.h"
#include "store/wal_barrier.h"

typedef struct ReadConnection {
        char *path;          /* owned */
        WalBarrier *barrier; /* borrowed, or NULL */
        uint64_t timeout_ns;
        sqlite3 *db; /* owned; NULL until the first query, and again after a failure */
        unsigned n_connects;
        StatementCache statements;
        Prepared *current; /* outer statement of the query that runs, or NULL */
        uint64_t deadline_ns;
        bool is_inside; /* the barrier */
        unsigned generation; /* of the barrier, of the file that db has open */
} ReadConnection;

/* 0 or -ENOMEM. Must not be moved afterwards. */
int read_connection_init(ReadConnection *connection, const char *path, WalBarrier *barrier, uint64_t timeout_ns);
void read_connection_deinit(ReadConnection *connection);

/* Begins a query with its outer statement, ready for its values, and starts the clock. 0 or an outcome of store_types.h, as all here. */
int read_connection_begin(ReadConnection *connection, const Statement *statement, Prepared **ret);
/* Steps the outer statement. 0: at a row, borrowed until the next step. */
int read_connection_step(ReadConnection *connection, const Prepared **ret);
/* Ends the query, and with it the read transaction. */
void read_connection_end(ReadConnection *connection);

/* A statement inside the query, ready for its values. Borrowed until the next failure. */
int read_connection_prepare(ReadConnection *connection, const Statement *statement, Prepared **ret);
/* 0: at a row. READER_END: no more rows, and the statement is reset. */
int read_connection_step_inside(ReadConnection *connection, Prepared *prepared);

/* The outcome of an SQLite code. A connection that failed is closed, and opened again by the next query. */
int read_connection_fail(ReadConnection *connection, int code);
