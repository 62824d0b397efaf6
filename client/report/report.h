/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The report of a job: one screen
 *
 * What ran, given against used, phases, what the node did meanwhile, what was measured, and advice. Written from the
 * answer to /api/v1/jobs/ID; what is not in it, since the perfd that answered is older or the job has no
 * cgroup of its own, is left out, or said to be absent.
 */

#include "client/cli/screen.h"
#include "client/report/report_results.h"
#include "client/report/sheet.h"
#include "document/value.h"

/* job: the answer to /api/v1/jobs/ID. node: to /api/v1/node, or NULL. results: of the job, or NULL. */
void report_write(Screen *screen, const Value *job, const Value *node, const ReportResults *results);

/* --- its parts, which `job show` and the report of a run have as well ----------------------------- */

void report_write_head(Screen *screen, const Value *job, const Value *node);

#define REPORT_EXIT_MAX 96U
/* "finished: exit 3", "finished: Killed (signal 9)", "running". Returns whether there is nothing wrong with it. */
bool report_exit_format(const Value *job, char ret[static REPORT_EXIT_MAX]);
/* "KILL", or NULL for what is no signal. */
const char *report_signal_name(int64_t signal);
/* "time  1 h 23 min, … to …". end_ms 0: it runs. now_ms 0: not known. */
void report_write_time(Screen *screen, uint64_t begin_ms, uint64_t end_ms, uint64_t now_ms);

/* Whether there are numbers of the job itself. */
bool report_has_own(const Value *job);
/* Given against used, waiting, I/O: the job's own numbers. */
void report_write_own(Sheet *sheet);
/* A table of the phases; nothing when it was never marked. */
void report_write_phases(Sheet *sheet);
/* Writes the node during the job: in four lines, or in full where there is nothing else. */
void report_write_node(Sheet *sheet, bool is_brief);
/* Paragraphs of advice. words: after each its rule, or the ranks it is for. */
void report_write_advice(Screen *screen, const char *text, const char *words);
/* Writes the legend of ~, if it was used. */
void report_write_legend(const Sheet *sheet);
