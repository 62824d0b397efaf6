/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/database.h"
#include "store/indicators/model_rows.h"
#include "store/indicators/result_rows.h"
#include "store/jobs/job_rows.h"
#include "store/node/sample_rows.h"
#include "store/opening.h"
#include "store/queue.h"
#include "store/writer.h"
#include "util/clock.h"

struct Store {
        Opening opening;
        Queue queue;
        WalBarrier gate;
        Writer writer;
        RowSet *done; /* owned: the completion that was handed out last */
        bool is_late; /* there was no database when it was opened */
};

/* --- opening ------------------------------------------------------------------------------------- */

static Limits limits_of(const StoreConfig *config) {
        return (Limits){
                .size_max_bytes = config->size_max_bytes,
                .keep_samples_ns = config->keep_samples_ns,
                .keep_jobs_ns = config->keep_jobs_ns,
                .keep_results_ns = config->keep_results_ns,
        };
}

/* The writer goes on trying by itself. */
static int open_later(Store *store, char **note) {
        scoped(freep) char *why = TAKE(*note);

        store->is_late = true;
        if (asprintf(note, "Going on without a store until there is one: %s", why) < 0) {
                *note = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int open_database(Store *store, char **ret_note) {
        int r = writer_open(&store->writer, ret_note);

        if (r == OPENING_LATER)
                return open_later(store, ret_note);
        if (r == OPENING_TOO_NEW)
                return STORE_TOO_NEW;
        return r == OPENING_LOCKED ? STORE_LOCKED : r;
}

static int open_in(Store *store, const StoreConfig *config, char **ret_note) {
        Limits limits = limits_of(config);
        int r;

        r = opening_init(&store->opening, config->directory, config->is_volatile);
        if (r == 0)
                r = queue_init(&store->queue);
        if (r < 0)
                return r;

        wal_barrier_init(&store->gate, &store->queue);
        r = writer_init(&store->writer, &store->queue, &store->gate, &store->opening, &limits);
        if (r < 0)
                return r;

        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);
        r = open_database(store, ret_note);
        return r != 0 ? r : writer_start(&store->writer);
}

int store_open(Store **ret, const StoreConfig *config, char **ret_note) {
        scoped(store_freep) Store *store = NULL;
        int r;

        *ret_note = NULL;
        store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        store->opening.lock_fd = -1;

        /* Counting every allocation takes a lock all threads share. Refused once SQLite is in use, which is fine. */
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);

        r = open_in(store, config, ret_note);
        if (r != 0) {
                if (r < 0)
                        free(TAKE(*ret_note));
                return r;
        }

        *ret = TAKE(store);
        return 0;
}

Store *store_free(Store *store) {
        if (!store)
                return NULL;

        if (store->queue.is_initialised)
                queue_stop(&store->queue);
        writer_deinit(&store->writer);
        wal_barrier_deinit(&store->gate);
        queue_deinit(&store->queue);
        opening_deinit(&store->opening);
        rowset_free(store->done);
        free(store);
        return NULL;
}

void store_configure(Store *store, const StoreConfig *config) {
        Limits limits = limits_of(config);

        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);
        writer_configure(&store->writer, &limits);
        queue_poke(&store->queue);
}

const char *store_path(const Store *store) {
        return store->opening.path;
}

WalBarrier *store_wal_barrier(Store *store) {
        return &store->gate;
}

bool store_is_late(const Store *store) {
        return store->is_late;
}

/* --- rows in ------------------------------------------------------------------------------------- */

/* `r` is of the packing, which made `set` when it is 0. */
static int push(Store *store, int r, RowSet *packed) {
        scoped(rowset_freep) RowSet *set = packed;

        if (r < 0)
                return r;
        if (queue_push(&store->queue, set) == QUEUE_FULL)
                return STORE_QUEUE_FULL;

        (void)TAKE(set);
        return 0;
}

int store_put_results(Store *store, const Submission *items, size_t n_items, const Peer *sender, uint64_t arrived_ms,
                      StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        if (!queue_has_room(&store->queue, n_items))
                return STORE_QUEUE_FULL;

        r = result_rows_pack(items, n_items, sender, arrived_ms, cookie, &set);
        return push(store, r, set);
}

int store_put_job_begin(Store *store, const JobInfo *info, uint64_t begin_realtime_ms, const char *boot_id,
                        const char *progress, const char *meter, StoreCookie cookie) {
        JobBeginRow row = {
                .info = info, .begin_ms = begin_realtime_ms, .boot_id = boot_id, .progress = progress, .meter = meter,
        };
        RowSet *set = NULL;
        int r;

        r = job_begin_pack(&row, cookie, &set);
        return push(store, r, set);
}

int store_put_job_end(Store *store, const StoreJobEnd *end, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = job_end_pack(end, cookie, &set);
        return push(store, r, set);
}

int store_put_phase(Store *store, const StorePhase *phase, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = job_phase_pack(phase, cookie, &set);
        return push(store, r, set);
}

int store_put_job_learned(Store *store, const StoreLearned *learned, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = job_learned_pack(learned, cookie, &set);
        return push(store, r, set);
}

int store_put_job_amend(Store *store, const char *job, const Peer *sender, const JobEnd *end, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = job_amend_pack(job, sender, end, cookie, &set);
        return push(store, r, set);
}

int store_put_checkpoints(Store *store, const StoreCheckpoint *items, size_t n_items, const char *boot_id,
                          const char *meter, uint64_t realtime_ms) {
        RowSet *set = NULL;
        int r;

        if (!queue_has_room(&store->queue, n_items + 1))
                return STORE_QUEUE_FULL;

        r = checkpoints_pack(items, n_items, boot_id, meter, realtime_ms, &set);
        return push(store, r, set);
}

int store_put_node_sample(Store *store, uint64_t begin_realtime_ms, uint64_t interval_ms, const char *timeline) {
        RowSet *set = NULL;
        int r;

        r = sample_rows_pack(begin_realtime_ms, interval_ms, timeline, &set);
        return push(store, r, set);
}

int store_put_model(Store *store, const StoreModel *model, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = model_pack(model, clock_realtime_ns() / NS_PER_MS, cookie, &set);
        return push(store, r, set);
}

int store_remove_model(Store *store, const char *name, const char *component, StoreCookie cookie) {
        RowSet *set = NULL;
        int r;

        r = model_gone_pack(name, component, cookie, &set);
        return push(store, r, set);
}

int store_put_declared_models(Store *store, const IndicatorModel *const *models, size_t n_models) {
        RowSet *set = NULL;
        int r;

        r = declared_models_pack(models, n_models, clock_realtime_ns() / NS_PER_MS, &set);
        return push(store, r, set);
}

/* --- completions --------------------------------------------------------------------------------- */

int store_fd(const Store *store) {
        return store->queue.done_fd;
}

int store_next_done(Store *store, StoreDone *ret) {
        rowset_freep(&store->done);
        store->done = queue_next_done(&store->queue);
        if (!store->done)
                return STORE_NONE;

        *ret = (StoreDone){
                .cookie = store->done->cookie,
                .outcome = store->done->outcome,
                .n_new = store->done->n_new,
                .has_left_job = store->done->has_left_job,
                .old = result_rows_old(store->done),
        };
        return 0;
}

void store_stats(Store *store, StoreStats *ret) {
        size_t n_rows, n_bytes, n_rows_max;

        writer_stats(&store->writer, ret);
        queue_count(&store->queue, &n_rows, &n_bytes, &n_rows_max);
        ret->queue_rows = n_rows;
        ret->queue_bytes = n_bytes;
        ret->queue_rows_max = n_rows_max;
}
