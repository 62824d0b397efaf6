/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results: submissions of indicators
 *
 * Finds the job of each result, checks results against their models, stores them, and counts them.
 */

#include "desk/desk.h"
#include "indicators/registry.h"
#include "indicators/tally.h"
#include "jobs/identity.h"

/*
 * Job chosen for the last request. The desk may place a request several times, and the job may end before the store
 * has space.
 */
typedef struct ResultsJob {
        Ticket ticket;        /* of the last request */
        char id[JOB_ID_MAX];
        bool is_other;        /* the job is not the one named in the request */
} ResultsJob;

typedef struct Results {
        const StoreConfig *store_config; /* borrowed, like the next four */
        Store *store;
        Shares *shares;
        Identity *identity;
        const Registry *registry;
        Tally tally;
        ResultsJob job;
} Results;

void results_deinit(Results *results);

/*
 * Kinds of requests; their state is a Results. The second kind has completions only, for results whose job is not the
 * named one.
 */
extern const Kind results_kinds[2];
