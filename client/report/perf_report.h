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

#include "document/value.h"
#include "measure/compat.h"
#include "util/buffer.h"

#define N_PERF_REPORT_FIELDS 12U

const char *perf_report_field_name(size_t field); /* "cpu_pct_per_cpu_avg", …, "timestamp" */
/* Returns NAN if the field is unknown. */
double perf_report_field(const PerfpySample *sample, size_t field);

void perf_report_begin(Buffer *out);
/* Writes the samples of one rank. is_first: no rank was written before. */
void perf_report_put(Buffer *out, int64_t rank, const PerfpySample *samples, size_t n, bool is_first);
void perf_report_end(Buffer *out);

enum {
        PERF_REPORT_EMPTY = 1, /* the job has no metrics */
};

/*
 * Makes samples from the timeline of a job. job, timeline: answers to /api/v1/jobs/{id} and its /samples.
 * perfctl-export(1) describes the fields and is_compat. Returns 0, PERF_REPORT_EMPTY or -ENOMEM; caller frees.
 */
int perf_report_samples(const Value *job, const Value *timeline, bool is_compat, PerfpySample **ret, size_t *ret_n);
