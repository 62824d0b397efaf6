/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results check: perfd's verdicts about the KPIs of the stored tests */

#include "client/api/api_query.h"
#include "client/kpi/kpi_gate.h"
#include "request/request.h"

typedef struct ResultsCheck {
        ApiQuery query;
        Value *kpis; /* owned; those of the tests */
        Member member;
        Value answer; /* {"kpis": […]}, as of kpi_report.h */
        KpiTally tally;
        bool is_judged, has_failed;
} ResultsCheck;

/* Asks for the verdicts about the indicator of the items. Returns EXIT_DONE, or an exit status after a message. Call
 * results_check_deinit() in all cases. */
int results_check(ResultsCheck *ret, const GlobalOptions *global, const Submission *items, size_t n_items);
void results_check_deinit(ResultsCheck *check);

/* Writes the verdicts about the KPIs of one item: {"NAME": {…}}. */
void results_check_write_item(const ResultsCheck *check, const Submission *item, Json *json);
