/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Process watch: tells a process from a later one with the same pid
 *
 * By a pidfd and the start time of the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

/* Opens a descriptor that becomes readable when the process ends. 0, PROCESS_WATCH_GONE: it has ended, or < 0. Caller closes. */
enum {
        PROCESS_WATCH_GONE = 1,
};
int process_watch_open(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd);

/* False if the process has ended. True for one that cannot be read, and for pid 0, which names no process. */
bool process_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks);
