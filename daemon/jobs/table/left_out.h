/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Left out: counts ended jobs that /metrics would still show without the limit on their number
 *
 * Counts by the time of the end, in parts of the time for which an ended job is shown. A job is counted for this time, or up to one part
 * longer.
 */

#include <stdint.h>

#define LEFT_OUT_PARTS 64U /* at least one more than a time has */

/* Initialize with zeros. */
typedef struct LeftOut {
        uint64_t part_ns;               /* length of a part */
        uint64_t number[LEFT_OUT_PARTS]; /* number of the part since boot */
        uint64_t n[LEFT_OUT_PARTS];
} LeftOut;

/* keep_ns: time for which an ended job is shown; a changed time begins a new count. */
void left_out_add(LeftOut *left_out, uint64_t ended_ns, uint64_t keep_ns);
uint64_t left_out_count(const LeftOut *left_out, uint64_t now_ns, uint64_t keep_ns);
