/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results: submissions of indicators
 *
 * Finds the job that each result belongs to, checks results by their models, puts them into the store, and counts them.
 */

#include "desk/desk.h"
#include "indicators/registry.h"
#include "indicators/tally.h"
#include "jobs/identity.h"

/* Job chosen for the last request. The desk may place a request several times, and the job may end before the store has room. */
typedef struct ResultsJob {
        Ticket ticket;        /* of the last request */
        char id[JOB_ID_MAX];
        bool is_other;        /* the job is not the job that the request names */
} ResultsJob;

typedef struct Results {
        const StoreConfig *store_config; /* borrowed, as are the next four */
        Store *store;
        Shares *shares;
        Identity *identity;
        const Registry *registry;
        Tally tally;
        ResultsJob job;
} Results;

void results_deinit(Results *results);

/* Kinds of requests; their state is a Results. The second kind has completions only, for results of a job other than the named job. */
extern const Kind results_kinds[2];
