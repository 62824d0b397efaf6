/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hidden jobs: counts ended jobs that /metrics would still show without the limit on their number
 *
 * Counts by the time of the end, in parts of the time for which an ended job is shown. A job is counted for this time, or up to one part
 * longer.
 */

#include <stdint.h>

#define HIDDEN_JOBS_PARTS 64U /* at least one more than a time has */

/* Initialize with zeros. */
typedef struct HiddenJobs {
        uint64_t part_ns;               /* length of a part */
        uint64_t number[HIDDEN_JOBS_PARTS]; /* number of the part since boot */
        uint64_t n[HIDDEN_JOBS_PARTS];
} HiddenJobs;

/* keep_ns: time for which an ended job is shown; a changed time begins a new count. */
void hidden_jobs_add(HiddenJobs *hidden, uint64_t ended_ns, uint64_t keep_ns);
uint64_t hidden_jobs_count(const HiddenJobs *hidden, uint64_t now_ns, uint64_t keep_ns);
