/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Threads in addition to the event loop, which alone receives signals */

#include <pthread.h>
#include <signal.h>

/* Starts a thread that receives no signals. 0 or a negative errno. */
static inline int thread_start(pthread_t *ret, void *(*on_start)(void *userdata), void *userdata) {
        sigset_t all, before;
        int r;

        /* The thread inherits the mask. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(ret, NULL, on_start, userdata);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}
