/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Latencies: batch times of a model as the indicator `inference_latency`
 *
 * Two formats are supported: {"time_per_batch": [seconds…], "batch_length": N or [N…]}, whose other members become
 * parameters; and plain text with a number of seconds on each line. The result contains the metrics of latency.h
 * under their names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator.h"
#include "util/arena.h"

/*
 * Latency: statistics of a model's batch times
 *
 * The metrics of lightgbm-benchmark's log_inferencing_latencies(), with its names and units: the number of batches
 * and of queries, the average time per query in microseconds, and percentiles of batch times and of query times (a
 * batch's time divided by its length; each batch counts once, regardless of its length). Percentiles are interpolated
 * linearly between the two nearest values, as numpy.percentile() does.
 */

/* X(id, name) */
#define LATENCY_METRICS(X) \
        X(BATCHES, "prediction_batches")             \
        X(QUERIES, "prediction_queries")             \
        X(AVERAGE, "prediction_latency_avg")         \
        X(BATCH_P50, "batch_latency_p50_usecs")      \
        X(BATCH_P75, "batch_latency_p75_usecs")      \
        X(BATCH_P90, "batch_latency_p90_usecs")      \
        X(BATCH_P95, "batch_latency_p95_usecs")      \
        X(BATCH_P99, "batch_latency_p99_usecs")      \
        X(QUERY_P50, "prediction_latency_p50_usecs") \
        X(QUERY_P75, "prediction_latency_p75_usecs") \
        X(QUERY_P90, "prediction_latency_p90_usecs") \
        X(QUERY_P95, "prediction_latency_p95_usecs") \
        X(QUERY_P99, "prediction_latency_p99_usecs")

typedef enum LatencyMetric {
#define X(id, name) LATENCY_##id,
        LATENCY_METRICS(X)
#undef X
        N_LATENCY_METRICS,
} LatencyMetric;

const char *latencies_name(LatencyMetric metric); /* "prediction_batches", "batch_latency_p50_usecs", … */

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
int latencies_compute(const LatencyInput *input, LatencySet *ret);

/* Returns the maximum size of the indicators of a text of n bytes, without the parsed trees of the text. */
size_t latencies_arena_size(size_t n);

/* Returns true if a text is plain numbers: it does not begin with '{'. */
bool latencies_are_lines(const char *text, size_t n);

/*
 * batch_length: from the command line, 0 if not given. *ret is allocated in the arena, which must outlive all that is
 * borrowed from `document`. Returns 0, INDICATOR_INVALID with the first complaint, or -ENOMEM.
 */
int latencies_from_value(const Value *document, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint);
/* As latencies_from_value() for plain numbers; the complaint is about line *ret_line, counted from 1. */
int latencies_from_lines(const char *text, size_t n, uint64_t batch_length, Arena *arena, const Value **ret,
                         Complaint *ret_complaint, unsigned *ret_line);
