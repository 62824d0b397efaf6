/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/PID/stat: start time of a process
 *
 * A pid and a start time together identify a process; a pid alone is reused.
 */

#include <stdint.h>

/* Returns the start time in clock ticks since boot. 0, TEXT_MALFORMED, or PROCESS_ENDED for a zombie process. */
enum {
        PROCESS_ENDED = 100, /* distinct from the outcomes in text.h */
};
int process_stat_parse(const char *text, uint64_t *ret_start_ticks);
