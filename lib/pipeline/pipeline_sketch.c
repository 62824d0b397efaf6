/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_sketch.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#define GROWTH ((1 + PIPELINE_SKETCH_ERROR) / (1 - PIPELINE_SKETCH_ERROR))

static size_t find_bucket(double seconds) {
        double index = log(seconds / PIPELINE_SKETCH_MIN_S) / log(GROWTH);

        return index < PIPELINE_SKETCH_BUCKETS - 1 ? (size_t)fmax(index, 0) : PIPELINE_SKETCH_BUCKETS - 1;
}

void pipeline_sketch_add(PipelineSketch *sketch, double seconds) {
        assert(seconds >= 0);
        if (sketch->n == UINT32_MAX)
                return;
        sketch->n++;
        if (seconds < PIPELINE_SKETCH_MIN_S)
                sketch->n_short++;
        else
                sketch->buckets[find_bucket(fmin(seconds, PIPELINE_SKETCH_MAX_S))]++;
}

/* Adds as many as the sketch can still count. */
static void add_count(PipelineSketch *sketch, uint32_t *count, uint32_t n) {
        uint32_t n_free = UINT32_MAX - sketch->n, n_added = n < n_free ? n : n_free;

        *count += n_added;
        sketch->n += n_added;
}

void pipeline_sketch_merge(PipelineSketch *sketch, const PipelineSketch *other) {
        add_count(sketch, &sketch->n_short, other->n_short);
        for (size_t i = 0; i < PIPELINE_SKETCH_BUCKETS; i++)
                add_count(sketch, &sketch->buckets[i], other->buckets[i]);
}

/* The value whose relative distance to both limits of the bucket is PIPELINE_SKETCH_ERROR. */
static double bucket_value(size_t bucket) {
        return PIPELINE_SKETCH_MIN_S * pow(GROWTH, (double)bucket) * (1 + PIPELINE_SKETCH_ERROR);
}

double pipeline_sketch_percentile(const PipelineSketch *sketch, double p) {
        uint64_t rank = (uint64_t)ceil(p * sketch->n - 1e-9), n = sketch->n_short; /* 0.9 times 10 is to be 9 */

        assert(p > 0 && p <= 1);
        if (rank <= n)
                return 0;
        for (size_t i = 0; i < PIPELINE_SKETCH_BUCKETS; i++) {
                n += sketch->buckets[i];
                if (n >= rank)
                        return bucket_value(i);
        }
        return PIPELINE_SKETCH_MAX_S;
}
