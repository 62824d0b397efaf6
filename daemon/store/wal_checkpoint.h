/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WAL checkpoint: moves pages of the write-ahead log into the database, and restarts the log
 *
 * A passive checkpoint moves the pages that no reader needs, usually in the checkpointer's thread. The log is
 * restarted at its start only if no query reads it: the barrier keeps new queries out until then. The writer does
 * not wait for queries, except if the log has reached its last page.
 */

#include <stdbool.h>
#include <stdint.h>

#include "store/database/checkpointer.h"
#include "store/database/database.h"
#include "store/retention/retention.h"
#include "store/wal_barrier.h"

typedef struct WalCheckpoint {
        WalBarrier *barrier;    /* borrowed, like the next */
        Checkpointer *checkpointer;
        bool is_requested;      /* the next checkpoint begins as soon as none is running, for a log of any length */
        bool is_barrier_closed; /* barrier is closed until the log is restarted */
        int n_pages_done;       /* pages at the begin of the log that the database file has */
        int n_pages_waited;     /* length of the log when waiting failed; 0: since the restart */
        bool is_busy;           /* of the last checkpoint */
        bool is_pinned;         /* waiting for a reader has failed, and the log was not restarted since */
        uint64_t n_failures;    /* checkpoints that could not write or sync the database file */
        int error;              /* negative errno of the last checkpoint; 0: it succeeded, or waits for a query */
} WalCheckpoint;

/* Waits for a checkpoint of the checkpointer. Call before the database is closed. */
void wal_checkpoint_wait(WalCheckpoint *wal, Database *database);
/*
 * Runs a checkpoint without waiting for queries; mode: SQLITE_CHECKPOINT_…. A failure is counted, and the next
 * checkpoint moves the rest.
 */
void wal_checkpoint_run(WalCheckpoint *wal, Database *database, int mode);
/* Restarts the log if no query reads it, else closes the barrier for the next attempt. */
void wal_checkpoint_restart(WalCheckpoint *wal, Database *database, const Retention *retention, int mode);
/* Begins a checkpoint, or restarts the log. Call after a commit; is_idle: no rows wait. */
void wal_checkpoint_if_due(WalCheckpoint *wal, Database *database, const Retention *retention, bool is_idle);

/* True if the log may grow by another transaction: not if the log is at its end while checkpoints fail. Tries a
 * checkpoint in that case. */
bool wal_checkpoint_has_room(WalCheckpoint *wal, Database *database, const Retention *retention);

/* Returns the size of the log of a database file. */
uint64_t wal_checkpoint_log_bytes(const char *path);
