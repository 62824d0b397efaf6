/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store: what must survive
 *
 * SQLite behind one writer thread. store_put() puts rows into a bounded queue and
 * returns at once; the writer takes all that has queued up into one transaction, syncs
 * once, and hands back a StoreDone for each row through store_fd(). A row that was handed
 * back with STORE_DONE is on disk. Nothing else of the store blocks the caller.
 *
 * Readers (reader.h) are separate, read-only connections for HTTP's threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store_types.h"
#include "util/scoped.h"

typedef struct Store Store;

/*
 * Opens or creates perfd.db in the directory, migrates it, starts the writer. A corrupt file is
 * moved aside (perfd.db.corrupt-TIME) and a new one begun: *ret_note then says so (caller frees; NULL otherwise).
 * A full or failing disk does not keep the store from opening: it is not writable then, readers find nothing, puts
 * fail, *ret_note says why, and the writer tries every 2 s until it has the database.
 * 0, a negative errno for what an admin must mend, or an outcome: then *ret_note says why.
 */
enum {
        STORE_TOO_NEW = 1, /* written by a later perfd: not touched */
        STORE_LOCKED,      /* another perfd has it */
};
int store_open(Store **ret, const StoreConfig *config, char **ret_note);
/* Writes out what is queued, stops the writer, closes. */
Store *store_free(Store *store);
DEFINE_SCOPED(Store, store_free);

/* New limits and retention; directory and is_volatile must stay. */
void store_configure(Store *store, const StoreConfig *config);

/* Full path of the database file, for readers. Borrowed. */
const char *store_path(const Store *store);
/* The same; NULL while a store that was opened late has no database. */
const char *store_path_if_open(Store *store);

/* What its questions pass, for readers. Borrowed. */
struct WalBarrier *store_wal_barrier(Store *store);

/* It was opened without its database. Jobs that it has as running when it gets it are closed there as interrupted. */
bool store_is_late(const Store *store);

/*
 * Rows in, from any thread. The packers of store/jobs, store/indicators and store/node make row sets, each stored whole or not at
 * all. The set's cookie comes back in StoreDone; a cookie that names nobody makes no StoreDone.
 */
enum {
        STORE_QUEUE_FULL = 1,
};
/* Queues a row set and owns it in any case. 0; STORE_QUEUE_FULL: dropped, try when store_fd() is next readable; -ENOMEM: rows is NULL. */
int store_put(Store *store, RowSet *rows);
/* True when n_rows more would be queued now if their bytes fit. For callers whose packing takes long. */
bool store_has_room(Store *store, size_t n_rows);

/* Completions, for one thread. Readable when a StoreDone waits, and when rows have left the queue. */
int store_fd(const Store *store);
/* 0 with the next completion, STORE_NONE when there is none (and the descriptor is reset). */
enum {
        STORE_NONE = 1,
};
int store_next_done(Store *store, StoreDone *ret);

void store_stats(Store *store, StoreStats *ret);
