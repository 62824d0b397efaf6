/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report of a job, on one screen
 *
 * Shows what ran, allocated and used resources, phases, the node during the job, results, and advice. Written from
 * the answer to /api/v1/jobs/ID. Metrics that are missing, because perfd is older or the job has no cgroup of its
 * own, are omitted or reported as unavailable.
 */

#include "client/cli/screen.h"
#include "client/report/report_results.h"
#include "client/report/sheet.h"
#include "value/value.h"

/* job: answer to /api/v1/jobs/ID. node: answer to /api/v1/node, or NULL. results: of the job, or NULL. */
void report_write(Screen *screen, const Value *job, const Value *node, const ReportResults *results);

/* --- parts, also used by `report --brief` and by the report of a run ------------------------------------ */

void report_write_head(Screen *screen, const Value *job, const Value *node);

#define REPORT_EXIT_MAX 96U
/*
 * Formats the end of a job: "finished: exit 3", "finished: Killed (signal 9)", "running". Returns false if the job
 * failed.
 */
bool report_exit_format(const Value *job, char ret[static REPORT_EXIT_MAX]);
/* Returns "KILL" for 9; NULL if the number is not a signal. */
const char *report_signal_name(int64_t signal);
/* Writes "time  1 h 23 min, … to …". end_ms 0: the job is running. now_ms 0: unknown. */
void report_write_time(Screen *screen, uint64_t begin_ms, uint64_t end_ms, uint64_t now_ms);

/* Returns true if the job has metrics of its own cgroup. */
bool report_has_own(const Value *job);
/* Writes the job's own metrics: allocated and used resources, pressure, I/O. */
void report_write_own(Sheet *sheet);
/* Writes a table of the phases; nothing if the job has no marks. */
void report_write_phases(Sheet *sheet);
/* Writes the node during the job: in four lines, or in full if the job has no metrics of its own. */
void report_write_node(Sheet *sheet, bool is_brief);
/* Writes paragraphs of advice. words: text after each paragraph, the rule or the ranks. */
void report_write_advice(Screen *screen, const char *text, const char *words);
/* Writes the legend of ~ if the report contains a ~. */
void report_write_legend(const Sheet *sheet);
