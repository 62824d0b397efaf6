/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PID namespaces: the process that a client in a container names by the pid that it has there
 *
 * The kernel translates the pid of a peer only. /proc/PID/status lists the pids of a process in all namespaces from
 * that of perfd down. A process in the peer's namespace is found if it is the peer, an ancestor of the peer in that
 * namespace, or a child of one of these: an ancestor at the same depth is in the same namespace, while pids alone
 * are the same in all containers.
 */

#include <stdint.h>

enum {
        PID_NAMESPACE_HIDDEN = 1, /* /proc does not show the peer, or the process: mounted with hidepid */
        /* no such process is found in the peer's namespace, or perfd cannot see this namespace */
        PID_NAMESPACE_OTHER,
};
/* Finds the process that a peer calls `pid`, as perfd calls it. peer_pid: of SO_PEERCRED. Returns 0, an outcome or
 * a negative errno. */
int pid_namespace_find(int32_t peer_pid, int32_t pid, int32_t *ret);
