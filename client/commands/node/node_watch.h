/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Node watch: shows the node's metrics as they change */

#include "client/cli/command.h"

typedef struct WatchOptions {
        uint64_t interval_ns, limit; /* limit 0: without end */
        bool watch, json;
} WatchOptions;

/* Redraws on a terminal, otherwise prints a line for each update, until a signal or the limit. Returns the exit
 * status. */
int node_watch_run(const GlobalOptions *global, const WatchOptions *options);
