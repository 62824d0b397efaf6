/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Peer: the process at the other end of a connection, as reported by the kernel
 *
 * The kernel stores the identity when the peer connects. A descriptor that is passed on, to a child or over another
 * socket, still identifies the process that connected: its uid, groups and cgroup.
 */

#include <stdint.h>

#include "request/request.h"

/* Gets uid, gid and pid. pidfd is -1, and is_admin is set for root only. 0 or a negative errno. */
int peer_read(int fd, Peer *ret);
/* Returns a pidfd of the peer, which the caller closes, or -1 if the process has ended or no descriptors are left. */
int peer_get_pidfd(int fd, const Peer *peer);

/* Opens a pidfd of the process with this pid that belongs to this user, or returns -1. For kernels before Linux 6.5,
 * which cannot give peer_get_pidfd() the pidfd of the peer. */
int peer_open_pidfd(int32_t pid, uint32_t uid);
