/* SPDX-License-Identifier: Apache-2.0 */
#include "store/queue.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/lock.h"

int queue_init(Queue *queue) {
        *queue = (Queue){ .done_fd = -1 };
        queue->tail = &queue->head;
        queue->done_tail = &queue->done;
        queue->due_ns = UINT64_MAX;

        queue->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (queue->done_fd < 0)
                return -errno;

        pthread_mutex_init(&queue->mutex, NULL);
        lock_init_condition(&queue->filled);
        queue->is_initialised = true;
        return 0;
}

void queue_deinit(Queue *queue) {
        rowset_free(queue->head);
        rowset_free(queue->done);
        rowset_free(queue->ready);
        if (queue->is_initialised) {
                pthread_cond_destroy(&queue->filled);
                pthread_mutex_destroy(&queue->mutex);
                close(queue->done_fd);
        }
        *queue = (Queue){ .done_fd = -1 };
}

void queue_configure(Queue *queue, size_t n_rows_max, size_t n_bytes_max) {
        LOCKED(&queue->mutex);

        queue->n_rows_max = n_rows_max;
        queue->n_bytes_max = n_bytes_max;
}

static bool fits(const Queue *queue, size_t n_rows, size_t n_bytes) {
        if (queue->n_rows == 0)
                return true;
        return queue->n_rows + n_rows <= queue->n_rows_max && queue->n_bytes + n_bytes <= queue->n_bytes_max;
}

bool queue_has_room(Queue *queue, size_t n_rows, size_t n_bytes) {
        LOCKED(&queue->mutex);

        return fits(queue, n_rows, n_bytes);
}

int queue_push(Queue *queue, RowSet *set) {
        LOCKED(&queue->mutex);

        assert(!set->next && set->n_bytes >= sizeof(*set));
        assert(!queue->is_stopping);
        if (!fits(queue, set->n_rows, set->n_bytes))
                return QUEUE_FULL;

        queue->n_rows += set->n_rows;
        queue->n_bytes += set->n_bytes;
        *queue->tail = set;
        queue->tail = &set->next;
        pthread_cond_signal(&queue->filled);
        return 0;
}

/* Takes all sets. Caller holds the mutex. */
static RowSet *take_all(Queue *queue) {
        RowSet *sets = queue->head;

        queue->head = NULL;
        queue->tail = &queue->head;
        return sets;
}

RowSet *queue_take(Queue *queue, uint64_t wait_ns, bool *ret_is_stopping) {
        struct timespec until;

        LOCKED(&queue->mutex);

        queue->due_ns = clock_monotonic_ns() + wait_ns;
        until = clock_monotonic_after(wait_ns > 0 ? wait_ns + queue->grace_ns : 0);
        while (!queue->head && !queue->is_stopping && !queue->is_poked)
                if (pthread_cond_timedwait(&queue->filled, &queue->mutex, &until) != 0)
                        break;

        queue->is_poked = false;
        queue->due_ns = UINT64_MAX;
        *ret_is_stopping = queue->is_stopping;
        return take_all(queue);
}

RowSet *queue_take_at_once(Queue *queue) {
        LOCKED(&queue->mutex);
        return take_all(queue);
}

void queue_done(Queue *queue, RowSet *sets) {
        scoped(rowset_freep) RowSet *unawaited = NULL;

        LOCKED(&queue->mutex);

        while (sets) {
                RowSet *set = sets;

                assert(queue->n_rows >= set->n_rows && queue->n_bytes >= set->n_bytes);
                sets = set->next;
                queue->n_rows -= set->n_rows;
                queue->n_bytes -= set->n_bytes;
                if (rowset_is_awaited(set)) {
                        set->next = NULL;
                        *queue->done_tail = set;
                        queue->done_tail = &set->next;
                } else {
                        set->next = unawaited;
                        unawaited = set;
                }
        }

        /* Call with the mutex locked, so that the thread that empties the list resets the descriptor after this, not
         * before. Also called without completions: there is room now, and a set may have been rejected. */
        (void)eventfd_write(queue->done_fd, 1);
}

void queue_poke(Queue *queue) {
        LOCKED(&queue->mutex);

        queue->is_poked = true;
        pthread_cond_signal(&queue->filled);
}

void queue_tick(Queue *queue, uint64_t interval_ns) {
        LOCKED(&queue->mutex);

        queue->grace_ns = 2 * interval_ns;
        if (clock_monotonic_ns() < queue->due_ns)
                return;
        queue->is_poked = true;
        pthread_cond_signal(&queue->filled);
}

void queue_stop(Queue *queue) {
        LOCKED(&queue->mutex);

        queue->is_stopping = true;
        pthread_cond_signal(&queue->filled);
}

static RowSet *take_done(Queue *queue) {
        RowSet *sets;
        eventfd_t n;

        LOCKED(&queue->mutex);

        /* The descriptor stays readable until the list was found empty: the reader may take the list in parts. */
        if (!queue->done)
                (void)eventfd_read(queue->done_fd, &n);

        sets = queue->done;
        queue->done = NULL;
        queue->done_tail = &queue->done;
        return sets;
}

RowSet *queue_next_done(Queue *queue) {
        RowSet *set;

        if (!queue->ready)
                queue->ready = take_done(queue);

        set = queue->ready;
        if (!set)
                return NULL;

        queue->ready = set->next;
        set->next = NULL;
        return set;
}

void queue_count(Queue *queue, size_t *ret_rows, size_t *ret_bytes) {
        LOCKED(&queue->mutex);

        *ret_rows = queue->n_rows;
        *ret_bytes = queue->n_bytes;
}
