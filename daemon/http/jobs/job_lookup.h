/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A job by its id, as the store and the snapshot together know it
 *
 * The store knows first that a job began or ended; the snapshot alone has the numbers of one that runs.
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
/* Of the exchange's argument. 0 or EXCHANGE_ANSWERED. The store may be down: what the snapshot has is answered all the same. */
int job_lookup(Exchange *exchange, FoundJob *ret);
/* When its numbers are of: its end, or the last sample. */
uint64_t job_lookup_time_ms(const Exchange *exchange, const JobView *job);
