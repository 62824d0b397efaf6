/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Process watch: distinguishes a process from a later process with the same pid
 *
 * The pidfd and the start time identify the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

/* Opens a descriptor that becomes readable when the process ends; the caller closes it. 0, PROCESS_WATCH_GONE: it has ended, or < 0. */
enum {
        PROCESS_WATCH_GONE = 1,
};
int process_watch_open(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd);

/* False if the process has ended. True for a process that cannot be read, and for pid 0, which names no process. */
bool process_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks);
