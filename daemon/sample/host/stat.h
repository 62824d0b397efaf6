/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stat: files of proc with numbers of the whole node, and that of a process
 *
 * proc/stat has CPU times and counters. The line of interrupt counters can have tens of kilobytes, and is skipped.
 * Columns that an old kernel lacks are 0.
 */

#include <stdint.h>

#include "measure/sample.h"

/*
 * Fills cpu, cpus, n_cpus (of this text), n_online and the counters of this file. Returns 0, TEXT_MALFORMED or
 * -ENOMEM; n_cpus and n_online are 0 on failure.
 */
int stat_parse(const char *text, Sample *sample, const char **ret_fault);

/*
 * Reads memory and swap of proc/meminfo. Kernels before 3.14 lack MemAvailable. perfd makes no estimate of its own:
 * the source is reported as malformed. Without swap, the values are 0. Returns 0, or TEXT_MALFORMED with *ret
 * unchanged.
 */
int stat_parse_meminfo(const char *text, SampleMemory *ret, const char **ret_fault);

/*
 * Reads major faults, swapping and OOM kills of proc/vmstat. A kernel without swap lacks pswpin and pswpout, a kernel
 * before 4.13 lacks oom_kill: the values are 0 then. Returns 0, or TEXT_MALFORMED with the sample unchanged.
 */
int stat_parse_vmstat(const char *text, Sample *sample, const char **ret_fault);

/*
 * Reads the load averages, runnable threads and all threads of proc/loadavg. Subtracts the reader's own running thread
 * from n_running. Returns 0, or TEXT_MALFORMED with *ret unchanged.
 */
int stat_parse_loadavg(const char *text, SampleLoad *ret, const char **ret_fault);

/* Returns the start time of a process in clock ticks since boot: with the pid, which is reused, it identifies the
 * process. 0 or an outcome. */
enum {
        STAT_MALFORMED = 1,
        STAT_ENDED, /* a zombie process */
};
int stat_parse_process(const char *text, uint64_t *ret_start_ticks);
/* Returns the parent; 0: unknown. */
int32_t stat_parse_parent(const char *text);
