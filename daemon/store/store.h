/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store: rows that survive the process
 *
 * Runs SQLite behind one writer thread. store_put() adds a row set to a bounded queue and returns at once. The
 * writer commits all queued row sets in one transaction with one sync, and returns a StoreDone for each through
 * store_fd(). Rows whose StoreDone has the outcome STORE_DONE are on disk. Only store_open() and store_free() wait
 * for the disk.
 *
 * Readers (reader.h) are separate, read-only connections for other threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/store_types.h"
#include "util/scoped.h"

typedef struct Store Store;

/*
 * Opens or creates perfd.db in the directory, migrates the file and starts the writer. A damaged file is moved aside
 * (salvage.h), also later, and replaced by a new one; *ret_note then says so (caller frees; NULL otherwise). With a
 * full or failing disk the store opens late: it is not writable, readers find nothing, rows fail, *ret_note says
 * why, and the writer tries to open the database every 2 s. 0, a negative errno that an administrator has to mend,
 * or an outcome: then *ret_note says why.
 */
enum {
        STORE_UNSUPPORTED = 1, /* see opening.h; the file is not changed */
        STORE_LOCKED,          /* another perfd uses the directory */
};
int store_open(Store **ret, const StoreConfig *config, char **ret_note);
/* Commits the queued row sets, stops the writer, closes the file. */
Store *store_free(Store *store);
DEFINE_SCOPED(Store, store_free);

/* Sets new limits and retention; directory and is_volatile must not change. */
void store_configure(Store *store, const StoreConfig *config);
/* Called at each tick: lets the writer do what is due, see queue_tick(). */
void store_tick(Store *store, uint64_t interval_ns);

/* Returns the full path of the database file, for readers. Borrowed. */
const char *store_path(const Store *store);
/* As above; NULL while a store that was opened late has no database. */
const char *store_path_if_open(Store *store);

/* Returns the barrier that queries pass, for readers. Borrowed. */
struct WalBarrier *store_wal_barrier(Store *store);

/* True if the store was opened without its database. Jobs that are running in the database when it is opened are
 * closed as interrupted. */
bool store_is_late(const Store *store);

/*
 * The packers of store/jobs, store/indicators and store/node make row sets, each of which is stored completely or
 * not at all. The functions may be called from any thread. StoreDone returns the set's cookie; a cookie without a
 * kind makes no StoreDone.
 */
enum {
        STORE_QUEUE_FULL = 1,
};
/* Queues a row set, and owns it in any case. 0; STORE_QUEUE_FULL: dropped, try again when store_fd() is readable;
 * -ENOMEM: no rows. */
int store_put(Store *store, RowSet *rows);
/* True if the queue has room for a row set of this size. For callers whose packing takes long. */
bool store_has_room(Store *store, size_t n_rows, size_t n_bytes);

/* Completions, for one thread. The descriptor is readable when a StoreDone waits, and after rows have left the
 * queue. */
int store_fd(const Store *store);
/* 0 with the next completion; STORE_NONE: there is none, and the descriptor is reset. */
enum {
        STORE_NONE = 1,
};
int store_next_done(Store *store, StoreDone *ret);

void store_stats(Store *store, StoreStats *ret);
