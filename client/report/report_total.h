/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Totals: what the ranks of a run come to together
 *
 * A sum where the parts add up, the highest where they do not (peaks at different times, shares). What two ranks have
 * in common counts once: a cgroup, and the node they are on.
 */

#include "client/report/report_run.h"

typedef struct ReportTotal {
        double value;
        bool is_exact;        /* all parts are */
        size_t n;             /* reports, or hosts, that had it */
        const RankReport *at; /* of a maximum: where it was */
} ReportTotal;

typedef enum TotalOf {
        TOTAL_OF_RANKS, /* of a number of the job itself */
        TOTAL_OF_HOSTS, /* of a number of the node */
} TotalOf;

/* False: none has it. */
bool report_total_sum(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret);
bool report_total_max(const ReportRun *run, TotalOf of, const char *key, ReportTotal *ret);

/* CPUs, or CPU seconds, that the ranks were given: on each host at most what it has. */
bool report_total_given(const ReportRun *run, bool is_seconds, ReportTotal *ret);

/* Range of the values of all ranks. */
typedef struct Spread {
        const RankReport *least, *most;
        double min, mean, max;
        bool is_exact;
        size_t n;
} Spread;

/* key: of a number of the job itself; NULL: how long it took. False: fewer than two have it. */
bool report_total_spread(const ReportRun *run, const char *key, Spread *ret);
/* Highest by mean: 1 where all are the same. NAN: all are 0. */
double report_total_imbalance(const Spread *spread);
