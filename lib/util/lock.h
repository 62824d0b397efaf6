/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Mutexes that are held until the end of a scope, and conditions to wait for with clock_monotonic_after() */

#include <pthread.h>

#include "util/scoped.h"

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex) {
        (void)pthread_mutex_lock(mutex);
        return mutex;
}

static inline void lock_releasep(pthread_mutex_t **mutex) {
        (void)pthread_mutex_unlock(*mutex);
}

/* Holds the mutex until the end of the scope. */
#define LOCKED(mutex) scoped(lock_releasep) __attribute__((unused)) pthread_mutex_t *locked_ = lock_take(mutex)

static inline void lock_init_condition(pthread_cond_t *condition) {
        pthread_condattr_t attributes;

        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(condition, &attributes);
        (void)pthread_condattr_destroy(&attributes);
}
