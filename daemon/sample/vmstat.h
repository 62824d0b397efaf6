/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/vmstat: major faults, swapping, OOM kills
 *
 * Four lines of some two hundred. A kernel without swap has no pswpin and pswpout, one before
 * 4.13 no oom_kill: they are 0 then.
 */

#include "measure/sample.h"

/* 0, or TEXT_MALFORMED and the sample untouched. */
int vmstat_parse(const char *text, Sample *sample, const char **ret_fault);
