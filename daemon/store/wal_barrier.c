/* SPDX-License-Identifier: Apache-2.0 */
#include "store/wal_barrier.h"

#include "util/clock.h"

void wal_barrier_init(WalBarrier *gate, Queue *writers) {
        pthread_condattr_t attributes;

        *gate = (WalBarrier){ .writers = writers };
        pthread_mutex_init(&gate->mutex, NULL);
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&gate->opened, &attributes);
        pthread_condattr_destroy(&attributes);
        gate->is_initialised = true;
}

void wal_barrier_deinit(WalBarrier *gate) {
        if (!gate->is_initialised)
                return;

        pthread_cond_destroy(&gate->opened);
        pthread_mutex_destroy(&gate->mutex);
        *gate = (WalBarrier){};
}

void wal_barrier_enter(WalBarrier *gate, uint64_t wait_max_ns) {
        struct timespec until = clock_monotonic_after(wait_max_ns);

        pthread_mutex_lock(&gate->mutex);
        while (gate->is_closed)
                if (pthread_cond_timedwait(&gate->opened, &gate->mutex, &until) != 0)
                        break;
        gate->n_inside++;
        pthread_mutex_unlock(&gate->mutex);
}

void wal_barrier_leave(WalBarrier *gate) {
        bool is_clear;

        pthread_mutex_lock(&gate->mutex);
        is_clear = --gate->n_inside == 0 && gate->is_closed;
        pthread_mutex_unlock(&gate->mutex);
        if (is_clear)
                queue_poke(gate->writers);
}

bool wal_barrier_close(WalBarrier *gate) {
        bool is_clear;

        pthread_mutex_lock(&gate->mutex);
        gate->is_closed = true;
        is_clear = gate->n_inside == 0;
        pthread_mutex_unlock(&gate->mutex);
        return is_clear;
}

void wal_barrier_open(WalBarrier *gate) {
        pthread_mutex_lock(&gate->mutex);
        gate->is_closed = false;
        pthread_cond_broadcast(&gate->opened);
        pthread_mutex_unlock(&gate->mutex);
}
