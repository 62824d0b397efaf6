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
        const JobView *view; /* borrowed: the snapshot's, or row.view */
        bool is_live;        /* from the snapshot */
        bool has_metrics;
        JobRow row;          /* empty where the store has none; until the next question to it */
} FoundJob;

/* The snapshot's, or NULL. */
const JobView *job_lookup_live(const Snapshot *snapshot, const char *id);
/* Of the exchange's argument. 0 or EXCHANGE_ANSWERED. The store may be down: what the snapshot has is answered all the same. */
int job_lookup(Exchange *exchange, FoundJob *ret);
/* When its numbers are of: its end, or the last sample. */
uint64_t job_lookup_time_ms(const Exchange *exchange, const JobView *job);
