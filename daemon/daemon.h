/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Daemon: builds everything, runs the loop, takes it down again
 *
 * Wires descriptors, timers and signals to the service's calls. The loop waits for nothing but
 * events; the watchdog is fed from it.
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
