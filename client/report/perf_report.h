/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Perf report: the artifact that perf.py of lightgbm-benchmark wrote
 *
 * {"0": [{twelve fields}, …], "1": […]}: for each rank its samples, laid out and spelt as Python's json.dump() does
 * with an indent of 4, so that what reads upstream's files reads ours. What is not known is null.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/value.h"
#include "measure/compat.h"
#include "util/buffer.h"

#define N_PERF_REPORT_FIELDS 12U

const char *perf_report_field_name(size_t field); /* "cpu_pct_per_cpu_avg", …, "timestamp" */
/* NAN: not known. */
double perf_report_field(const PerfpySample *sample, size_t field);

void perf_report_begin(Buffer *out);
/* Writes one rank; is_first: the first of the report. */
void perf_report_put(Buffer *out, int64_t rank, const PerfpySample *samples, size_t n, bool is_first);
void perf_report_end(Buffer *out);

enum {
        PERF_REPORT_EMPTY = 1, /* nothing is known of the job's numbers */
};

/*
 * The samples that a job's timeline makes. job, timeline: the answers to /api/v1/jobs/{id} and its /samples.
 * perfctl-export(1) says what each field is, and what is_compat changes. 0, PERF_REPORT_EMPTY or -ENOMEM; caller frees.
 */
int perf_report_samples(const Value *job, const Value *timeline, bool is_compat, PerfpySample **ret, size_t *ret_n);
