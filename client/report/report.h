/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report of a run, on one screen; the report of a job is that of a run of one rank
 *
 * Shows what ran, allocated and used resources, phases, the node during the run, results, and advice. Written from
 * answers to /api/v1/jobs/ID. Metrics that are missing, because perfd is older or a job has no cgroup of its own, are
 * omitted or reported as unavailable.
 */

#include "client/api/api_query.h"
#include "client/cli/screen.h"
#include "client/report/report_run.h"
#include "client/report/report_total.h"
#include "client/report/sheet.h"
#include "value/value.h"

/*
 * Results of a job: the indicators measured in the job. Each is represented by its latest result: the score, or the
 * first numbers of its @result.
 */

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
        const Value *pipelines; /* borrowed; verdicts about the data pipelines of the job; NULL: in its report */
} ReportResults;

/* Summarises a result of /api/v1/indicators/NAME/results. */
void report_results_format(const Value *result, ReportResult *ret);

/* results: of the job, or NULL. is_whole: list all ranks. Of a run with a step: what ran, and this step. */
void report_write(Screen *screen, const ReportRun *run, const ReportResults *results, bool is_whole);
/* Writes duration, nodes, CPUs and memory in a line, as for the comment of a job in the scheduler's accounting. */
void report_write_line(const ReportRun *run, Buffer *out);
/* As above, for the run of one job. */
void report_write_job_line(const Value *job, Buffer *out);
/* The run of one job. job: answer to /api/v1/jobs/ID. node: answer to /api/v1/node, or NULL. */
void report_write_job(Screen *screen, const Value *job, const Value *node, const ReportResults *results);
/*
 * Asks perfd for the node, the results and the pipelines of a job, and prints its report to a descriptor. is_brief: its
 * description only. EXIT_DONE, or EXIT_FAILED after a message.
 */
int report_print_job(const GlobalOptions *global, const Value *job, bool is_brief, int fd);
/* Prints the answer about a job as JSON, with the verdicts about its data pipelines as member "pipelines". */
int report_print_job_json(const GlobalOptions *global, const ApiQuery *query);

/* --- parts ---------------------------------------------------------------------------------------- */

/* Writes the description of a job. node: answer to /api/v1/node, or NULL. */
void report_write_head(Screen *screen, const Value *job, const Value *node);
/* Returns "KILL" for 9; NULL if the number is not a signal. */
const char *report_signal_name(int64_t signal);
#define REPORT_EXIT_MAX 96U
/*
 * Formats the end of a job: "finished: exit 3", "finished: Killed (signal 9)", "running", and the final state of a job
 * of Slurm where it is known. Returns the style; that of a success only if it is known to be one.
 */
Style report_format_exit(const Value *job, char ret[static REPORT_EXIT_MAX]);
/* Writes "time  1 h 23 min of 24 h (5.8 %), … to …". end_ms 0: the job is running. now_ms 0: unknown. */
void report_write_time(Screen *screen, const Value *job, uint64_t begin_ms, uint64_t end_ms, uint64_t now_ms);

/* Returns true if the job has metrics of its own cgroup. */
bool report_has_own(const Value *job);
/* Writes allocated and used resources, pressure and I/O of all ranks together, and their spread. */
void report_write_usage(Sheet *sheet, const ReportRun *run);
/* Writes a table of the phases; nothing if the job has no marks. */
void report_write_phases(Sheet *sheet);
/* Writes a table of the steps of a scheduler's job, on all nodes; nothing if it has none. */
void report_write_steps(Sheet *sheet, const ReportRun *run);
#define REPORT_GPUS_MAX 64U /* further ones are counted */
/* Writes what the run used of its GPUs; nothing if it has none. verdicts: about its data pipelines, or NULL. */
void report_write_gpus(Sheet *sheet, const ReportRun *run, const Value *verdicts);
/* Adds up a number of all GPUs, each once. Returns false if none has it. */
bool report_gpus_sum(const ReportRun *run, const char *key, ReportTotal *ret);
/* Writes the nodes during the run, each counted once: in four lines, or in full for a job without a cgroup. */
void report_write_node(Sheet *sheet, const ReportRun *run);
