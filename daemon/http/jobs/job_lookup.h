/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds a job by its id in the store and in the snapshot
 *
 * The store knows of a job's start or end before the snapshot does; only the snapshot has the metrics of a running job.
 */

#include "http/exchange.h"
#include "store/jobs/job_reader.h"

typedef struct FoundJob {
        const JobView *view;     /* &live or &row.view */
        const JobRecord *record; /* record in the snapshot, if the view is from there; else NULL */
        bool has_metrics;
        JobRow row;   /* row of the store, empty if there is none; valid until the next query */
        JobView live;
} FoundJob;

/* Returns the snapshot's record of the job, or NULL. snapshot NULL: no snapshot. */
const JobRecord *job_lookup_live(const Snapshot *snapshot, const char *id);
/*
 * Finds the job that the argument of the path names. 0 or EXCHANGE_ANSWERED. Without a store, finds jobs of the
 * snapshot only.
 */
int job_lookup(const Target *target, const Sources *sources, Response *response, FoundJob *ret);
/* Returns the time of the job's metrics: the job's end, or the last sample. */
uint64_t job_lookup_time_ms(const Sources *sources, const JobView *job);
