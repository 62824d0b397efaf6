/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report of a run: the reports of all ranks of one run, or of all its nodes
 *
 * Read from what `perfctl report --json` printed on each node, checked to be of one run, put in the order of their
 * ranks. Several ranks of one host share one record of what its node did: that of the rank that was there
 * longest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/report/sheet.h"
#include "document/value.h"
#include "util/arena.h"
#include "util/json.h"

/* Everything borrowed: from the run's arenas, `file` from whoever added it. */
typedef struct RankReport {
        const char *file;          /* as messages call it */
        unsigned line;             /* at which its document begins */
        const Value *job;          /* the answer to /api/v1/jobs/ID */
        const Value *on;           /* its node, or NULL */
        const char *id, *hostname; /* hostname "" when it does not say */
        int64_t rank, node;        /* -1: not given */
        uint64_t begin_ms, end_ms; /* end 0: it ran when it was asked for */
        size_t host;               /* of the run's; SIZE_MAX: it does not say */
        bool counts;               /* false: another report has the numbers of the same cgroup */
} RankReport;

typedef struct RunHost {
        const char *name;         /* "" when only its index is known */
        int64_t node;             /* -1: not given */
        const RankReport *record; /* whose numbers of the node count */
        size_t n_reports;
        uint64_t begin_ms, end_ms; /* of the reports */
} RunHost;

typedef struct ReportRun {
        Arena *arenas; /* one for each text */
        size_t n_arenas;
        RankReport *reports; /* owned */
        size_t n_reports;
        RunHost *hosts; /* owned */
        size_t n_hosts;
        uint32_t n_ranks, n_nodes; /* that there should be; 0: not known */
        size_t n_duplicates;       /* reports that were given more than once, left out */
        char error[512];
} ReportRun;

void report_run_deinit(ReportRun *run);

enum {
        RUN_INVALID = 1, /* `error` says where, what, and what to do */
};

/*
 * Adds the reports in a text: documents one after the other, or lists of them. 0, RUN_INVALID, or a negative
 * errno. After the last text report_run_join() once; then the run can be asked.
 */
int report_run_add(ReportRun *run, const char *file, const char *text, size_t n);
/* Checks that the reports are of one run, sorts them by rank, and finds the hosts. 0, RUN_INVALID, or a negative errno. */
int report_run_join(ReportRun *run);

/* When it ran at the time of the report, then. */
uint64_t report_run_rank_end_ms(const RankReport *report);
double report_run_rank_seconds(const RankReport *report);
bool report_run_rank_is_running(const RankReport *report);
bool report_run_rank_is_good(const RankReport *report); /* it runs, or ended with 0 */

/* A text that all reports share; "" where they differ. The id is without the rank at its end. */
void report_run_id(const ReportRun *run, Buffer *ret);
const char *report_run_text(const ReportRun *run, const char *key);

typedef struct RunTimes {
        uint64_t begin_ms, end_ms; /* end_ms 0: all ranks run */
        uint64_t last_ms; /* as report_run_rank_end_ms() */
} RunTimes;

RunTimes report_run_times(const ReportRun *run);

/* "3,5-7": those that no report is of. "" when none is missing, or nobody knows how many there should be. */
void report_run_missing_ranks(const ReportRun *run, Buffer *ret);
typedef enum RankKind {
        RANKS_FAILED,
        RANKS_RUNNING,
        RANKS_ALL,
} RankKind;
/* Likewise those of a kind that have a rank; *ret_n counts those without one as well. */
void report_run_ranks(const ReportRun *run, RankKind kind, Buffer *ret, size_t *ret_n);
/* Text of the rule for this report, or NULL. */
const char *report_run_rank_advice(const RankReport *report, const char *rule);
/* Likewise the ranks that got the advice of that rule. */
void report_run_advised_ranks(const ReportRun *run, const char *rule, Buffer *ret);
/* "rank 3", or the host where it has no rank. */
void report_run_rank_name(const RankReport *report, Buffer *ret);

/* Writes the report for a screen; is_whole: with all ranks. */
void report_run_write(Screen *screen, const ReportRun *run, bool is_whole);
/* Writes the report as one document, described in perfctl-report(1). */
void report_run_write_json(const ReportRun *run, Json *json);

/* --- parts of the screen that are about all ranks ------------------------------------------------- */

/* Sums and maxima over the ranks, and how different these are. Nothing where no rank has numbers of its own. */
void report_run_write_together(Sheet *sheet, const ReportRun *run);
/* Writes the nodes during the run, each counted once. */
void report_run_write_nodes(Sheet *sheet, const ReportRun *run);
/* Writes each advice once, with its ranks. */
void report_run_write_advice(Screen *screen, const ReportRun *run);
