/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Totals: sums and maxima over the ranks of a run
 *
 * A metric is summed if its parts add up; otherwise (shares, peaks at different times) the maximum is used. Metrics
 * shared by several ranks, of a cgroup or a node, are counted once.
 */

#include "client/report/report_run.h"

typedef struct ReportTotal {
        double value;         /* in `unit` */
        const char *unit;
        bool is_exact;        /* all parts are exact */
        size_t n;             /* number of reports or hosts with the metric */
        const RankReport *at; /* of a maximum: the report that has it */
} ReportTotal;

typedef enum TotalOf {
        TOTAL_OF_RANKS, /* a metric of the job itself */
        TOTAL_OF_HOSTS, /* a metric of the node */
} TotalOf;

/* Return false if no report has the metric. */
bool report_total_sum(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret);
bool report_total_max(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret);

/* Formats as sheet_format(). */
void report_total_format(Sheet *sheet, const ReportTotal *total, char ret[static TEXT_MAX]);

/* Computes the CPUs or CPU seconds allocated to the ranks, limited on each host to the CPUs of the host. */
bool report_total_given(const ReportRun *run, bool is_seconds, ReportTotal *ret);

/* Range of the values of all ranks. */
typedef struct Spread {
        const RankReport *least, *most;
        double min, mean, max;
        bool is_exact;
        size_t n;
} Spread;

/* key: a metric of the job itself; NULL: the duration. Returns false if fewer than two ranks have it. */
bool report_total_spread(const ReportRun *run, const char *key, Spread *ret);
/* Returns maximum divided by mean: 1 if all are equal, NAN if all are 0. */
double report_total_imbalance(const Spread *spread);
