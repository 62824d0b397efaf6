/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store: what must survive
 *
 * SQLite behind one writer thread. store_put_…() copies a row into a bounded queue and
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
 * Rows in, from any thread. `cookie` comes back in StoreDone; 0 means nobody waits and no StoreDone is made.
 * 0: queued. STORE_QUEUE_FULL: nothing was taken, try when store_fd() is next readable. -ENOMEM.
 */
enum {
        STORE_QUEUE_FULL = 1,
};

/*
 * All items of one submission in one row-set: all stored or none. arrived_ms: time for items without one.
 * The sender is an administrator, or of the uid of every job they name and that was begun here, else STORE_DENIED.
 * A job that is inherited and has ended here is not taken.
 */
int store_put_results(Store *store, const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms,
                      StoreCookie cookie);
/* The job's begin, with the progress it starts from and the meter's account (meter_save), in one row-set. */
int store_put_job_begin(Store *store, const JobInfo *info, uint64_t begin_realtime_ms, const char *boot_id,
                        const char *progress, const char *meter, StoreCookie cookie);
/* Final state of a job, all in one row-set. A job never begun here: STORE_MISSING. */
int store_put_job_end(Store *store, const StoreJobEnd *end, StoreCookie cookie);
/*
 * A phase has ended and the next begun, and the job has got as far as the progress, all in one row-set. The progress may
 * count from where the meter is now, so that the meter's account goes with it. A job that does not run (any more):
 * STORE_MISSING. An index that is there already is replaced.
 */
int store_put_phase(Store *store, const StorePhase *phase, StoreCookie cookie);
/* A running job turns out to have a cgroup of its own, or an owner. One that does not run: STORE_MISSING. */
int store_put_job_learned(Store *store, const StoreLearned *learned, StoreCookie cookie);
/*
 * An end that arrives for a job already closed as interrupted: adds exit status and rusage, makes it finished, keeps
 * numbers and note. The sender is an administrator, or of the job's uid, else STORE_DENIED. A job that is finished
 * already: STORE_DUPLICATE.
 */
int store_put_job_amend(Store *store, const char *job, const Peer *sender, const JobEnd *end, StoreCookie cookie);
/*
 * The progress of running jobs at one instant with the meter's account, one row-set. Few at a time: all of it is in memory
 * until it is written.
 */
int store_put_checkpoints(Store *store, const StoreCheckpoint *items, size_t n_items, const char *boot_id,
                          const char *meter, uint64_t realtime_ms);
/* One interval of the node's history; text is a one-point timeline_format(). */
int store_put_node_sample(Store *store, uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline);

/*
 * The models that results are indexed by from now on. One whose indexed parameters or typed results differ from those before
 * has the results of its name and component (of all components, when it names none that another model has) that are
 * there already indexed anew, a bounded number of rows at a time between other row-sets.
 */
/* A registered one: kept with its document, as JSON, until its like replaces it or it is removed. */
int store_put_model(Store *store, const StoreModel *model, StoreCookie cookie);
/* A registered one is kept no longer; component: NULL for the one that names none. Results stay indexed as they are until another holds. */
int store_remove_model(Store *store, const char *name, const char *component, StoreCookie cookie);
/* All that are declared in files, which are not kept: those that were put before are forgotten. One row-set. */
int store_put_declared_models(Store *store, const IndicatorModel *const *models, size_t n_models);

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
