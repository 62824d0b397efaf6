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

/* Job of the results of the last request, which the desk may place several times. The job may end before the store has room. */
typedef struct ResultsJob {
        Ticket ticket;        /* of that request */
        char id[JOB_ID_MAX];
        bool is_other;        /* not the job that the request names */
} ResultsJob;

typedef struct Results {
        const StoreConfig *store_config; /* borrowed, as all up to the tally */
        Store *store;
        Identity *identity;
        const Registry *registry;
        Tally tally;
        ResultsJob job;
} Results;

void results_deinit(Results *results);

/* Kinds of requests; their state is a Results. The second has completions only: of results for another job than the named one. */
extern const Kind results_kinds[2];
