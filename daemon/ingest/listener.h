/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Listener: the listening socket, and what to say when there is no room
 *
 * A process out of descriptors cannot even accept a connection to refuse it, and a listening
 * socket with waiting peers keeps the loop awake. So one descriptor is kept back to tell
 * a peer, and the owner of the listener has to wait a while then.
 */

#include "request/request.h"

typedef struct Listener {
        int fd;         /* owned */
        int reserve_fd; /* owned; given up for a moment to accept one peer too many */
} Listener;

/* Takes fd over, also when it fails. */
int listener_init(Listener *listener, int fd);
void listener_deinit(Listener *listener);

/* The next peer, non-blocking; caller closes *ret_fd and ret_peer->pidfd, where there is one. */
enum {
        LISTENER_NOBODY = 1,
        LISTENER_EXHAUSTED, /* no descriptors or memory: whoever was first has been refused; come back later */
};
int listener_accept(Listener *listener, int *ret_fd, Peer *ret_peer);

/* Tells a peer just accepted why it cannot stay. */
void listener_refuse(int fd, const char *sentence);
