/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Late end: the end of a job that perfd has not observed
 *
 * A job can end while perfd is down. Its numbers then end at the last sample before, which is known to be in the job, and its duration is
 * sampled, a lower bound. An end that the client reports later has the time of the end and the resources of its process.
 */

#include "job/job.h"

/* Returns true if the end of the job is unknown. */
bool late_end_is_unknown(const MetricSet *metrics);

/* The job as stored or kept so far. */
typedef struct LateEnd {
        uint64_t begin_realtime_ms, end_realtime_ms;
        uint32_t n_node_cpus;
        MetricSet *metrics; /* borrowed, like the usage */
        UsageSet *usage;
} LateEnd;

/*
 * Adds a reported end. now_ms: present time, since the epoch. If the end of the job is unknown, sets its time, limited to the time after
 * the last sample, the duration, and the metrics of the job per time. A job without usage, or whose last counters are missing, has the
 * CPU time of its process. An end that perfd has observed is unchanged.
 */
void late_end_settle(LateEnd *late, const JobEnd *end, uint64_t now_ms);
