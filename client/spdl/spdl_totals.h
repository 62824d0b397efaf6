/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL totals: lines of a log that have the totals of a run
 *
 * At the end of a run SPDL logs the totals, and not the last interval, which is shorter than the others. A line of a queue has totals if
 * it has at least as many items as all lines before it, and lasts as long, and if the logged time does not contradict: its start is the
 * begin of the run and not the end of the line before it. The tasks of a stage end before its queue, so the last line of its tasks before
 * the totals of the queue has totals as well.
 */

#include "client/spdl/spdl_table.h"

/* Replaces totals by their difference to the intervals, which is the last interval. Returns 0 or -ENOMEM. */
int spdl_totals_split(SpdlTable *table);
