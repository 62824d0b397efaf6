/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a run's report that is about all its ranks
 */

#include "client/report/report_run.h"
#include "client/report/sheet.h"

/* Sums and maxima over the ranks, and how different these are. Nothing where no rank has numbers of its own. */
void report_together_write(Sheet *sheet, const ReportRun *run);
/* Writes the nodes during the run, each counted once. */
void report_together_write_nodes(Sheet *sheet, const ReportRun *run);
/* Writes each advice once, with its ranks. */
void report_together_write_advice(Screen *screen, const ReportRun *run);
