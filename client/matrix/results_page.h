/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results page: reports of a run, each one file, and the page that lists them
 *
 * Each page has all tests with their settings, values, KPIs and verdicts as JSON, and draws them
 * (web/report/results.js).
 */

#include "client/cli/common_options.h"
#include "client/matrix/results_plots.h"
#include "client/matrix/results_report.h"

/*
 * Writes NAME.html for each report into a directory, and index.html if there are several, and appends what was written
 * to `said`. Asks perfd for the histories of the KPIs that were judged. Returns EXIT_DONE, or EXIT_FAILED after a
 * message.
 */
int results_page_write(const ResultsRun *run, const GlobalOptions *global, const ResultsReports *reports,
                       const char *directory, Buffer *said);

#define RESULTS_LOG_BYTES_MAX 4096U /* of each file */
/* Appends "NAME:" and the last lines of each file that the declaration's `logs` match (default: stderr and stdout);
 * nothing where there is none. 0 or -ENOMEM. */
int results_page_put_log(const ResultsFile *file, const TestTree *tree, TestRecord *record, Buffer *out);
