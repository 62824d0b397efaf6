/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read/read_connection.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define STEPS_BETWEEN_CLOCKS 1000 /* instructions of SQLite's virtual machine between checks of the clock */
#define ROWS_BETWEEN_CLOCKS                                                                                            \
        32 /* rows between checks of the clock, for statements that are too short for those of SQLite */
#define BUSY_MS 200
/*
 * Interval at which a query yields to other threads: threads that store rows would otherwise wait for the whole time
 * slice of a query, some milliseconds. A shorter interval delays queries on a node whose CPUs are busy with jobs,
 * where each yield costs the time slice of another process.
 */
#define YIELD_INTERVAL_NS NS_PER_MS

/* --- connection ---------------------------------------------------------------------------------- */

int read_connection_init(ReadConnection *connection, const char *path, WalBarrier *barrier, uint64_t timeout_ns) {
        *connection = (ReadConnection){ .barrier = barrier, .timeout_ns = timeout_ns };
        connection->path = strdup(path);
        return connection->path ? 0 : -ENOMEM;
}

static void close_database(ReadConnection *connection) {
        statement_cache_clear(&connection->statements);
        sqlite3_close(connection->db);
        connection->db = NULL;
        connection->current = NULL;
}

/* A query waits while the log is restarted, at most half of its time. Afterwards, the database may be another file. */
static void enter(ReadConnection *connection) {
        unsigned generation;

        if (!connection->barrier)
                return;

        generation = wal_barrier_enter(connection->barrier, connection->timeout_ns / 2);
        connection->is_inside = true;
        if (generation != connection->generation)
                close_database(connection);
        connection->generation = generation;
}

static void leave(ReadConnection *connection) {
        if (!connection->is_inside)
                return;

        connection->is_inside = false;
        wal_barrier_leave(connection->barrier);
}

static void disconnect(ReadConnection *connection) {
        close_database(connection);
        leave(connection);
}

void read_connection_deinit(ReadConnection *connection) {
        disconnect(connection);
        free(TAKE(connection->path));
}

/* SQLite calls this while a statement runs: a result other than 0 interrupts the statement. */
static int on_progress(void *userdata) {
        ReadConnection *connection = userdata;
        uint64_t now_ns = clock_boottime_ns();

        if (now_ns - connection->yielded_ns >= YIELD_INTERVAL_NS) {
                (void)sched_yield();
                now_ns = connection->yielded_ns = clock_boottime_ns();
        }
        return now_ns >= connection->deadline_ns;
}

static int connect_to_store(ReadConnection *connection) {
        int code;

        if (connection->db)
                return SQLITE_OK;

        code = sqlite3_open_v2(connection->path, &connection->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
        if (code != SQLITE_OK)
                return code;

        connection->n_connects++;
        code = statement_define_visible(connection->db, &connection->visible);
        if (code != SQLITE_OK)
                return code;
        /* The file may have been moved aside: the log with that name belongs to another file. */
        sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_busy_timeout(connection->db, BUSY_MS);
        sqlite3_progress_handler(connection->db, STEPS_BETWEEN_CLOCKS, on_progress, connection);
        return sqlite3_exec(connection->db,
                            "PRAGMA query_only = ON; PRAGMA cache_size = -256; PRAGMA mmap_size = 0;"
                            "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
                            NULL, NULL, NULL);
}

/* --- one query at a time ------------------------------------------------------------------------- */

/* Ends the read transaction as well: the next query sees all rows committed by then. */
void read_connection_end(ReadConnection *connection) {
        if (connection->current)
                statement_cache_reset(&connection->statements);
        connection->current = NULL;
        leave(connection);
}

int read_connection_fail(ReadConnection *connection, int code) {
        switch (code & 0xff) {
        case SQLITE_INTERRUPT:
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                read_connection_end(connection);
                return READER_TIMEOUT;
        case SQLITE_NOMEM:
                disconnect(connection);
                return -ENOMEM;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                if (connection->barrier)
                        wal_barrier_note_damage(connection->barrier, connection->generation);
                disconnect(connection);
                return READER_BROKEN;
        default:
                disconnect(connection);
                return READER_BROKEN;
        }
}

int read_connection_prepare(ReadConnection *connection, const Statement *statement, const Field *fields,
                            size_t n_fields, Prepared **ret) {
        Prepared *prepared = statement_cache_get(&connection->statements, connection->db, statement);

        if (!prepared->handle)
                return read_connection_fail(connection, prepared->code);

        statement_bind(prepared, fields, n_fields, true);
        *ret = prepared;
        return 0;
}

int read_connection_begin(ReadConnection *connection, const Statement *statement, const Field *fields,
                          size_t n_fields) {
        Prepared *prepared = NULL;
        int code, r;

        read_connection_end(connection);
        connection->n_steps = 0;
        connection->deadline_ns = clock_boottime_ns() + connection->timeout_ns;
        if (connection->deadline_ns < connection->timeout_ns)
                connection->deadline_ns = UINT64_MAX;

        enter(connection);
        code = connect_to_store(connection);
        if (code != SQLITE_OK) {
                r = read_connection_fail(connection, code);
                disconnect(connection); /* whatever the reason, the connection may be partly set up */
                return r;
        }

        r = read_connection_prepare(connection, statement, fields, n_fields, &prepared);
        if (r == 0)
                connection->current = prepared;
        return r;
}

/* Reading the clock takes as long as reading a row. */
static bool is_late(ReadConnection *connection) {
        return connection->n_steps++ % ROWS_BETWEEN_CLOCKS == 0 && clock_boottime_ns() >= connection->deadline_ns;
}

int read_connection_step_inside(ReadConnection *connection, Prepared *prepared) {
        int code;

        assert(connection->current && statement_is_bound(prepared));
        code = is_late(connection) ? SQLITE_INTERRUPT : sqlite3_step(prepared->handle);
        if (code == SQLITE_ROW)
                return 0;
        if (code != SQLITE_DONE)
                return read_connection_fail(connection, code);

        sqlite3_reset(prepared->handle);
        return READER_END;
}

int read_connection_step(ReadConnection *connection, const Prepared **ret) {
        int r;

        if (!connection->current)
                return READER_END;

        *ret = connection->current;
        r = read_connection_step_inside(connection, connection->current);
        if (r == READER_END)
                read_connection_end(connection);
        return r;
}

int read_connection_next(ReadConnection *connection, void *ret, size_t n_ret) {
        const Prepared *row;
        int r;

        r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        assert(row->statement->row->n_bytes == n_ret);
        memset(ret, 0, n_ret);
        /* SQLite reports "out of memory" as NULL in a column that is never null. */
        return statement_read(row, ret) ? 0 : read_connection_fail(connection, SQLITE_NOMEM);
}
