/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobView: a job with its numbers, as of now (running) or at its end
 *
 * What snapshots and the store hand out.
 */

#include <stdint.h>

#include "job/job.h"
#include "job/job_description.h"
#include "util/json.h"

typedef struct JobView {
        JobDescription info;
        JobState state;
        uint32_t n_phases;                           /* that have begun; 0: it was never marked */
        uint64_t begin_realtime_ms, end_realtime_ms; /* end 0 while running */
        JobEnd *end;                                 /* owned; NULL while it runs */
        PhaseView *phase;                            /* owned; the one that lasts, NULL when none does */
        MetricSet metrics;
        UsageSet usage;
} JobView;

void job_view_deinit(JobView *view);
/* How it ended; nothing is said of one that runs. Borrowed. */
const JobEnd *job_view_end(const JobView *view);
/* `end` is copied. 0 or -ENOMEM. */
int job_view_set_end(JobView *view, const JobEnd *end);
/* Its labels as a JSON object. */
void job_view_write_labels(const JobView *view, Json *json);
