/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* KPI judge: verdicts about results that were just stored */

#include "client/cli/common_options.h"
#include "client/kpi/kpi_gate.h"
#include "request/request.h"

#define KPI_JUDGE_INDICATORS_MAX 64U /* in a submission */
#define KPI_JUDGE_RESULTS_MAX 100U   /* of a job: the newest */

/* Prints the verdicts about the KPIs of stored items to a descriptor. Returns the status of the gate, or an exit
 * status after a message. */
int kpi_judge(const GlobalOptions *global, const KpiGate *gate, const Submission *items, size_t n_items, int fd);
/* Returns true if the judged run of a KPI is one of the items. */
bool kpi_judge_is_of(const Value *kpi, const Submission *items, size_t n_items);
/* Prints the verdicts about KPIs, one in a line. */
int kpi_judge_print(const GlobalOptions *global, const Value *kpis, size_t n_kpis, int fd);
/* As kpi_judge(), for the newest results of a job. */
int kpi_judge_job(const GlobalOptions *global, const KpiGate *gate, const char *job, int fd);
