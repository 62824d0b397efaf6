/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gate: between questions and a log that grows
 *
 * The write-ahead log can begin anew only in a moment when no question reads it. The writer does not wait for that: it
 * closes the barrier, so that new questions wait outside while those inside end, and looks again after its next batch, or when
 * the last one left.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/queue.h"

typedef struct WalBarrier {
        Queue *writers; /* borrowed; poked when the last question left a closed barrier */
        pthread_mutex_t mutex;
        pthread_cond_t opened;
        bool is_initialised;

        /* Under the mutex. */
        size_t n_inside;
        bool is_closed;
} WalBarrier;

void wal_barrier_init(WalBarrier *barrier, Queue *writers);
/* Nobody may be inside any more. */
void wal_barrier_deinit(WalBarrier *barrier);

/* For a question: waits while the barrier is closed, at most so long, and goes in then in any case. */
void wal_barrier_enter(WalBarrier *barrier, uint64_t wait_max_ns);
void wal_barrier_leave(WalBarrier *barrier);

/* For the writer: true when nobody is inside, nor can come in until it opens the barrier. */
bool wal_barrier_close(WalBarrier *barrier);
void wal_barrier_open(WalBarrier *barrier);
