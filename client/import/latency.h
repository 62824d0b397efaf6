/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Latency: statistics of a model's batch times
 *
 * The metrics of lightgbm-benchmark's log_inferencing_latencies(), with its names and units: the number of batches
 * and of queries, the average time per query in microseconds, and percentiles of batch times and of query times (a
 * batch's time divided by its length; each batch counts once, regardless of its length). Percentiles are interpolated
 * linearly between the two nearest values, as numpy.percentile() does.
 */

#include <stddef.h>
#include <stdint.h>

typedef enum LatencyMetric {
        LATENCY_BATCHES,
        LATENCY_QUERIES,
        LATENCY_AVERAGE,
        LATENCY_BATCH_P50,
        LATENCY_BATCH_P75,
        LATENCY_BATCH_P90,
        LATENCY_BATCH_P95,
        LATENCY_BATCH_P99,
        LATENCY_QUERY_P50,
        LATENCY_QUERY_P75,
        LATENCY_QUERY_P90,
        LATENCY_QUERY_P95,
        LATENCY_QUERY_P99,
        N_LATENCY_METRICS,
} LatencyMetric;

const char *latency_name(LatencyMetric metric); /* "prediction_batches", "batch_latency_p50_usecs", … */

#define LATENCY_LENGTH_MAX INT32_MAX

typedef struct LatencyInput {
        double *seconds; /* time of each batch, finite and not negative */
        size_t n;
        uint64_t *lengths; /* queries in each batch, 1…LATENCY_LENGTH_MAX; NULL if each batch has `length` queries */
        uint64_t length;
} LatencyInput;

/*
 * The first n metrics are available: the two counts always, the average with at least one batch, percentiles with at
 * least two.
 */
typedef struct LatencySet {
        size_t n;
        double value[N_LATENCY_METRICS];
} LatencySet;

/* Returns 0 or -ENOMEM. */
int latency_compute(const LatencyInput *input, LatencySet *ret);
