/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Latency: what the times of its batches say of a model's predictions
 *
 * The numbers that lightgbm-benchmark's log_inferencing_latencies() logs, under its names and in its units: how many batches
 * and queries, microseconds for a query on average, and percentiles over batches (as they are) and over queries (a batch's
 * time divided by its length, each batch counted once however long it is). Percentiles are interpolated linearly
 * between the two nearest, as numpy.percentile() does.
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
        double *seconds; /* of each batch; finite, 0 or more */
        size_t n;
        uint64_t *lengths; /* queries in each batch, 1…LATENCY_LENGTH_MAX; NULL: `length` in all of them */
        uint64_t length;
} LatencyInput;

/* The first n are known: the two counts always, the average from one batch on, percentiles from two on. */
typedef struct LatencySet {
        size_t n;
        double value[N_LATENCY_METRICS];
} LatencySet;

/* 0 or -ENOMEM. */
int latency_compute(const LatencyInput *input, LatencySet *ret);
