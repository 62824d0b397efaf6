/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results of a job: the indicators measured in the job
 *
 * Each indicator is represented by its latest result: the score, or the first numbers of its @result.
 */

#include "client/api/api_query.h"

#define JOB_RESULTS_MAX 6U
#define JOB_RESULT_TEXT_MAX 256U

typedef struct ReportResult {
        char title[JOB_RESULT_TEXT_MAX]; /* "Copy (dd)" */
        char text[JOB_RESULT_TEXT_MAX];  /* "score 8123.5", "rate_mib_per_s 8123.5, n 12" */
} ReportResult;

typedef struct ReportResults {
        ReportResult items[JOB_RESULTS_MAX];
        size_t n;
        bool has_more;
} ReportResults;

/*
 * Requests the results from perfd; both queries must be initialised. Failures are ignored: an older or busy perfd
 * yields a report without results.
 */
void report_results_ask(ApiQuery *indicators, ApiQuery *results, const Value *job, ReportResults *ret);
/* Summarises a result of /api/v1/indicators/NAME/results. */
void report_results_format(const Value *result, ReportResult *ret);
