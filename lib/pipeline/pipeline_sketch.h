/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pipeline sketch: percentiles of durations in constant memory
 *
 * Durations are counted in buckets whose limits grow by a constant factor, as in DDSketch (Masson, Rim, Lee, VLDB 2019). A percentile has
 * a relative error of at most PIPELINE_SKETCH_ERROR, whatever the distribution. Adding the buckets of two sketches gives the sketch of
 * all of their durations.
 */

#include <stdint.h>

#define PIPELINE_SKETCH_ERROR 0.01
#define PIPELINE_SKETCH_MIN_S 1e-6 /* shorter durations count as 0 */
#define PIPELINE_SKETCH_MAX_S 1e6  /* longer durations count as this */

enum {
        PIPELINE_SKETCH_BUCKETS = 1383, /* ln(MAX / MIN) / ln((1 + ERROR) / (1 - ERROR)), and one for rounding */
};

/* Initially zero. */
typedef struct PipelineSketch {
        uint32_t n;       /* durations; no more are counted at UINT32_MAX */
        uint32_t n_short; /* number of times below PIPELINE_SKETCH_MIN_S */
        uint32_t buckets[PIPELINE_SKETCH_BUCKETS];
} PipelineSketch;

/* seconds: 0 or more. */
void pipeline_sketch_add(PipelineSketch *sketch, double seconds);
/* Adds the durations of `other`. */
void pipeline_sketch_merge(PipelineSketch *sketch, const PipelineSketch *other);
/* Returns the smallest duration that is not exceeded by the share p, above 0 and at most 1, of the durations (nearest rank); 0 if there is
 * none. */
double pipeline_sketch_percentile(const PipelineSketch *sketch, double p);
