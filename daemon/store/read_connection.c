/* SPDX-License-Identifier: Apache-2.0 */
#include "store/read_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define STEPS_BETWEEN_LOOKS 1000 /* of SQLite's machine, at the clock */
#define BUSY_MS 200

/* --- connection ---------------------------------------------------------------------------------- */

int read_connection_init(ReadConnection *asking, const char *path, WalBarrier *gate, uint64_t timeout_ns) {
        *asking = (ReadConnection){ .gate = gate, .timeout_ns = timeout_ns };
        asking->path = strdup(path);
        return asking->path ? 0 : -ENOMEM;
}

/* New questions wait while the log begins anew, at most half of their time. */
static void enter(ReadConnection *asking) {
        if (!asking->gate)
                return;

        wal_barrier_enter(asking->gate, asking->timeout_ns / 2);
        asking->is_inside = true;
}

static void leave(ReadConnection *asking) {
        if (!asking->is_inside)
                return;

        asking->is_inside = false;
        wal_barrier_leave(asking->gate);
}

static void disconnect(ReadConnection *asking) {
        for (size_t i = 0; i < N_QUESTIONS; i++) {
                sqlite3_finalize(asking->statements[i]);
                asking->statements[i] = NULL;
        }
        sqlite3_close(asking->db);
        asking->db = NULL;
        asking->current = NULL;
        leave(asking);
}

void read_connection_deinit(ReadConnection *asking) {
        disconnect(asking);
        free(TAKE(asking->path));
}

/* Every so often while a statement runs: not zero interrupts it. */
static int on_progress(void *userdata) {
        ReadConnection *asking = userdata;

        return clock_boottime_ns() >= asking->deadline_ns;
}

static int connect_to_store(ReadConnection *asking) {
        int code;

        if (asking->db)
                return SQLITE_OK;

        code = sqlite3_open_v2(asking->path, &asking->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
        if (code != SQLITE_OK)
                return code;

        sqlite3_busy_timeout(asking->db, BUSY_MS);
        sqlite3_progress_handler(asking->db, STEPS_BETWEEN_LOOKS, on_progress, asking);
        return sqlite3_exec(asking->db,
                            "PRAGMA query_only = ON; PRAGMA cache_size = -256; PRAGMA mmap_size = 0;"
                            "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
                            NULL, NULL, NULL);
}

/* --- one question at a time ---------------------------------------------------------------------- */

/* Ends the read transaction as well: the next question sees what was committed by then. */
void read_connection_end(ReadConnection *asking) {
        for (size_t i = 0; asking->current && i < N_QUESTIONS; i++)
                sqlite3_reset(asking->statements[i]);
        asking->current = NULL;
        leave(asking);
}

int read_connection_give_up(ReadConnection *asking, int code) {
        switch (code & 0xff) {
        case SQLITE_INTERRUPT:
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                read_connection_end(asking);
                return READER_TIMEOUT;
        case SQLITE_NOMEM:
                disconnect(asking);
                return -ENOMEM;
        default:
                disconnect(asking);
                return READER_BROKEN;
        }
}

int read_connection_prepare(ReadConnection *asking, unsigned question, sqlite3_stmt **ret) {
        char sql[QUESTION_SQL_MAX];
        int code = SQLITE_OK;

        if (!asking->statements[question]) {
                question_write_sql(question, sql);
                code = sqlite3_prepare_v3(asking->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &asking->statements[question], NULL);
        }
        if (code != SQLITE_OK)
                return read_connection_give_up(asking, code);

        *ret = asking->statements[question];
        sqlite3_clear_bindings(*ret);
        return 0;
}

int read_connection_begin(ReadConnection *asking, unsigned question) {
        sqlite3_stmt *statement;
        int code, r;

        read_connection_end(asking);
        asking->deadline_ns = clock_boottime_ns() + asking->timeout_ns;
        if (asking->deadline_ns < asking->timeout_ns)
                asking->deadline_ns = UINT64_MAX;

        enter(asking);
        code = connect_to_store(asking);
        if (code != SQLITE_OK) {
                r = read_connection_give_up(asking, code);
                disconnect(asking); /* it may be half set up, whatever the reason */
                return r;
        }

        r = read_connection_prepare(asking, question, &statement);
        if (r != 0)
                return r;

        asking->current = statement;
        return 0;
}

int read_connection_step_inside(ReadConnection *asking, sqlite3_stmt *statement) {
        int code = clock_boottime_ns() >= asking->deadline_ns ? SQLITE_INTERRUPT : sqlite3_step(statement);

        if (code == SQLITE_ROW)
                return 0;
        if (code != SQLITE_DONE)
                return read_connection_give_up(asking, code);

        sqlite3_reset(statement);
        return READER_END;
}

int read_connection_step(ReadConnection *asking) {
        int r;

        if (!asking->current)
                return READER_END;

        r = read_connection_step_inside(asking, asking->current);
        if (r == READER_END)
                read_connection_end(asking);
        return r;
}
