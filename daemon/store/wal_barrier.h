/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WAL barrier: keeps new queries out until the write-ahead log can be restarted
 *
 * The log can be restarted only when no query reads it. The writer does not wait for that moment: it closes the
 * barrier, so that new queries wait outside while the queries inside end, and tries again after its next batch, or
 * when the last query has left.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/queue.h"

typedef struct WalBarrier {
        Queue *writers; /* borrowed; poked when the last query leaves a closed barrier */
        pthread_mutex_t mutex;
        pthread_cond_t opened;
        bool is_initialised;

        /* Under the mutex. */
        size_t n_inside;
        bool is_closed;
        /* generation of the database file: a query whose connection has another generation opens the file again */
        unsigned generation;
        bool is_damaged;     /* a query found damage in the file of this generation */
        uint64_t n_damaged_texts;
} WalBarrier;

void wal_barrier_init(WalBarrier *barrier, Queue *writers);
/* No query may be inside. */
void wal_barrier_deinit(WalBarrier *barrier);

/* For a query: waits while the barrier is closed or the file is to be replaced, at most wait_max_ns. Returns the
 * file's generation. */
unsigned wal_barrier_enter(WalBarrier *barrier, uint64_t wait_max_ns);
void wal_barrier_leave(WalBarrier *barrier);
/* For a query: reports to the writer that the file of this generation is damaged. */
void wal_barrier_note_damage(WalBarrier *barrier, unsigned generation);
/* For a query: counts a text that is no longer valid, of a file that SQLite can read. */
void wal_barrier_note_text(WalBarrier *barrier);
uint64_t wal_barrier_count_texts(WalBarrier *barrier);

/* For the writer: true if no query is inside; then none enters until the writer opens the barrier. */
bool wal_barrier_close(WalBarrier *barrier);
void wal_barrier_open(WalBarrier *barrier);
bool wal_barrier_is_damaged(WalBarrier *barrier);
/* For the writer, after the file was replaced: opens the barrier for queries of the new file. */
void wal_barrier_replace(WalBarrier *barrier);
