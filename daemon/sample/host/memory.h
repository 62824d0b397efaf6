/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Memory: proc/meminfo and the lines of proc/vmstat that are about memory */

#include "measure/sample.h"

/*
 * Reads memory and swap. Kernels before 3.14 lack MemAvailable. perfd makes no estimate of its own: the source is
 * reported as malformed. Without swap, the values are 0. Returns 0, or TEXT_MALFORMED with *ret unchanged.
 */
int memory_parse_meminfo(const char *text, SampleMemory *ret, const char **ret_fault);

/*
 * Reads major faults, swapping and OOM kills: four of about two hundred lines. A kernel without swap lacks pswpin
 * and pswpout, a kernel before 4.13 lacks oom_kill: the values are 0 then. Returns 0, or TEXT_MALFORMED with the
 * sample unchanged.
 */
int memory_parse_vmstat(const char *text, Sample *sample, const char **ret_fault);
