/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Daemon: starts all parts, runs the event loop, stops all parts
 *
 * Connects descriptors, timers and signals to the functions of rooms.h. The loop waits for events only, and feeds the
 * watchdog.
 */

#include "options.h"

/* Exit codes as in LSB and perfd(8). */
enum {
        EXIT_USAGE = 2,
        EXIT_PERMISSION = 4,
        EXIT_NOT_CONFIGURED = 6,
};

/* Returns the process's exit code. Errors are logged. */
int daemon_run(const Options *options);
