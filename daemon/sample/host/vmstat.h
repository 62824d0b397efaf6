/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/vmstat: major faults, swapping, OOM kills
 *
 * Reads four of about two hundred lines. A kernel without swap lacks pswpin and pswpout, a kernel before 4.13 lacks
 * oom_kill: the values are 0 then.
 */

#include "measure/sample.h"

/* Returns 0, or TEXT_MALFORMED with the sample unchanged. */
int vmstat_parse(const char *text, Sample *sample, const char **ret_fault);
