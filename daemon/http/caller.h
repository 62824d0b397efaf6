/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Caller: the user behind a connection to the HTTP server
 *
 * The kernel tells the user of a Unix socket's peer. For a TCP connection from this machine, the peer's own socket is looked up with
 * sock_diag(7). The kernel answers such a lookup with user 0 and inode 0 once the socket is closed, so that an answer counts only for an
 * established socket with an inode; all else is an unknown user. Connections from elsewhere belong to their address.
 */

#include <stdbool.h>

#include "shares/shares.h"

typedef struct Caller {
        Owner owner;   /* an administrator: root on the Unix socket; over TCP nobody */
        bool is_local; /* came over the Unix socket, whose permissions it passed */
} Caller;

/* fd: a connected socket, borrowed. Always fills *ret. */
void caller_identify(int fd, Caller *ret);
