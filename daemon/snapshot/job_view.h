/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobView: a job with its metrics, as of now (running) or at its end
 *
 * The store's readers return it, and jobs_snapshot_record_view() makes it from a snapshot.
 */

#include <stdint.h>

#include "job/job.h"
#include "snapshot/job_description.h"

typedef struct JobView {
        JobDescription info; /* the only member to deinit */
        JobState state;
        uint32_t n_phases;                           /* begun so far; 0: the job was never marked */
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0: the job is running */
        JobEnd end;                                  /* all zero while the job is running */
        MetricSet metrics;
        UsageSet usage;
} JobView;
