/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Caller: the user behind a connection to the HTTP server
 *
 * The kernel reports the user of a Unix socket's peer. For a TCP connection from this machine, the peer's own socket
 * is looked up with sock_diag(7). After the socket is closed, the kernel answers such a lookup with user 0 and inode
 * 0; therefore only the answer for an established socket with an inode counts, and all others mean an unknown user.
 * Connections from other machines belong to their address.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shares/shares.h"

typedef struct Caller {
        Owner owner;   /* an administrator: root or a member of the group, on the Unix socket; never over TCP */
        bool is_local; /* connected to the Unix socket, whose permissions admitted the caller */
        bool is_forwarded; /* a proxy named the user, who has no rights but those of a user */
} Caller;

/* Number that no group has. */
#define CALLER_NO_ADMIN_GID UINT32_MAX

/* fd: a connected socket, borrowed. admin_gid: of the administrators' group. Always fills *ret. */
void caller_identify(int fd, uint32_t admin_gid, Caller *ret);
/* Whether the identified caller is an administrator when this is the group, which a reload may have changed. */
bool caller_is_admin(int fd, uint32_t admin_gid, const Caller *caller);

#define CALLER_HEADER "X-Forwarded-User" /* the name of a user in a request that a proxy passes on */

/* Whether this may be the name of a user; NULL and numbers are none. */
bool caller_name_is_valid(const char *name);
/* Looks a valid name up, which may take long. 0 or CALLER_UNKNOWN. */
enum {
        CALLER_UNKNOWN = 1,
};
int caller_find_name(const char *name, uint32_t *ret);
