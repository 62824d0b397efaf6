/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detection: cgroups that the finder recognizes as jobs
 *
 * A cgroup becomes the own cgroup of the job that was announced under its id, or of a new job that nobody announced.
 */

#include "jobs/lifecycle.h"
#include "sample/finder.h"

typedef struct Detection {
        Lifecycle *lifecycle;    /* borrowed */
        Finder *finder;          /* owned; NULL: no patterns */
        sd_event_source *source; /* owned; the finder has events */
        FoundGroup *postponed;   /* owned; cgroups made anew while the end of their job is queued for the store */
        size_t n_postponed;
        LogLimit log_limit;      /* of jobs that cannot be followed */
} Detection;

/* Makes the finder for these patterns, in place of the one before; none without a pattern. 0, or < 0: the finder is as before. */
int detection_configure(Detection *detection, const FinderPattern *patterns, size_t n_patterns);
void detection_deinit(Detection *detection);
/* After the store has completed rows: a cgroup that was made anew while its job was being stored belongs to a new job. 0 or < 0. */
int detection_take_postponed(Detection *detection);
