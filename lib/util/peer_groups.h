/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Peer groups: whether the process that connected to a Unix socket was a member of a group at that time */

#include <stdbool.h>
#include <stdint.h>

/* fd: a connected Unix socket. True if the group was the peer's primary group or one of its supplementary groups. */
bool peer_groups_have(int fd, uint32_t gid);
