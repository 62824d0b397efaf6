/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/PID/stat: start time of a process
 *
 * A pid and a start time together identify a process; a pid alone is reused.
 */

#include <stdint.h>

/* Returns the start time in clock ticks since boot. 0 or an outcome. */
enum {
        PROCESS_MALFORMED = 1,
        PROCESS_ENDED, /* a zombie process */
};
int process_stat_parse(const char *text, uint64_t *ret_start_ticks);
/* Returns the parent; 0: unknown. */
int32_t process_stat_parent(const char *text);
