/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Listener: the listening socket, and refusals when resources are exhausted
 *
 * A process without free descriptors cannot even accept a connection to refuse it, and a listening socket with
 * waiting peers keeps the loop awake. So one descriptor is reserved to accept and refuse a peer; then the owner of
 * the listener has to wait for a while.
 */

#include "request/request.h"

typedef struct Listener {
        int fd;         /* owned */
        int reserve_fd; /* owned; released for a moment to accept and refuse one peer */
} Listener;

/* Takes ownership of fd, even on failure. */
int listener_init(Listener *listener, int fd);
void listener_deinit(Listener *listener);

/* Accepts the next peer, non-blocking; caller closes *ret_fd. ret_peer->pidfd is -1. */
enum {
        LISTENER_NOBODY = 1,
        LISTENER_EXHAUSTED, /* no descriptors or memory: the first peer was refused; try again later */
};
int listener_accept(Listener *listener, int *ret_fd, Peer *ret_peer);

/* Sends a peer just accepted the reason for its refusal. */
void listener_refuse(int fd, const char *sentence);
