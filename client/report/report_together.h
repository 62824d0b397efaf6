/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of a run's report that is about all its ranks
 */

#include "client/report/report_run.h"
#include "client/report/report_sheet.h"

/* Sums and maxima over the ranks, and how different these are. Nothing where no rank has numbers of its own. */
void run_write_together(Sheet *sheet, const Run *run);
/* Writes the nodes during the run, each counted once. */
void run_write_nodes(Sheet *sheet, const Run *run);
/* Writes each advice once, with its ranks. */
void run_write_advice(Screen *screen, const Run *run);
