/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results: the subsystem for indicators
 *
 * Finds the job of each result, checks results against their models, stores them, and counts them. Embeds the
 * registry of the models.
 */

#include "desk/desk.h"
#include "indicators/kpi_queue.h"
#include "indicators/registry.h"
#include "indicators/tally.h"
#include "jobs/identity.h"
#include "store/indicators/result_rows.h"

/* Largest number of items that one pass over the items of a submission, or several, may take in a turn of the loop. */
#define RESULTS_PER_TURN 1024U

/*
 * Progress of a request. The desk places a request several times: a long one takes several turns, and the store may
 * have no space. Nothing is queued for the store before the last item is packed.
 */
typedef struct ResultsProgress {
        Ticket ticket;        /* of the request */
        char job[JOB_ID_MAX]; /* job chosen for items that name none, or another than theirs; "": none yet */
        bool is_other;        /* the job of an item is not the one named in the request */
        bool is_unvouched;    /* an item names a job that does not run here */
        size_t pass, i;       /* next pass over the items, and its next item */
        size_t n_work;        /* items passed, and KPIs added, in this turn */
        uint64_t now_ns;      /* CLOCK_REALTIME at the begin */
        uint64_t n_changes;   /* of the models at the begin */
        size_t n_deviations;  /* keys that do not conform to the models */
        ResultPacker *packer; /* owned; NULL: no item was passed */
        LiveKpis kpis;        /* of the packed items */
} ResultsProgress;

typedef struct Results {
        const StoreConfig *store_config; /* borrowed, like the next three */
        Store *store;
        Shares *shares;
        Identity *identity;
        Registry registry;
        Tally tally;
        LiveKpis kpis;
        KpiQueue queued_kpis;
        ResultsProgress requests[2]; /* of the request that the desk keeps, and of the one that it holds */
        ResultsProgress *progress;    /* of the current call */
        ResultWalk counting; /* of the stored results that are being counted; set NULL: none */
} Results;

/* All arguments are borrowed until results_deinit(); changes of the configurations apply at once. */
void results_init(Results *results, const IndicatorsConfig *config, const StoreConfig *store_config, Store *store,
                  Shares *shares, Identity *identity);
void results_deinit(Results *results);

/* Fills the indicators' part of a snapshot. Returns 0 or -ENOMEM. */
int results_publish(const Results *results, IndicatorsSnapshot *ret);

/*
 * Kinds of requests; their state is a Results. The second kind has completions only, for results whose job is not the
 * named one.
 */
extern const Kind results_kinds[3];
