/* SPDX-License-Identifier: Apache-2.0 */
#include "store/wal_checkpoint.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* A checkpoint needs two syncs, and writes a page once, regardless of the number of its changes: therefore not after
 * every batch. */
#define IDLE_CHECKPOINT_PAGES 500

uint64_t wal_checkpoint_log_bytes(const char *path) {
        char wal[PATH_MAX];
        struct stat st;

        if (snprintf(wal, sizeof(wal), "%s-wal", path) >= (int)sizeof(wal) || stat(wal, &st) < 0)
                return 0;
        return (uint64_t)st.st_size;
}

/* n_log_pages: length of the log now. */
static void note_result(WalCheckpoint *wal, Database *database, const CheckpointResult *result, int n_log_pages) {
        bool is_complete = n_log_pages >= 0 && result->n_done_pages == n_log_pages;

        wal->error = result->error;
        wal->is_busy = result->is_busy;
        wal->n_failures += result->error != 0;
        if (is_complete)
                database->n_wal_pages = 0;
        wal->n_pages_done = is_complete || result->n_done_pages < 0 ? 0 : result->n_done_pages;
}

/* Returns true if a checkpoint of the checkpointer has ended. */
static bool take_result(WalCheckpoint *wal, Database *database, bool waits) {
        CheckpointResult result;

        if (!checkpointer_take(wal->checkpointer, waits, &result))
                return false;

        /* The writer may have appended to the log meanwhile. */
        note_result(wal, database, &result, database->n_wal_pages);
        return true;
}

void wal_checkpoint_wait(WalCheckpoint *wal, Database *database) {
        (void)take_result(wal, database, true);
}

void wal_checkpoint_run(WalCheckpoint *wal, Database *database, int mode) {
        CheckpointResult result;

        if (!database->db)
                return;

        wal_checkpoint_wait(wal, database);
        result = checkpointer_run(database->db, mode);
        note_result(wal, database, &result, result.n_log_pages);
}

/* Waits only if the log has no room left; and, if another program reads continuously, once for each further
 * n_wal_pages_max pages. */
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
        wal->is_pinned = wal->is_busy && (must_wait || wal->is_pinned);
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

/* Returns how many pages of the log the database file does not have. */
static int count_pending(WalCheckpoint *wal, const Database *database) {
        if (database->n_wal_pages < wal->n_pages_done)
                wal->n_pages_done = 0; /* SQLite has restarted the log */
        return database->n_wal_pages - wal->n_pages_done;
}

/*
 * A checkpoint beside the writer does not reach the end of a log that grows meanwhile, and if there is always a
 * query, it never restarts the log. At twice the length, the log is therefore restarted, just after such a
 * checkpoint, which left little to write.
 */
void wal_checkpoint_if_due(WalCheckpoint *wal, Database *database, const Retention *retention, bool is_idle) {
        bool has_ended = take_result(wal, database, false);
        int n = database->n_wal_pages, n_max = retention->n_wal_pages_max, n_pending = count_pending(wal, database);

        if (wal->is_barrier_closed || n >= retention->n_wal_pages_end || (n >= 2 * n_max && has_ended))
                wal_checkpoint_restart(wal, database, retention, SQLITE_CHECKPOINT_RESTART);
        else if (n_pending >= n_max || (n_pending >= IDLE_CHECKPOINT_PAGES && is_idle) || wal->is_requested)
                wal->is_requested &= !checkpointer_begin(wal->checkpointer);
}
