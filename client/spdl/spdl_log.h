/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL log: statistics of pipelines in the lines that SPDL logs
 *
 * SPDL logs a line for the tasks and for the queue of each stage: after each interval, if there are intervals, and the totals of the run
 * at its end. The date and time may be anywhere before the stage in brackets. Other lines are ignored.
 */

#include "client/spdl/spdl_table.h"

/*
 * Reads a text into an empty table. Instead of the totals of a run, the table has its last interval. Returns 0, SPDL_TABLE_INVALID or
 * -ENOMEM.
 */
int spdl_log_read(SpdlTable *table, const Buffer *text, char ret_error[static SPDL_TABLE_ERROR_MAX]);
