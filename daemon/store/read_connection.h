/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asking: the reader's connection, and the question that is being answered
 *
 * What reader.c and points.c share. Statements are prepared once; those of one question may run inside each other, and all
 * of it is one read transaction with one time limit.
 */

#include <stdint.h>

#include <sqlite3.h>

#include "store/reader_sql.h"
#include "store/store_types.h"
#include "store/wal_barrier.h"

typedef struct ReadConnection {
        char *path; /* owned */
        WalBarrier *gate; /* borrowed, or NULL */
        uint64_t timeout_ns;
        sqlite3 *db; /* owned; NULL until the first question, and again after a failure */
        sqlite3_stmt *statements[N_QUESTIONS];
        sqlite3_stmt *current; /* the question that is being answered, or NULL */
        uint64_t deadline_ns;
        bool is_inside; /* the gate */
} ReadConnection;

/* 0 or -ENOMEM. Must stay where it is. */
int read_connection_init(ReadConnection *asking, const char *path, WalBarrier *gate, uint64_t timeout_ns);
void read_connection_deinit(ReadConnection *asking);

/* Makes a statement the current one, ready for its values. The clock starts here. 0 or an outcome of reader.h. */
int read_connection_begin(ReadConnection *asking, unsigned question);
/* 0: at a row. */
int read_connection_step(ReadConnection *asking);
/* Ends the question, and with it its hold on the database. */
void read_connection_end(ReadConnection *asking);

/* A statement inside the question, ready for its values. *ret is borrowed until the next failure. 0 or an outcome. */
int read_connection_prepare(ReadConnection *asking, unsigned question, sqlite3_stmt **ret);
/* 0: at a row. READER_END: no more, and it is reset. */
int read_connection_step_inside(ReadConnection *asking, sqlite3_stmt *statement);

/* What an SQLite code means to who asked. A connection that failed is not used again. */
int read_connection_give_up(ReadConnection *asking, int code);

/* A reader's own. */
struct Reader;
ReadConnection *reader_connection(struct Reader *reader);
