/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/opening.h"
#include "store/queue.h"
#include "store/writer.h"

struct Store {
        Opening opening;
        Queue queue;
        WalBarrier barrier;
        Writer *writer; /* owned */
        RowSet *done; /* owned; rows of the last completion */
        bool is_late; /* opened without a database */
};

/* --- opening ------------------------------------------------------------------------------------- */

/* The writer tries again to open the database. */
static int open_later(Store *store, char **note) {
        scoped(freep) char *why = TAKE(*note);

        store->is_late = true;
        if (asprintf(note, "Continuing without a database; will keep retrying: %s", why) < 0) {
                *note = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int open_database(Store *store, char **ret_note) {
        int r = writer_open(store->writer, ret_note);

        if (r == OPENING_LATER)
                return open_later(store, ret_note);
        if (r == OPENING_UNSUPPORTED)
                return STORE_UNSUPPORTED;
        return r == OPENING_LOCKED ? STORE_LOCKED : r;
}

static int open_in(Store *store, const StoreConfig *config, char **ret_note) {
        int r;

        r = opening_init(&store->opening, config->directory, config->is_volatile);
        if (r == 0)
                r = queue_init(&store->queue);
        if (r < 0)
                return r;

        wal_barrier_init(&store->barrier, &store->queue);
        r = writer_new(&store->writer, &store->queue, &store->barrier, &store->opening, config);
        if (r < 0)
                return r;

        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);
        r = open_database(store, ret_note);
        return r != 0 ? r : writer_start(store->writer);
}

int store_open(Store **ret, const StoreConfig *config, char **ret_note) {
        scoped(store_freep) Store *store = NULL;
        int r;

        *ret_note = NULL;
        store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        store->opening.lock_fd = -1;

        /* Memory statistics take a lock that all threads share. SQLite refuses the change once it is in use, which
         * is harmless. */
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
        writer_free(store->writer);
        wal_barrier_deinit(&store->barrier);
        queue_deinit(&store->queue);
        opening_deinit(&store->opening);
        rowset_free(store->done);
        free(store);
        return NULL;
}

void store_configure(Store *store, const StoreConfig *config) {
        queue_configure(&store->queue, config->queue_rows_max, config->queue_bytes_max);
        writer_configure(store->writer, config);
        queue_poke(&store->queue);
}

void store_tick(Store *store, uint64_t interval_ns) {
        queue_tick(&store->queue, interval_ns);
}

const char *store_path(const Store *store) {
        return store->opening.path;
}

const char *store_path_if_open(Store *store) {
        StoreStats stats;

        store_stats(store, &stats);
        return store->is_late && !stats.is_writable ? NULL : store_path(store);
}

WalBarrier *store_wal_barrier(Store *store) {
        return &store->barrier;
}

bool store_is_late(const Store *store) {
        return store->is_late;
}

/* --- rows in ------------------------------------------------------------------------------------- */

bool store_has_room(Store *store, size_t n_rows, size_t n_bytes) {
        return queue_has_room(&store->queue, n_rows, n_bytes);
}

int store_put(Store *store, RowSet *rows) {
        scoped(rowset_freep) RowSet *set = rows;

        if (!set)
                return -ENOMEM;
        if (queue_push(&store->queue, set) == QUEUE_FULL)
                return STORE_QUEUE_FULL;

        (void)TAKE(set);
        return 0;
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
                .rows = store->done,
        };
        return 0;
}

void store_stats(Store *store, StoreStats *ret) {
        size_t n_rows, n_bytes;

        writer_stats(store->writer, ret);
        queue_count(&store->queue, &n_rows, &n_bytes);
        ret->queue_rows = n_rows;
        ret->queue_bytes = n_bytes;
        ret->is_volatile = store->opening.is_volatile;
        ret->damage.n_texts = wal_barrier_count_texts(&store->barrier);
        ret->directory = store->opening.directory;
}
