/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/latency.h"

#include <errno.h>

#include "analysis/statistics.h"
#include "util/scoped.h"

#define US_PER_S 1e6

static const char *const names[N_LATENCY_METRICS] = {
        [LATENCY_BATCHES] = "prediction_batches",
        [LATENCY_QUERIES] = "prediction_queries",
        [LATENCY_AVERAGE] = "prediction_latency_avg",
        [LATENCY_BATCH_P50] = "batch_latency_p50_usecs",
        [LATENCY_BATCH_P75] = "batch_latency_p75_usecs",
        [LATENCY_BATCH_P90] = "batch_latency_p90_usecs",
        [LATENCY_BATCH_P95] = "batch_latency_p95_usecs",
        [LATENCY_BATCH_P99] = "batch_latency_p99_usecs",
        [LATENCY_QUERY_P50] = "prediction_latency_p50_usecs",
        [LATENCY_QUERY_P75] = "prediction_latency_p75_usecs",
        [LATENCY_QUERY_P90] = "prediction_latency_p90_usecs",
        [LATENCY_QUERY_P95] = "prediction_latency_p95_usecs",
        [LATENCY_QUERY_P99] = "prediction_latency_p99_usecs",
};

static const double shares[] = { 0.50, 0.75, 0.90, 0.95, 0.99 };

const char *latency_name(LatencyMetric metric) {
        return names[metric];
}

static void put_percentiles(double *values, size_t n, double ret[static N_ELEMENTS(shares)]) {
        statistics_sort(values, n);
        for (size_t i = 0; i < N_ELEMENTS(shares); i++)
                ret[i] = statistics_quantile_of_sorted(values, n, shares[i]);
}

static uint64_t length_of(const LatencyInput *input, size_t i) {
        return input->lengths ? input->lengths[i] : input->length;
}

int latency_compute(const LatencyInput *input, LatencySet *ret) {
        scoped(freep) double *batches = NULL, *queries = NULL;
        double sum = 0;
        uint64_t n_queries = 0;

        batches = calloc(input->n + 1, sizeof(*batches));
        queries = calloc(input->n + 1, sizeof(*queries));
        if (!batches || !queries)
                return -ENOMEM;

        for (size_t i = 0; i < input->n; i++) {
                uint64_t length = length_of(input, i);

                n_queries += length;
                sum += input->seconds[i];
                batches[i] = input->seconds[i] * US_PER_S;
                queries[i] = batches[i] / (double)length;
        }

        *ret = (LatencySet){ .n = LATENCY_AVERAGE, .value = { (double)input->n, (double)n_queries } };
        if (input->n >= 1) {
                ret->n = LATENCY_BATCH_P50;
                ret->value[LATENCY_AVERAGE] = sum * US_PER_S / (double)n_queries;
        }
        if (input->n >= 2) {
                ret->n = N_LATENCY_METRICS;
                put_percentiles(batches, input->n, &ret->value[LATENCY_BATCH_P50]);
                put_percentiles(queries, input->n, &ret->value[LATENCY_QUERY_P50]);
        }
        return 0;
}
