/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobView: a job with its metrics, current (running) or final
 *
 * Returned by the store's readers, and made from a snapshot by snapshot_jobs_record_view().
 */

#include <stdint.h>

#include "job/job.h"
#include "snapshot/job_description.h"

typedef struct JobView {
        JobDescription info; /* the only member to deinit */
        JobState state;
        uint32_t n_phases;                           /* number of phases begun; 0: the job has no marks */
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0: the job is running */
        JobEnd end;                                  /* all zero while the job is running */
        MetricSet metrics;
        UsageSet usage;
} JobView;
