/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ranks: finds the process of a distributed job that is slower than the others
 *
 * All ranks of a job run the same pipeline, and the slowest delays each step of all. A straggler is a rank whose stage differs clearly
 * from the median of the ranks, and more than the ranks differ among each other.
 */

#include <stddef.h>

#define PIPELINE_RANKS_MIN 3U /* with fewer, no rank is the exception */

typedef enum PipelineMeasure {
        PIPELINE_MEASURE_READINESS, /* of a queue, 0…1: lower is worse */
        PIPELINE_MEASURE_TIME,      /* of a task, in seconds: higher is worse */
        N_PIPELINE_MEASURES,
} PipelineMeasure;

/* Names in options and JSON, "readiness" and "time", NULL-terminated. */
extern const char *const pipeline_measure_names[N_PIPELINE_MEASURES + 1];

/*
 * Finds the straggler that differs most. values: of n ranks; NAN: not known. Returns its index, with the median of the known values in
 * *ret_median; n: there is none, or less than PIPELINE_RANKS_MIN values are known.
 */
size_t pipeline_ranks_straggler(const double *values, size_t n, PipelineMeasure measure, double *ret_median);
