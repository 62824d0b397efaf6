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

#include "job/job.h"
#include "request/request.h"
#include "store/store_types.h"
#include "util/scoped.h"

#define STORE_DIRECTORY_MAX 256

typedef struct StoreConfig {
        char directory[STORE_DIRECTORY_MAX]; /* state directory; must exist */
        bool is_volatile;         /* no syncing: gone with the machine, survives the process at most */
        uint64_t size_max_bytes;  /* database with its WAL; oldest rows go first when reached */
        uint64_t keep_samples_ns, keep_jobs_ns, keep_results_ns; /* 0: for ever */
        size_t queue_rows_max;
        size_t queue_bytes_max;
} StoreConfig;

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

/*
 * What a start needs: the meter's account and the jobs that were running, from before the writer starts
 * taking rows. Empty when the store is late. Caller frees with store_recovery_free().
 */
typedef struct StoreRecoveredJob {
        JobInfo info;
        uint64_t begin_realtime_ms;
        char *progress; /* owned */
        char *boot_id;  /* owned: of its last checkpoint */
        uint64_t checkpoint_realtime_ms;
} StoreRecoveredJob;
typedef struct StoreRecovery {
        char *meter;   /* owned; NULL when there is none */
        char *boot_id; /* owned; of the meter */
        uint64_t meter_realtime_ms;
        StoreRecoveredJob *jobs; /* owned */
        size_t n_jobs;
} StoreRecovery;
int store_recover(Store *store, StoreRecovery **ret);
StoreRecovery *store_recovery_free(StoreRecovery *recovery);
DEFINE_SCOPED(StoreRecovery, store_recovery_free);

/* Registered models, in the order of their registration. None as long as a late store has no database. Caller frees. */
typedef struct StoredModel {
        char *document; /* owned; JSON, as json_raw() takes it */
        uint32_t uid;
        bool by_admin;
} StoredModel;
typedef struct StoredModels {
        StoredModel *items; /* owned */
        size_t n;
} StoredModels;
int store_models(Store *store, StoredModels **ret);
StoredModels *stored_models_free(StoredModels *models);
DEFINE_SCOPED(StoredModels, stored_models_free);
