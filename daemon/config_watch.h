/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration watch: a thread that notices edited configuration files
 *
 * The files may be on a slow or remote file system, for which the event loop must not wait. The thread reads them
 * every few seconds and compares them with those that the loop has read. The loop takes the result at each tick, and
 * wakes the thread, which therefore does not run between two ticks.
 */

#include <pthread.h>
#include <stdbool.h>

#include "config_files.h"

typedef struct ConfigWatch {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        pthread_t thread;
        bool is_running;
        const char *path; /* borrowed */
        bool is_optional; /* the file itself may be absent */

        /* Under the mutex. */
        bool is_stopping, has_ended;
        ConfigFiles files; /* as read by the loop */
        unsigned n_loads;
        uint64_t due_ns; /* of the next comparison, CLOCK_BOOTTIME; 0: it is being made */
        char edited[CONFIG_PATH_MAX]; /* a file that differs; "": none */
} ConfigWatch;

/* Starts the thread. files: those that were read. Returns 0 or a negative errno. */
int config_watch_init(ConfigWatch *watch, const char *path, bool is_optional, const ConfigFiles *files);
/* Waits until the thread has ended, or for 2 s: then `watch` must stay until the process ends. A zeroed struct is
 * valid. */
void config_watch_deinit(ConfigWatch *watch);

/* Called after the files were read again and are in force, or wait for a restart. */
void config_watch_set(ConfigWatch *watch, const ConfigFiles *files);
/* Gives the path of a file that was edited since; "": none, or not checked yet. Lets the thread check if it is due. */
void config_watch_get(ConfigWatch *watch, char ret[static CONFIG_PATH_MAX]);
