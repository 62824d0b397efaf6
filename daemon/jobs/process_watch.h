/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Watch: a process, unmistakably
 *
 * By a pidfd and the process's start time, so that a reused pid is never taken for the one meant.
 */

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

/* A descriptor that becomes readable when the process is gone. 0, WATCH_GONE when it is already, or < 0. Caller closes. */
enum {
        WATCH_GONE = 1,
};
int process_watch_open(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd);

/* False when that process is gone; one that cannot be looked at is not, and pid 0 is nobody. */
bool process_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks);
