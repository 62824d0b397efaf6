/* SPDX-License-Identifier: Apache-2.0 */
#include "store/wal_checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* A checkpoint needs two syncs, and writes a page once, regardless of the number of its changes: therefore not after every
 * batch. */
#define IDLE_CHECKPOINT_PAGES 500

uint64_t wal_checkpoint_log_bytes(const char *path) {
        char wal[PATH_MAX];
        struct stat st;

        if (snprintf(wal, sizeof(wal), "%s-wal", path) >= (int)sizeof(wal) || stat(wal, &st) < 0)
                return 0;
        return (uint64_t)st.st_size;
}

static int error_of(sqlite3 *db, int code) {
        int e;

        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return 0;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_NOMEM:
                return -ENOMEM;
        default:
                e = sqlite3_system_errno(db);
                return e > 0 ? -e : -EIO;
        }
}

void wal_checkpoint_run(WalCheckpoint *wal, Database *database, int mode) {
        int n_log = 0, n_done = 0, code;

        if (!database->db)
                return;

        code = sqlite3_wal_checkpoint_v2(database->db, NULL, mode, &n_log, &n_done);
        assert(code != SQLITE_OK || n_done <= n_log);
        wal->error = error_of(database->db, code);
        wal->n_failures += wal->error != 0;
        if (code == SQLITE_OK && n_log == n_done)
                database->n_wal_pages = 0;
}

/* Waits only if the log has no room left; and, if another program reads continuously, once for each further n_wal_pages_max
 * pages. */
void wal_checkpoint_restart(WalCheckpoint *wal, Database *database, const Retention *retention, int mode) {
        int n = database->n_wal_pages;
        bool must_wait = n >= retention->n_wal_pages_end && n >= wal->n_pages_waited + retention->n_wal_pages_max;

        if (!database->db)
                return;

        wal->is_barrier_closed = true;
        if (!wal_barrier_close(wal->barrier) && !must_wait)
                return;

        database_wait(database, must_wait);
        wal_checkpoint_run(wal, database, mode);
        database_wait(database, true);
        wal->n_pages_waited = must_wait ? database->n_wal_pages : 0;
        wal->is_barrier_closed = false;
        wal_barrier_open(wal->barrier);
}

bool wal_checkpoint_has_room(WalCheckpoint *wal, Database *database, const Retention *retention) {
        if (wal->error == 0 || database->n_wal_pages < retention->n_wal_pages_end)
                return true;

        wal_checkpoint_run(wal, database, SQLITE_CHECKPOINT_PASSIVE);
        return wal->error == 0;
}

void wal_checkpoint_if_due(WalCheckpoint *wal, Database *database, const Retention *retention, bool is_idle) {
        int n = database->n_wal_pages, n_max = retention->n_wal_pages_max;

        /* If there is always a query, passive checkpoints never restart the log. */
        if (wal->is_barrier_closed || n >= 2 * n_max)
                wal_checkpoint_restart(wal, database, retention, SQLITE_CHECKPOINT_RESTART);
        else if (n >= n_max || (n >= IDLE_CHECKPOINT_PAGES && is_idle))
                wal_checkpoint_run(wal, database, SQLITE_CHECKPOINT_PASSIVE);
}
