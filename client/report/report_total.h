/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Totals: what the ranks of a run come to together
 *
 * A sum where the parts add up, the highest where they do not (peaks at different times, shares). What two ranks have
 * in common counts once: a cgroup, and the node they are on.
 */

#include "client/report/report_run.h"

typedef struct Total {
        double value;
        bool is_exact;        /* all parts are */
        size_t n;             /* reports, or hosts, that had it */
        const RankReport *at; /* of a maximum: where it was */
} Total;

/* Over the ranks, of a number of the job itself. False: none has it. */
bool total_sum(const Run *run, const char *key, Total *ret);
bool total_max(const Run *run, const char *key, Total *ret);
/* Over the hosts, of a number of the node. */
bool total_host_sum(const Run *run, const char *key, Total *ret);
bool total_host_max(const Run *run, const char *key, Total *ret);

/* CPUs and CPU seconds that the ranks were given: on each host at most what it has. */
bool total_cpus_given(const Run *run, Total *ret);
bool total_cpu_seconds_given(const Run *run, Total *ret);

/* Range of the values of all ranks. */
typedef struct Spread {
        const RankReport *least, *most;
        double min, mean, max;
        bool is_exact;
        size_t n;
} Spread;

/* key: of a number of the job itself; NULL: how long it took. False: fewer than two have it. */
bool run_spread(const Run *run, const char *key, Spread *ret);
/* Highest by mean: 1 where all are the same. NAN: all are 0. */
double spread_imbalance(const Spread *spread);
