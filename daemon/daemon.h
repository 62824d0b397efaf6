/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Daemon: starts all subsystems, runs the event loop, stops all subsystems
 *
 * Connects descriptors, timers and signals to the functions of rooms.h. The loop blocks only to wait for events, and
 * feeds the watchdog.
 */

#include "daemon_options.h"

/* Returns the process's exit code. Errors are logged. */
int daemon_run(const Options *options);
