/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queue: between the callers and the writer
 *
 * Row-sets one way, completions back. Bounded in rows and bytes; pushing never waits.
 * The descriptor is readable while completions wait, and after any row-set is done: then there is room again.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rowset.h"

typedef struct Queue {
        pthread_mutex_t mutex;
        pthread_cond_t filled;
        int done_fd;
        bool is_initialised;

        /* Under the mutex. */
        RowSet *head, **tail;
        size_t n_rows, n_bytes; /* waiting or being written */
        size_t n_rows_max, n_bytes_max;
        RowSet *done, **done_tail;
        bool is_stopping, is_poked;

        RowSet *ready; /* completions that the reader of the descriptor has taken over */
} Queue;

int queue_init(Queue *queue);
void queue_deinit(Queue *queue);
void queue_configure(Queue *queue, size_t n_rows_max, size_t n_bytes_max);

/* True when a row-set of so many rows could be pushed now, if its bytes fit. */
bool queue_has_room(Queue *queue, size_t n_rows);
enum {
        QUEUE_FULL = 1,
};
/* 0: the queue owns the set. A set larger than the limits passes when nothing else waits. */
int queue_push(Queue *queue, RowSet *set);

/*
 * For the writer: everything that waits, oldest first, moved to the caller, who hands it to queue_done() in the end.
 * Waits for something up to `wait_ns`; NULL when nothing came, or queue_poke() was called. *ret_is_stopping: nothing
 * will be pushed any more.
 */
RowSet *queue_take(Queue *queue, uint64_t wait_ns, bool *ret_is_stopping);
/* Row-sets that are written, or failed: those somebody waits for become completions, the others are freed. */
void queue_done(Queue *queue, RowSet *sets);
void queue_poke(Queue *queue);
void queue_stop(Queue *queue);

/* The next completion, caller frees; NULL when there is none. For one thread. */
RowSet *queue_next_done(Queue *queue);
void queue_count(Queue *queue, size_t *ret_rows, size_t *ret_bytes, size_t *ret_rows_max);
