/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results store: what perfd does with the results of a run
 *
 * It stores the payloads, which the spool keeps while perfd is away, judges their KPIs, and has the runs with which
 * these were compared.
 */

#include "client/api/api_query.h"
#include "client/kpi/kpi_gate.h"
#include "client/matrix/payload.h"

typedef struct ResultsStoreOptions {
        const char *socket, *spool; /* NULL: not given */
        uint64_t timeout_ns;
} ResultsStoreOptions;

/*
 * Registers the model of the results and stores the items, which are those of tests of the tree. That perfd refuses one
 * is a finding of its test, and the others are stored. said: appended what became of them, "3 stored". Returns
 * EXIT_DONE, EXIT_UNREACHABLE if they are in the spool, or EXIT_FAILED after a message.
 */
int results_store(const ResultsStoreOptions *options, const IndicatorModel *model, TestTree *tree,
                  const Submission *items, size_t n_items, Buffer *said);

typedef struct ResultsCheck {
        ApiQuery query;
        Value *kpis; /* owned; those of the tests */
        Member member;
        Value answer; /* {"kpis": […]}, as of kpi_report.h */
        KpiTally tally;
        bool is_judged, has_failed;
} ResultsCheck;

/* Asks for the verdicts about the indicator of the items. Returns EXIT_DONE, or an exit status after a message. Call
 * results_store_check_deinit() in all cases. */
int results_store_check(ResultsCheck *ret, const GlobalOptions *global, const Submission *items, size_t n_items);
void results_store_check_deinit(ResultsCheck *check);
/* Writes the verdicts about the KPIs of one item: {"NAME": {…}}. */
void results_store_write_verdicts(const ResultsCheck *check, const Submission *item, Json *json);

#define RESULTS_HISTORIES_MAX 256U /* of a run; later KPIs have none */

/*
 * Writes a list with a list of {"version", "n", "first_ms", "median", "min", "max"} for each KPI that was judged, or
 * null for one whose history cannot be asked for. 0 or -ENOMEM.
 */
int results_store_write_histories(const ResultsCheck *check, const IndicatorModel *model, const GlobalOptions *global,
                                  Json *json);
