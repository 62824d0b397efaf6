/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SPDL stages: the stages of a file of SPDL, with sums over its intervals */

#include "client/pipeline/stage_set.h"
#include "client/spdl/spdl_file.h"

/*
 * Reads a file, "-" for standard input. The first of three or more intervals of a part of a stage does not count: the queues fill in it.
 * counts_open_periods: as of pipeline_report_counts_open_periods(). *ret_n_left_out: intervals with a missing value, or with the time of
 * the interval before; truncated lines of a log. Returns 0, SPDL_FILE_INVALID or a negative errno. Call stage_set_deinit() in all cases.
 */
int spdl_stages_read(StageSet *ret, const char *path, bool counts_open_periods, size_t *ret_n_left_out,
                     char ret_error[static SPDL_FILE_ERROR_MAX]);
