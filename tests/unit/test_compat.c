/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_sample.h"
#include "measure/compat.h"
#include "snapshot/window.h"

typedef struct Eighteen {
        double value[N_PERFPY_METRICS];
        bool has[N_PERFPY_METRICS];
} Eighteen;

static void assert_value(const Eighteen *got, Metric metric, double value) {
        assert_true(got->has[metric]);
        assert_true(fabs(got->value[metric] - value) < 1e-9);
}

/* Three samples with round numbers; node of 4 CPUs, reporting 10 s after the first sample. */
static void perf_pys_formulas_are_followed(void **state) {
        static const PerfpySample samples[] = {
                { 100.0, 100.0, 100.0, 30.0, 41.5, { 1000, 500, 10, 300, 11, 400 }, 1700000000.0 },
                { 80.0, 20.5, 99.9, 31.5, 41.5, { 1010, 510, 12, 320, 13, 440 }, 1700000001.0 },
                { 15.0, 0.0, 60.0, 30.9, 41.6, { 1020, 500, 14, 330, 15, 480 }, 1700000002.0 },
        };
        Compat compat = {};
        Eighteen got;

        (void)state;
        for (size_t i = 0; i < 3; i++)
                compat_add(&compat, &samples[i]);
        compat_metrics(&compat, 1700000010.0, 4, got.value, got.has);

        assert_value(&got, METRIC_CPU_MAX, 100);
        assert_value(&got, METRIC_CPU_MEAN, 65);
        assert_value(&got, METRIC_CPU_AT100, 100.0 / 3);
        assert_value(&got, METRIC_CPU_OVER80, 200.0 / 3);
        assert_value(&got, METRIC_CPU_OVER40, 200.0 / 3);
        assert_value(&got, METRIC_CPU_OVER20, 200.0 / 3);
        assert_value(&got, METRIC_CPU_MIN_MAX, 100);
        assert_value(&got, METRIC_CPU_MAX_MAX, 100);
        assert_value(&got, METRIC_CPU_HOURS, 40.0 / 3600);
        assert_value(&got, METRIC_CPU_UNUSED_HOURS, 40.0 / 3600 * 0.35);
        assert_value(&got, METRIC_MEM_MAX, 31.5);
        assert_value(&got, METRIC_DISK_USAGE_MAX, 41.6);
        assert_value(&got, METRIC_DISK_READ, 1020);
        assert_value(&got, METRIC_DISK_WRITE, 510); /* the counter decreased, which the maximum hides */
        assert_value(&got, METRIC_NET_LO_SENT, 14);
        assert_value(&got, METRIC_NET_LO_RECV, 15);
        assert_value(&got, METRIC_NET_EXT_SENT, 330);
        assert_value(&got, METRIC_NET_EXT_RECV, 480);
}

static void without_samples_there_are_no_metrics(void **state) {
        Compat compat = {};
        Eighteen got;

        (void)state;
        compat_metrics(&compat, 1700000010.0, 4, got.value, got.has);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++)
                assert_true(!got.has[i] && got.value[i] == 0);
}

static void only_unreadable_sources_are_absent(void **state) {
        const PerfpySample sample = { 50, 40, 60, NAN, 10, { NAN, NAN, 1, 2, 3, 4 }, 1700000000.0 };
        Compat compat = {};
        Eighteen got;

        (void)state;
        compat_add(&compat, &sample);
        compat_metrics(&compat, 1700000001.0, 1, got.value, got.has);
        assert_false(got.has[METRIC_MEM_MAX] || got.has[METRIC_DISK_READ] || got.has[METRIC_DISK_WRITE]);
        assert_value(&got, METRIC_NET_EXT_RECV, 4);
        assert_value(&got, METRIC_CPU_MEAN, 50);
        assert_value(&got, METRIC_DISK_USAGE_MAX, 10);
}

static void a_sample_is_rounded_as_psutil_rounds(void **state) {
        const Observation o = {
                .has_cpu = true, .has_memory = true, .has_root_filesystem = true,
                .cpu_mean = 0.12345, .cpu_rounded_mean = 0.1235, .cpu_min = 0.12344, .cpu_max = 0.12351,
                .memory = 0.30049, .root_filesystem = 1, .boot_mib = { 1, 2, 3, 4, 5, 6 },
        };
        const Observation nothing = { .boot_mib = { NAN, NAN, NAN, NAN, NAN, NAN } };
        PerfpySample s;

        (void)state;
        compat_sample(&o, 1700000000500 * MS, &s);
        assert_true(fabs(s.cpu_avg - 12.35) < 1e-12); /* a mean of rounded values is not rounded again */
        assert_true(s.cpu_min == 12.3 && s.cpu_max == 12.4 && s.memory == 30.0 && s.disk_usage == 100);
        assert_true(s.boot_mib[PERFPY_NET_RECV_BYTES] == 6 && s.timestamp_s == 1700000000.5);

        compat_sample(&nothing, 1, &s);
        assert_true(isnan(s.cpu_avg));
        assert_true(isnan(s.cpu_min));
        assert_true(isnan(s.memory));
        assert_true(isnan(s.disk_usage));
        assert_true(isnan(s.boot_mib[PERFPY_DISK_READ_BYTES]));
}

/* With 128 CPUs, one of which is 5 % idle, the mean is 99.96 %, which perf.py does not count as 100. */
static void at100_needs_every_cpu(void **state) {
        Sample now;
        Meter *meter = NULL;
        Observation observation;
        PerfpySample s;
        Compat compat = {};

        (void)state;
        fake_init(&now, 128);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        meter_advance(meter, &now, &observation);
        for (size_t i = 0; i < 128; i++)
                fake_cpu(&now, i, CPU_USER, i ? 100 : 95);
        fake_cpu(&now, 0, CPU_IDLE, 5);
        fake_pass(&now, SECOND);
        assert_int_equal(meter_advance(meter, &now, &observation), METER_OBSERVED);
        compat_sample(&observation, now.realtime_ns, &s);
        compat_add(&compat, &s);
        assert_int_equal(compat.n_at100, 0);
        assert_int_equal(compat.n_over80, 1);

        for (size_t i = 0; i < 128; i++)
                fake_cpu(&now, i, CPU_USER, 100);
        fake_pass(&now, SECOND);
        meter_advance(meter, &now, &observation);
        compat_sample(&observation, now.realtime_ns, &s);
        compat_add(&compat, &s);
        assert_int_equal(compat.n_at100, 1);
        meter_free(meter);
        sample_deinit(&now);
}

/* --- captured results of perf.py ------------------------------------------------------------ */

/* Returns NULL if the captured runs are not available. */
static json_t *load_fixture(const char *name) {
        const char *dir = getenv("PERFD_FIXTURES");
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/perfpy/%s", dir ? dir : "../shared/fixtures", name);
        return json_load_file(path, 0, NULL);
}

static double field(const json_t *object, const char *name) {
        const json_t *v = json_object_get(object, name);

        assert_true(json_is_number(v));
        return json_number_value(v);
}

static void add_captured_sample(Compat *compat, const json_t *captured) {
        const PerfpySample sample = {
                .cpu_avg = field(captured, "cpu_pct_per_cpu_avg"),
                .cpu_min = field(captured, "cpu_pct_per_cpu_min"),
                .cpu_max = field(captured, "cpu_pct_per_cpu_max"),
                .memory = field(captured, "mem_percent"),
                .disk_usage = field(captured, "disk_usage_percent"),
                .boot_mib = {
                        field(captured, "disk_io_read_mb"), field(captured, "disk_io_write_mb"),
                        field(captured, "net_io_lo_sent_mb"), field(captured, "net_io_ext_sent_mb"),
                        field(captured, "net_io_lo_recv_mb"), field(captured, "net_io_ext_recv_mb"),
                },
                .timestamp_s = field(captured, "timestamp"),
        };

        compat_add(compat, &sample);
}

static void a_captured_run_gives_what_perf_py_logged(void **state) {
        json_t *golden = load_fixture("metrics_golden.json"), *artifact = load_fixture("perf_report_artifact.json");
        Eighteen got[2];
        size_t i;
        json_t *metric;

        (void)state;
        if (!golden || !artifact)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        for (int node = 0; node < 2; node++) {
                char key[2] = { (char)('0' + node), '\0' };
                Compat compat = {};
                json_t *sample;

                json_array_foreach(json_object_get(artifact, key), i, sample)
                        add_captured_sample(&compat, sample);
                compat_metrics(&compat, field(golden, "reporting_time"), (uint32_t)field(golden, "reporting_cpu_count"),
                               got[node].value, got[node].has);
        }

        assert_int_equal(json_array_size(json_object_get(golden, "metrics")), 2 * N_PERFPY_METRICS);
        json_array_foreach(json_object_get(golden, "metrics"), i, metric) {
                int at = metric_find(json_string_value(json_object_get(metric, "key_logged")));

                assert_int_equal(at, i % N_PERFPY_METRICS);
                assert_string_equal(metric_raw_key((Metric)at), json_string_value(json_object_get(metric, "key_raw")));
                assert_value(&got[(int)field(metric, "step")], (Metric)at, field(metric, "value"));
        }
        json_decref(golden);
        json_decref(artifact);
}

/* --- decimation ----------------------------------------------------------------------------- */

#define SAMPLES_MAX 5000

/* Returns the numbers, from 1, of the samples that perf.py still has after n samples. */
static size_t decimate(size_t max_length, size_t n, size_t kept[static SAMPLES_MAX]) {
        size_t n_kept = 0, frequency = 1;

        for (size_t i = 1; i <= n; i++) {
                if (i % frequency != 0)
                        continue;
                kept[n_kept++] = i;
                if (n_kept <= max_length)
                        continue;

                n_kept = max_length / 2;
                for (size_t k = 0; k < n_kept; k++)
                        kept[k] = kept[2 * k];
                frequency *= 2;
        }

        return n_kept;
}

static void perf_py_decimates_like_that(void **state) {
        json_t *runs = load_fixture("decimation_golden.json"), *run;
        size_t i, kept[SAMPLES_MAX];

        (void)state;
        if (!runs)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        json_array_foreach(runs, i, run) {
                const json_t *golden = json_object_get(run, "final_kept");
                size_t n = decimate((size_t)field(run, "max_length"), (size_t)field(run, "samples"), kept);

                assert_int_equal(n, field(run, "final_count"));
                for (size_t k = 0; k < json_array_size(golden); k++)
                        assert_int_equal(kept[k], json_integer_value(json_array_get(golden, k)));
        }
        json_decref(runs);
}

/* 5000 samples, all busy except the 625 that perf.py kept: perf.py would have reported an idle machine. */
static void samples_dropped_by_perf_pys_decimation_are_counted(void **state) {
        size_t kept[SAMPLES_MAX], n_kept = decimate(1000, SAMPLES_MAX, kept), next = 0;
        const double busy_share = (SAMPLES_MAX - (double)n_kept) / SAMPLES_MAX;
        Sample now;
        Meter *meter = NULL;
        Observation observation;
        Window window;
        MetricSet metrics;

        (void)state;
        assert_int_equal(n_kept, 625);
        fake_init(&now, 1);
        assert_int_equal(meter_new(&meter, SECOND), 0);
        meter_advance(meter, &now, &observation);
        window_begin(&window, meter_totals(meter), &now);
        for (size_t i = 1; i <= SAMPLES_MAX; i++) {
                bool is_kept = next < n_kept && kept[next] == i;

                next += is_kept;
                fake_second(&now, is_kept ? 0 : 100);
                assert_int_equal(meter_advance(meter, &now, &observation), METER_OBSERVED);
                window_observe(&window.peaks, &window.begin, &observation, now.realtime_ns);
        }

        window_metrics(&window.begin, &window.peaks, meter_totals(meter), 1, &metrics);
        assert_true(metrics.value[METRIC_CPU_MAX] == 1);
        assert_true(fabs(metrics.value[METRIC_CPU_AT100] - busy_share) < 1e-12);
        assert_true(fabs(metrics.value[METRIC_CPU_MEAN] - busy_share) < 1e-12);
        assert_true(fabs(metrics.compat[METRIC_CPU_AT100] - 100 * busy_share) < 1e-9);
        meter_free(meter);
        sample_deinit(&now);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(perf_pys_formulas_are_followed),
                cmocka_unit_test(without_samples_there_are_no_metrics),
                cmocka_unit_test(only_unreadable_sources_are_absent),
                cmocka_unit_test(a_sample_is_rounded_as_psutil_rounds),
                cmocka_unit_test(at100_needs_every_cpu),
                cmocka_unit_test(a_captured_run_gives_what_perf_py_logged),
                cmocka_unit_test(perf_py_decimates_like_that),
                cmocka_unit_test(samples_dropped_by_perf_pys_decimation_are_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
