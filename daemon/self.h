/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Self: perfd's own process
 *
 * Its descriptors, memory and CPU time, and how punctual its ticks are.
 */

#include "snapshot/stats.h"

typedef struct Self {
        SelfStats stats;
        int statm_fd; /* /proc/self/statm */
} Self;

/* Raises the soft limit of descriptors to the hard limit, and opens what is read later. */
void self_init(Self *self);
void self_deinit(Self *self);

/* At each tick: counts the delay of the tick that was due at deadline_us. Returns the next deadline, on the same grid. */
uint64_t self_count_tick(Self *self, uint64_t deadline_us, uint64_t now_us, uint64_t interval_us);
/* The configuration was read again. */
void self_count_reload(Self *self, bool is_ok);

/* Reads memory and CPU time, and at every tenth tick the number of open descriptors. */
void self_read(Self *self);
