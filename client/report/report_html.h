/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report as a web page: one file with its scripts, styles and data
 *
 * tools/bundle makes the page, without data, from the view of a job of perfd's web page. Both functions return
 * EXIT_DONE, or an exit status after a message. file: "-" for standard output, else replaced atomically.
 */

#include "client/api/api_query.h"
#include "client/report/report_run.h"
#include "util/buffer.h"

/* Writes the report of the job that was asked for, with its timeline, pipelines and results. */
int report_html_write_job(ApiQuery *query, const char *file);
/* Writes the reports of a run one after the other. */
int report_html_write_run(const ReportRun *run, const char *file);

/* Writes the page with the data, JSON, in its place. */
void report_html_put(const char *page, const Buffer *data, Buffer *out);
