/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Self: perfd's own process
 *
 * Manages its limits, memory and log, and measures its CPU time and the delay of its ticks.
 */

#include "journal.h"
#include "snapshot/stats.h"

typedef struct Self {
        SelfStats stats;
        int statm_fd;     /* /proc/self/statm */
        Journal *journal; /* owned; NULL: log messages are plain lines on stderr */
} Self;

/* Sets limits, configures the allocator, and opens the log. Call before other threads start. */
void self_init(Self *self);
/* Call after other threads have ended. */
void self_deinit(Self *self);

/*
 * Drops the clean pages of all loaded objects: loading two dozen libraries and starting touches megabytes of code
 * that does not run again. Pages needed later are read from the page cache. The store's writer returns free memory
 * to the kernel.
 */
void self_trim_memory(void);

/*
 * Called at each tick: records the delay of the tick that was due at deadline_us. Returns the next deadline on the
 * same schedule.
 */
uint64_t self_count_tick(Self *self, uint64_t deadline_us, uint64_t now_us, uint64_t interval_us);
/*
 * Counts a reload of the configuration. error: why the files were not applied, or "". restart: names of the settings
 * that wait for a restart.
 */
void self_count_reload(Self *self, const char *error, const char *restart);
/* Notes the settings without effect, "socket.path, …"; "": none. Returns true if these are others than before. */
bool self_note_ignored(Self *self, const char *settings);
/* Notes users and groups that are not known, "socket.admin_group: hpc, …"; "": none. */
void self_note_unknown(Self *self, const char *names);
/* Notes the path of a file of the configuration that was edited since it was read; "": none. */
void self_note_edited(Self *self, const char *path);

/* Reads memory, CPU time and the log's state, and at every tenth tick the number of open descriptors. */
void self_read(Self *self);
