/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report of a run: merges the reports of all ranks or nodes of one run
 *
 * Reads the output of `perfctl report --json` from each node, checks that all reports belong to one run, and sorts
 * them by rank. Ranks on the same host share the host's node metrics, which are taken from the rank that ran longest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/report/sheet.h"
#include "json/json.h"
#include "util/arena.h"
#include "util/buffer.h"
#include "value/value.h"

/* All pointers are borrowed: from the run's arenas; `file` from the caller. */
typedef struct RankReport {
        const char *file;          /* name for messages */
        unsigned line;             /* line at which the document begins */
        const Value *job;          /* in the format of /api/v1/jobs/ID */
        const Value *on;           /* node of the job, or NULL */
        const char *id, *hostname; /* hostname: "" if unknown */
        int64_t rank, node;        /* -1: unknown */
        uint64_t begin_ms, end_ms; /* end 0: the job was running when the report was written */
        size_t host;               /* index in the run's hosts; SIZE_MAX: unknown */
        bool counts;               /* false: another report has the metrics of the same cgroup */
} RankReport;

typedef struct RunHost {
        const char *name;         /* "" if only the index is known */
        int64_t node;             /* -1: unknown */
        const RankReport *record; /* report whose node metrics are used */
        size_t n_reports;
        uint64_t begin_ms, end_ms; /* first begin and last end of its reports */
} RunHost;

typedef struct ReportRun {
        Arena *arenas; /* one per input text */
        size_t n_arenas;
        RankReport *reports; /* owned */
        size_t n_reports;
        RunHost *hosts; /* owned */
        size_t n_hosts;
        uint32_t n_ranks, n_nodes; /* expected number; 0: unknown */
        const char *step;          /* the only step to be shown; NULL: all */
        size_t n_duplicates;       /* number of duplicate reports that were dropped */
        char error[512];
} ReportRun;

void report_run_deinit(ReportRun *run);

enum {
        RUN_INVALID = 1, /* `error` has the position, the error and a fix */
};

/*
 * Adds the reports in a text: one or more documents, or lists of them. Returns 0, RUN_INVALID, or a negative errno.
 * After the last text, call report_run_join() once; then the functions below can be used.
 */
int report_run_add(ReportRun *run, const char *file, const char *text, size_t n);
/*
 * Checks that the reports belong to one run, sorts them by rank, and finds the hosts. Returns 0, RUN_INVALID, or a
 * negative errno.
 */
int report_run_join(ReportRun *run);
/* The run of one job, whose report and host are the caller's. Needs no report_run_deinit(). node: answer to
 * /api/v1/node, or NULL. */
void report_run_of_job(ReportRun *run, RankReport *report, RunHost *host, const Value *job, const Value *node);

/*
 * Finds members of a report whose type is not what perfd writes. A damaged or edited file may have some: each is
 * treated as missing, which would silently change a sum. Appends "rank, on.cpus, metrics[3].value and 5 more".
 * Returns their number.
 */
size_t report_run_check(const Value *report, Buffer *ret);

/* Returns the end of the job; for a running job, the time of the report. */
uint64_t report_run_rank_end_ms(const RankReport *report);
double report_run_rank_seconds(const RankReport *report);
bool report_run_rank_is_running(const RankReport *report);
/* Returns true if the job is running or exited with 0. */
bool report_run_rank_is_good(const RankReport *report);
/* Returns true if all jobs have finished and none has an exit status. A scheduler tells it to one node only. */
bool report_run_end_is_unknown(const ReportRun *run);

/* Writes a text that all reports have in common; "" if they differ. The id is written without the rank at its end. */
void report_run_id(const ReportRun *run, Buffer *ret);
const char *report_run_text(const ReportRun *run, const char *key);

typedef struct RunTimes {
        uint64_t begin_ms, end_ms; /* end_ms 0: all ranks run */
        uint64_t last_ms; /* as report_run_rank_end_ms() */
} RunTimes;

RunTimes report_run_times(const ReportRun *run);

/*
 * Writes the ranks or nodes without a report, as in "3,5-7"; "" if none is missing, or the expected number is
 * unknown.
 */
void report_run_missing_ranks(const ReportRun *run, Buffer *ret);
typedef enum RankKind {
        RANKS_FAILED,
        RANKS_RUNNING,
        RANKS_ALL,
} RankKind;
/* Writes the ranks of a kind in the same format; *ret_n also counts reports without a rank. */
void report_run_ranks(const ReportRun *run, RankKind kind, Buffer *ret, size_t *ret_n);
/* Writes the ranks with advice from a rule. */
void report_run_advised_ranks(const ReportRun *run, const char *rule, Buffer *ret);
/* Writes "rank 3", or the host if the rank is unknown. */
void report_run_rank_name(const RankReport *report, Buffer *ret);

/* Returns the numbers of a run's step in one of its reports, or NULL. */
const Value *report_run_step(const ReportRun *run, size_t i);
/* Writes the report as one document, described in perfctl-report(1). */
void report_run_write_json(const ReportRun *run, Json *json);

/* Missing nodes: those of a job of Slurm that no report is of */

/*
 * Appends the names of a list as Slurm writes it, cn[1-3,07]-ib,login, each with a newline. Returns false, and appends
 * a part, if it is no such list, or has more than a million bytes.
 */
bool report_run_expand_missing(const char *list, Buffer *ret);
/* Writes "cn2, cn5 and 3 more"; "" if no node is missing or the run has no list of nodes. */
void report_run_write_missing(const ReportRun *run, Buffer *ret);
