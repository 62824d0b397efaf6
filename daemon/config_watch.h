/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration watch: notices edited configuration files
 *
 * The files may be on a slow or remote file system, for which the event loop must not wait: a thread compares them
 * with those that the loop has read, every few seconds. A comparison that does not end keeps its thread, and no other
 * begins.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config_files.h"

typedef struct ConfigWatch {
        const char *path; /* borrowed until the process ends */
        bool is_optional; /* the file itself may be absent */
        ConfigFiles files; /* as read by the loop */
        struct ConfigCheck *check; /* that a thread makes; NULL: none */
        uint64_t due_ns; /* of the next one, CLOCK_BOOTTIME */
        char edited[CONFIG_PATH_MAX]; /* a file that differs; "": none */
} ConfigWatch;

/* files: those that were read. */
void config_watch_init(ConfigWatch *watch, const char *path, bool is_optional, const ConfigFiles *files);
/* Does not wait for the thread. A zeroed struct is valid. */
void config_watch_deinit(ConfigWatch *watch);

/* Called after the files were read again and are in force, or wait for a restart. */
void config_watch_set(ConfigWatch *watch, const ConfigFiles *files);
/* Called at each tick. Returns the path of a file that was edited since; "": none, or not checked yet. */
const char *config_watch_get(ConfigWatch *watch);
