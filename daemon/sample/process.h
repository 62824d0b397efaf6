/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * proc/PID/stat: when a process started
 *
 * Together with its number that names a process for good, where a number alone is used again.
 */

#include <stdint.h>

/* The start in clock ticks since boot. 0, TEXT_MALFORMED, or PROCESS_ENDED: only its exit status is left, for its parent. */
enum {
        PROCESS_ENDED = 100, /* clear of the outcomes of texts */
};
int process_stat_parse(const char *text, uint64_t *ret_start_ticks);
