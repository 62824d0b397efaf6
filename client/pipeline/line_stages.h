/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Line stages: the stages in lines of pipeline_line.h, with sums over their intervals */

#include "client/pipeline/pipeline_line.h"
#include "client/pipeline/stage_set.h"
#include "util/buffer.h"

/*
 * Reads the lines of a text. The first of three or more intervals of a part of a stage does not count: the queues fill in it.
 * counts_open_periods: as of pipeline_report_counts_open_periods(), until a line names the producer. Returns 0, PIPELINE_LINE_INVALID, with
 * the number of the line and the error, or a negative errno. Call stage_set_deinit() in all cases.
 */
int line_stages_read(StageSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                     char ret_error[static PIPELINE_LINE_ERROR_MAX]);
