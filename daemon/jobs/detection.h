/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detection: cgroups that the finder recognizes as jobs
 *
 * A detected cgroup becomes the own cgroup of the job that was announced under its id, or of a new job.
 */

#include "jobs/lifecycle.h"
#include "sample/detection/finder.h"

typedef struct Detection {
        Lifecycle *lifecycle;    /* borrowed */
        Finder *finder;          /* owned; NULL: no patterns */
        sd_event_source *source; /* owned; watches the finder's descriptor */
        FoundGroup *postponed;   /* owned; cgroups recreated while the end of their job is queued for the store */
        size_t n_postponed;
        LogUserLimits log_limits; /* for messages about jobs that cannot be followed */
} Detection;

/* Replaces the finder by a finder for these patterns; removes it if there are no patterns. 0, or < 0: the finder is
 * unchanged. */
int detection_configure(Detection *detection, const FinderPattern *patterns, size_t n_patterns);
void detection_deinit(Detection *detection);
/* Begins new jobs for the postponed cgroups; called after the store has completed rows. 0 or < 0. */
int detection_take_postponed(Detection *detection);
