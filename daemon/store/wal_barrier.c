#include "store/wal_barrier.h"

#include "util/clock.h"

void gate_init(Gate *gate, Queue *writers) {
        pthread_condattr_t attributes;

        *gate = (Gate){ .writers = writers };
        pthread_mutex_init(&gate->mutex, NULL);
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&gate->opened, &attributes);
        pthread_condattr_destroy(&attributes);
        gate->is_initialised = true;
}

void gate_deinit(Gate *gate) {
        if (!gate->is_initialised)
                return;

        pthread_cond_destroy(&gate->opened);
        pthread_mutex_destroy(&gate->mutex);
        *gate = (Gate){};
}

void gate_enter(Gate *gate, uint64_t wait_max_ns) {
        struct timespec until = clock_monotonic_after(wait_max_ns);

        pthread_mutex_lock(&gate->mutex);
        while (gate->is_closed)
                if (pthread_cond_timedwait(&gate->opened, &gate->mutex, &until) != 0)
                        break;
        gate->n_inside++;
        pthread_mutex_unlock(&gate->mutex);
}

void gate_leave(Gate *gate) {
        bool is_clear;

        pthread_mutex_lock(&gate->mutex);
        is_clear = --gate->n_inside == 0 && gate->is_closed;
        pthread_mutex_unlock(&gate->mutex);
        if (is_clear)
                queue_poke(gate->writers);
}

bool gate_close(Gate *gate) {
        bool is_clear;

        pthread_mutex_lock(&gate->mutex);
        gate->is_closed = true;
        is_clear = gate->n_inside == 0;
        pthread_mutex_unlock(&gate->mutex);
        return is_clear;
}

void gate_open(Gate *gate) {
        pthread_mutex_lock(&gate->mutex);
        gate->is_closed = false;
        pthread_cond_broadcast(&gate->opened);
        pthread_mutex_unlock(&gate->mutex);
}
