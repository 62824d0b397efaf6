/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compare stored: runs of before, from files of `perfctl run --output` or from batches that perfd stores */

#include "client/cli/common_options.h"
#include "client/compare/comparison.h"

/*
 * Adds the runs of one side, in their order. what: the id of a batch, or a JSON file. Returns EXIT_DONE, or an exit
 * status after a message.
 */
int compare_stored_read(PairedRuns *runs, ComparisonSide side, const char *what, const GlobalOptions *global);
