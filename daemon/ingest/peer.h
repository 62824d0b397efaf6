/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Peer: who is at the other end of a connection, as the kernel says it
 *
 * The kernel notes who it was when the peer connected. A descriptor that is handed on, to a child or over another
 * socket, still speaks for the process that connected: its uid, its groups, its cgroup.
 */

#include <stdbool.h>
#include <stdint.h>

#include "request/request.h"

/*
 * uid, gid and pid, and a pidfd where one can be had, which the caller closes; it is -1 when the process is gone or
 * there are no descriptors left. is_admin is set for root alone. 0 or a negative errno.
 */
int peer_read(int fd, Peer *ret);

/*
 * Opens a pidfd of the process that has this number and belongs to this user, or returns -1. For kernels before Linux 6.5, which
 * cannot give peer_read() the pidfd of the peer.
 */
int peer_open_pidfd(int32_t pid, uint32_t uid);
