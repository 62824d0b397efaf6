/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * KPI gate: the exit status for verdicts about KPIs
 *
 * --fail-on lists the verdicts that fail, and --allow-failures sets how many such verdicts are tolerated.
 */

#include <stddef.h>

#include "analysis/judge.h"
#include "client/cli/options.h"
#include "value/value.h"

typedef struct KpiGate {
        const char *fail_on;        /* regression,no-verdict; as kpi_gate_check() accepts it */
        const char *allow_failures; /* 3, or 5%; NULL: none */
} KpiGate;

#define OPTION_ROW_FAIL_ON(type, member, given) \
        { "fail-on", 0, "LIST", "Verdicts with exit status 4; no-verdict: 5", OPTION_TEXT(type, member), .initial = (given) }

/* Options of commands that store KPIs, and then judge them if asked to. */
typedef struct KpiGateOptions {
        bool judge;
        KpiGate gate;
} KpiGateOptions;

extern const Option kpi_gate_options[];

/* Number of KPIs with each verdict. */
typedef struct KpiTally {
        size_t n[N_JUDGE_VERDICTS], n_all;
} KpiTally;

/* Returns EXIT_DONE, or EXIT_USAGE after a message of the command. */
int kpi_gate_check(const KpiGate *gate, const char *command);
/* Checks the gate, and that --fail-on is given with --judge only. Returns as kpi_gate_check() does. */
int kpi_gate_check_options(const KpiGateOptions *options, const char *command);
void kpi_gate_count(KpiTally *tally, const Value *kpi);
/* Returns EXIT_DONE, EXIT_REGRESSED or EXIT_NO_VERDICT; the last also if there is no KPI at all. */
int kpi_gate_status(const KpiGate *gate, const KpiTally *tally);

/* Writes "1 regression, 2 no change". */
void kpi_gate_put(const KpiTally *tally, Buffer *out);
