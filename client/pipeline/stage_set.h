/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stage set: the stages of data pipelines with sums over a run, from lines of pipeline_line.h. */

#include <stdbool.h>
#include <stddef.h>

#include "client/pipeline/pipeline_line.h"
#include "pipeline/pipeline_set.h"
#include "util/buffer.h"

/*
 * Reads the stages in lines of pipeline_line.h. counts_open_periods: as of pipeline_report_counts_open_periods(),
 * until a line names the producer. Returns 0, PIPELINE_LINE_INVALID, with the number of the line and the error, or a
 * negative errno. Call pipeline_set_deinit() in all cases.
 */
int stage_set_read_lines(PipelineSet *ret, const Buffer *text, bool counts_open_periods, size_t *ret_line,
                         unsigned *ret_column, char ret_error[static PIPELINE_LINE_ERROR_MAX]);
