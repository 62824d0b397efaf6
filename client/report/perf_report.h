/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Perf report: the artifact of lightgbm-benchmark's perf.py
 *
 * {"0": [{twelve fields}, …], "1": […]}: a list of samples for each rank, in the format of Python's json.dump() with
 * an indent of 4, so that tools for the original artifact can read it. Unknown values are null.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/compat.h"
#include "util/buffer.h"
#include "value/value.h"

typedef struct PerfReportRank {
        int64_t rank;
        const char *from;      /* the job or file, for messages; borrowed */
        PerfpySample *samples; /* owned */
        size_t n;
} PerfReportRank;

typedef struct PerfReport {
        PerfReportRank *ranks; /* owned */
        size_t n_ranks;
        char error[512];
} PerfReport;

void perf_report_deinit(PerfReport *report);

/* All positive: outcomes. */
enum {
        PERF_REPORT_EMPTY = 1, /* nothing was added: the job has no samples, or no metrics */
        PERF_REPORT_INVALID,   /* `error` has the position, the error and the expected form */
};

/* Adds a job with the samples of an answer to /api/v1/jobs/{id}/perf-report. 0, PERF_REPORT_EMPTY or -ENOMEM. */
int perf_report_add_samples(PerfReport *report, const char *from, const Value *answer);
/* Adds a job too short for a sample, with one made of its totals. job: answer to /api/v1/jobs/{id}. As above. */
int perf_report_add_totals(PerfReport *report, const char *from, const Value *job);
/* Adds the ranks of an artifact. 0, PERF_REPORT_INVALID or -ENOMEM. */
int perf_report_add_artifact(PerfReport *report, const char *file, const char *text, size_t n);
/*
 * Sorts the ranks, once all are added. renumber: gives them the numbers 0, 1, … in the order in which they were
 * added. 0, or PERF_REPORT_INVALID if two have the same rank.
 */
int perf_report_join(PerfReport *report, bool renumber);
void perf_report_write(const PerfReport *report, Buffer *out);
