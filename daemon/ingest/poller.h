/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Poller: many descriptors behind one
 *
 * The event loop handles one event a turn, and asks the kernel again about all descriptors for the next event. For
 * dozens of busy connections this is expensive: one call of the poller returns many events. The loop waits for the
 * poller's own descriptor, which is readable while any descriptor behind it has events.
 */

#include <stdint.h>
#include <sys/epoll.h>

typedef struct Poller {
        int fd; /* owned */
} Poller;

/* 0 or a negative errno. */
int poller_init(Poller *poller);
void poller_deinit(Poller *poller);

/* Changes the events of a descriptor (EPOLLIN and so on) from `before` to `events`; 0: none, not even hang-ups. */
int poller_set(const Poller *poller, int fd, void *item, uint32_t before, uint32_t events);

/* Reads the current events without waiting: data.ptr is the item, each item once. Returns the number of events or a
 * negative errno. */
int poller_take(const Poller *poller, struct epoll_event *ret, int n_max);
