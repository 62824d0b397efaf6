/* SPDX-License-Identifier: Apache-2.0 */
#include "store/wal_barrier.h"

#include <assert.h>

#include "util/clock.h"
#include "util/lock.h"

void wal_barrier_init(WalBarrier *barrier, Queue *writers) {
        *barrier = (WalBarrier){ .writers = writers };
        pthread_mutex_init(&barrier->mutex, NULL);
        lock_init_condition(&barrier->opened);
        barrier->is_initialised = true;
}

void wal_barrier_deinit(WalBarrier *barrier) {
        if (!barrier->is_initialised)
                return;

        assert(barrier->n_inside == 0);
        pthread_cond_destroy(&barrier->opened);
        pthread_mutex_destroy(&barrier->mutex);
        *barrier = (WalBarrier){};
}

unsigned wal_barrier_enter(WalBarrier *barrier, uint64_t wait_max_ns) {
        struct timespec until = clock_monotonic_after(wait_max_ns);

        LOCKED(&barrier->mutex);

        while (barrier->is_closed || barrier->is_damaged)
                if (pthread_cond_timedwait(&barrier->opened, &barrier->mutex, &until) != 0)
                        break;
        barrier->n_inside++;
        return barrier->generation;
}

void wal_barrier_leave(WalBarrier *barrier) {
        bool is_clear;

        pthread_mutex_lock(&barrier->mutex);
        assert(barrier->n_inside > 0);
        is_clear = --barrier->n_inside == 0 && barrier->is_closed;
        pthread_mutex_unlock(&barrier->mutex);
        if (is_clear)
                queue_poke(barrier->writers);
}

bool wal_barrier_close(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        barrier->is_closed = true;
        return barrier->n_inside == 0;
}

void wal_barrier_open(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        barrier->is_closed = false;
        pthread_cond_broadcast(&barrier->opened);
}

void wal_barrier_note_damage(WalBarrier *barrier, unsigned generation) {
        bool is_news;

        pthread_mutex_lock(&barrier->mutex);
        is_news = generation == barrier->generation && !barrier->is_damaged;
        barrier->is_damaged |= is_news;
        pthread_mutex_unlock(&barrier->mutex);
        if (is_news)
                queue_poke(barrier->writers);
}

void wal_barrier_note_text(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        barrier->n_damaged_texts++;
}

uint64_t wal_barrier_count_texts(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        return barrier->n_damaged_texts;
}

bool wal_barrier_is_damaged(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        return barrier->is_damaged;
}

void wal_barrier_replace(WalBarrier *barrier) {
        LOCKED(&barrier->mutex);

        barrier->generation++;
        barrier->is_damaged = false;
        barrier->is_closed = false;
        pthread_cond_broadcast(&barrier->opened);
}
