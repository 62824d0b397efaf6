/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds a job by its id in the store and in the snapshot
 *
 * The store is the first to know that a job began or ended; only the snapshot has the metrics of a running job.
 */

#include "http/exchange.h"
#include "store/jobs/job_reader.h"

typedef struct FoundJob {
        const JobView *view;     /* &live or &row.view */
        const JobRecord *record; /* of the snapshot, where the view is from there; else NULL */
        bool has_metrics;
        JobRow row;   /* empty if the store has none; valid until the next query */
        JobView live;
} FoundJob;

/* The snapshot's record of the job, or NULL. snapshot NULL: none. */
const JobRecord *job_lookup_live(const Snapshot *snapshot, const char *id);
/* The job that the exchange's argument names. 0 or EXCHANGE_ANSWERED. Without a store, jobs of the snapshot are found. */
int job_lookup(Exchange *exchange, FoundJob *ret);
/* Time of the job's metrics: its end, or the last sample. */
uint64_t job_lookup_time_ms(const Exchange *exchange, const JobView *job);
