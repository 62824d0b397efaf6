/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queue: row sets from callers to the writer, and completions back
 *
 * Bounded in rows and bytes; pushing never waits. The descriptor is readable while completions wait, and after a row
 * set is done, because the queue has room again.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/table/rowset.h"

typedef struct Queue {
        pthread_mutex_t mutex;
        pthread_cond_t filled;
        int done_fd;
        bool is_initialised;

        /* Protected by the mutex. */
        RowSet *head, **tail;
        size_t n_rows, n_bytes; /* rows and bytes of sets that wait or are being written */
        size_t n_rows_max, n_bytes_max;
        RowSet *done, **done_tail;
        bool is_stopping, is_poked;
        uint64_t due_ns;   /* until when the writer waits, CLOCK_MONOTONIC */
        uint64_t grace_ns; /* for queue_tick() to end the wait */

        RowSet *ready; /* owned; completions that the reading thread has taken */
} Queue;

int queue_init(Queue *queue);
void queue_deinit(Queue *queue);
void queue_configure(Queue *queue, size_t n_rows_max, size_t n_bytes_max);

/* True if a row set of this size could be pushed now. */
bool queue_has_room(Queue *queue, size_t n_rows, size_t n_bytes);
enum {
        QUEUE_FULL = 1,
};
/* 0: the queue owns the set. A set larger than the limits is accepted if no other set waits. */
int queue_push(Queue *queue, RowSet *set);

/* For the writer: moves all waiting sets to the caller, oldest first; the caller passes them to queue_done(). Waits
 * up to wait_ns for a set; NULL if none came, or after queue_poke(). *ret_is_stopping: no further set will be
 * pushed. */
RowSet *queue_take(Queue *queue, uint64_t wait_ns, bool *ret_is_stopping);
/* As queue_take() without waiting. A queue_poke() takes effect at the next queue_take(). */
RowSet *queue_take_at_once(Queue *queue);
/* Returns sets that are written or failed: a set with a cookie becomes a completion, the others are freed. */
void queue_done(Queue *queue, RowSet *sets);
void queue_poke(Queue *queue);
/*
 * Called at each tick: ends a wait of queue_take() whose time is over. The writer therefore works beside the loop, and
 * not between two ticks; it waits no longer than two intervals beyond its time.
 */
void queue_tick(Queue *queue, uint64_t interval_ns);
void queue_stop(Queue *queue);

/* Returns the next completion, which the caller frees, or NULL. For one thread. */
RowSet *queue_next_done(Queue *queue);
void queue_count(Queue *queue, size_t *ret_rows, size_t *ret_bytes);
