/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Peer groups: checks the group membership of the process that connected to a Unix socket, at the time of connect()
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * fd: a connected Unix socket. Returns true if the group was the peer's primary group or one of its supplementary
 * groups.
 */
bool peer_groups_have(int fd, uint32_t gid);
