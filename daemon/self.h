/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Self: this process, its limits and its own statistics
 */

#include <stdint.h>

#include "snapshot/stats.h"

/* Limits and allocator settings of the process. Call before other threads start, which inherit them. */
void self_prepare_process(void);

/*
 * Counts a tick whose deadline was deadline_us: its delay, and the ticks that were missed altogether. Returns the next deadline,
 * a multiple of the interval after this one. All times of one clock.
 */
uint64_t self_note_tick(SelfStats *self, uint64_t deadline_us, uint64_t now_us, uint64_t interval_us);

/*
 * Drops the clean pages of all loaded objects and returns free memory: loading two dozen libraries and starting touches megabytes
 * of code that does not run again. What is needed later comes back from the page cache. Resident memory on a 2-CPU machine: 5.3
 * instead of 8.9 MB after the start, and after seven minutes with 100 jobs, scrapes and submissions 7.4 instead of 10.5 MB.
 */
void self_trim_memory(void);

/* CPU time and memory; open descriptors every tenth tick, since counting them is expensive before Linux 6.2. */
void self_measure(SelfStats *self);
