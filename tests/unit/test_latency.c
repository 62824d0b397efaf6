/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/import/latencies.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two of jansson's constructors have the same names as functions of perfd's writer. */
#define json_string jansson_json_string
#define json_null jansson_json_null
#include <jansson.h>
#undef json_string
#undef json_null
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/import/latencies.h"
#include "util/scoped.h"

static LatencySet compute(const LatencyInput *input) {
        LatencySet set;

        assert_int_equal(latencies_compute(input, &set), 0);
        return set;
}

static void assert_near(double got, double expected) {
        if (!(fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected))))
                fail_msg("got %.17g, expected %.17g", got, expected);
}

/* Five batches of 1…5 ms, not in order; the queries take 1, 0.5, 3, 2 and 1 ms. */
static void percentiles_are_interpolated_between_neighbours(void **state) {
        static double seconds[] = { 0.003, 0.001, 0.005, 0.002, 0.004 };
        static uint64_t lengths[] = { 1, 2, 5, 1, 2 };
        LatencySet set = compute(&(LatencyInput){ .seconds = seconds, .n = 5, .lengths = lengths });

        (void)state;
        assert_int_equal(set.n, N_LATENCY_METRICS);
        assert_near(set.value[LATENCY_BATCHES], 5);
        assert_near(set.value[LATENCY_QUERIES], 11);
        assert_near(set.value[LATENCY_AVERAGE], 15000.0 / 11);
        assert_near(set.value[LATENCY_BATCH_P50], 3000);
        assert_near(set.value[LATENCY_BATCH_P75], 4000);
        assert_near(set.value[LATENCY_BATCH_P90], 4600);
        assert_near(set.value[LATENCY_BATCH_P95], 4800);
        assert_near(set.value[LATENCY_BATCH_P99], 4960);
        assert_near(set.value[LATENCY_QUERY_P50], 2000);
        assert_near(set.value[LATENCY_QUERY_P75], 2000);
        assert_near(set.value[LATENCY_QUERY_P90], 2600);
        assert_near(set.value[LATENCY_QUERY_P99], 2960);
}

static void one_length_counts_for_every_batch(void **state) {
        static double seconds[] = { 0.008, 0.008, 0.016 };
        LatencySet set = compute(&(LatencyInput){ .seconds = seconds, .n = 3, .length = 8 });

        (void)state;
        assert_near(set.value[LATENCY_QUERIES], 24);
        assert_near(set.value[LATENCY_AVERAGE], 32000.0 / 24);
        assert_near(set.value[LATENCY_QUERY_P50], 1000);
        assert_near(set.value[LATENCY_QUERY_P75], 1500);
}

static void without_batches_there_are_only_counts_and_with_one_no_percentiles(void **state) {
        static double second = 0.5;
        LatencySet set = compute(&(LatencyInput){ .length = 4 });

        (void)state;
        assert_int_equal(set.n, LATENCY_AVERAGE);
        assert_true(set.value[LATENCY_BATCHES] == 0 && set.value[LATENCY_QUERIES] == 0);

        set = compute(&(LatencyInput){ .seconds = &second, .n = 1, .length = 4 });
        assert_int_equal(set.n, LATENCY_BATCH_P50);
        assert_near(set.value[LATENCY_AVERAGE], 125000);
}

static void times_that_are_all_the_same_are_their_own_percentiles(void **state) {
        double seconds[1000];
        LatencySet set;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(seconds); i++)
                seconds[i] = 0.1;
        set = compute(&(LatencyInput){ .seconds = seconds, .n = N_ELEMENTS(seconds), .length = 1 });
        for (LatencyMetric metric = LATENCY_BATCH_P50; metric < N_LATENCY_METRICS; metric++)
                assert_true(set.value[metric] == 0.1 * 1e6);
}

static void every_name_but_the_average_contains_its_unit(void **state) {
        (void)state;
        for (LatencyMetric metric = 0; metric < N_LATENCY_METRICS; metric++) {
                assert_int_equal(strstr(latencies_name(metric), "_usecs") != NULL, metric > LATENCY_AVERAGE);
        }
}

/* --- captured results of log_inferencing_latencies() ------------------------------------------ */

static json_t *load_fixture(void) {
        const char *dir = getenv("PERFD_FIXTURES");
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/perfpy/inference_latency_golden.json", dir ? dir : "../shared/fixtures");
        return json_load_file(path, 0, NULL);
}

static void assert_golden(const json_t *times, const json_t *lengths, const json_t *golden) {
        size_t n = json_array_size(times);
        scoped(freep) double *seconds = calloc(n + 1, sizeof(*seconds));
        scoped(freep) uint64_t *counts = calloc(n + 1, sizeof(*counts));
        LatencySet set;

        for (size_t i = 0; i < n; i++) {
                seconds[i] = json_number_value(json_array_get(times, i));
                counts[i] = (uint64_t)json_integer_value(json_array_get(lengths, i));
        }

        set = compute(&(LatencyInput){ .seconds = seconds, .n = n, .lengths = lengths ? counts : NULL, .length = 1 });
        assert_int_equal(set.n, json_object_size(golden));
        for (size_t i = 0; i < set.n; i++) {
                const json_t *value = json_object_get(golden, latencies_name((LatencyMetric)i));

                assert_true(json_is_number(value));
                assert_near(set.value[i], json_number_value(value));
        }
}

static void captured_runs_give_what_was_logged(void **state) {
        json_t *golden = load_fixture(), *times, *single, *nothing;

        (void)state;
        if (!golden)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        nothing = json_array();
        times = json_object_get(golden, "time_per_batch_s");
        single = json_object_get(golden, "single");
        assert_int_equal(json_array_size(times), 200);
        assert_golden(times, json_object_get(golden, "batch_length"), json_object_get(golden, "metrics"));
        assert_golden(times, NULL, json_object_get(golden, "metrics_const_len_1"));
        assert_golden(json_object_get(single, "time_per_batch_s"), NULL, json_object_get(single, "metrics"));
        assert_golden(nothing, NULL, json_object_get(golden, "empty"));
        json_decref(golden);
        json_decref(nothing);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(percentiles_are_interpolated_between_neighbours),
                cmocka_unit_test(one_length_counts_for_every_batch),
                cmocka_unit_test(without_batches_there_are_only_counts_and_with_one_no_percentiles),
                cmocka_unit_test(times_that_are_all_the_same_are_their_own_percentiles),
                cmocka_unit_test(every_name_but_the_average_contains_its_unit),
                cmocka_unit_test(captured_runs_give_what_was_logged),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
