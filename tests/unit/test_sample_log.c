/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/snapshot/sample_log.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "snapshot/sample_log.h"

#define N_MAX ((size_t)EXPORT_SAMPLES_MAX)

/* Sample i of a node: one second long, with a share and a counter that tell which it was. */
static ExportSample sample_of(uint64_t i) {
        Totals totals = { .realtime_ns = (1700000000000 + (i + 1) * 1000) * 1000000 };
        Observation observation = {
                .begin_ns = i * 1000000000, .end_ns = (i + 1) * 1000000000, .has_cpu = true,
                .cpu_mean = (double)(i % 100) / 100, .cpu_rounded_mean = (double)(i % 10) / 10, .cpu_min = 0.1,
                .cpu_max = (double)(i % 7) / 7,
                .boot_mib = { (double)i, NAN, NAN, NAN, NAN, NAN },
        };
        ExportSample sample;

        totals.value[TOTAL_DISK_READ_BYTES] = 5000 + i;
        export_sample_make(&observation, &totals, &sample);
        return sample;
}

static void add(SampleLog *log, SampleSpan *span, uint64_t n) {
        for (uint64_t i = 0; i < n; i++) {
                ExportSample sample = sample_of(log->n);

                assert_int_equal(sample_log_add(log, &sample), 0);
                if (span)
                        sample_log_span_follow(span, log);
        }
}

/* Totals at the start and the end of a span of samples first…end-1. */
static ExportSamples list_of(const SampleLog *log, const SampleSpan *span) {
        Totals begin = { .have = 1U << SOURCE_DISKSTATS }, end = begin;
        ExportSamples list;

        begin.value[TOTAL_DISK_READ_BYTES] = 5000 + span->begin - 1;
        end.value[TOTAL_DISK_READ_BYTES] = 5000 + log->n - 1;
        assert_int_equal(sample_log_span_list(span, log, &begin, &end, &list), 0);
        return list;
}

static void samples_are_listed_as_they_were_taken(void **state) {
        scoped(sample_log_deinit) SampleLog log = {};
        scoped(export_samples_deinit) ExportSamples list = {};
        scoped(sample_log_span_deinit) SampleSpan span = {};

        (void)state;
        add(&log, NULL, 37);
        sample_log_span_begin(&span, &log, 123);
        add(&log, &span, N_MAX);
        list = list_of(&log, &span);
        assert_int_equal(list.n, N_MAX);
        assert_int_equal(list.n_merged, 1);
        assert_int_equal(list.begin_realtime_ms, 123);
        for (size_t i = 0; i < list.n; i++) {
                ExportSample expected = sample_of(37 + i);

                expected.counted_bytes[0] = 1 + i;
                expected.counted_bytes[1] = 0;
                for (size_t c = 2; c < N_PERFPY_COUNTERS; c++) /* their source was not read */
                        expected.counted_bytes[c] = EXPORT_BYTES_UNKNOWN;
                if (memcmp(list.samples[i].ratios, expected.ratios, sizeof(expected.ratios)) != 0 ||
                    list.samples[i].end_realtime_ms != expected.end_realtime_ms ||
                    memcmp(list.samples[i].boot_bytes, expected.boot_bytes, sizeof(expected.boot_bytes)) != 0 ||
                    memcmp(list.samples[i].counted_bytes, expected.counted_bytes, sizeof(expected.counted_bytes)) != 0)
                        fail_msg("sample %zu", i);
        }
}

/* Whatever is merged, each observation of the job counts once, and none from before the job. */
static void merged_samples_keep_the_mean_and_the_maxima_of_the_job_alone(void **state) {
        static const uint64_t befores[] = { 0, 1, 2, 3, 5, 1023, 1025 },
                              lengths[] = { 1001, 1002, 1999, 2001, 4003, 16001, 70001 };

        (void)state;
        for (size_t b = 0; b < N_ELEMENTS(befores); b++)
                for (size_t l = 0; l < N_ELEMENTS(lengths); l++) {
                        scoped(sample_log_deinit) SampleLog log = {};
                        scoped(export_samples_deinit) ExportSamples list = {};
                        double sum = 0, expected = 0;
                        uint64_t observed_ns = 0;
                        scoped(sample_log_span_deinit) SampleSpan span = {};

                        add(&log, NULL, befores[b]);
                        sample_log_span_begin(&span, &log, 0);
                        add(&log, &span, lengths[l]);
                        list = list_of(&log, &span);
                        assert_true(list.n <= N_MAX && list.n >= N_MAX / 2);
                        for (size_t i = 0; i < list.n; i++) {
                                sum += (double)list.samples[i].ratios[EXPORT_CPU_MEAN] *
                                       (double)list.samples[i].observed_ns;
                                observed_ns += list.samples[i].observed_ns;
                                assert_true(i == 0 ||
                                            list.samples[i].end_realtime_ms > list.samples[i - 1].end_realtime_ms);
                                assert_true(list.samples[i].ratios[EXPORT_CPU_MAX] <= EXPORT_RATIO_STEPS * 6 / 7 + 1);
                        }
                        for (uint64_t i = 0; i < lengths[l]; i++)
                                expected += (double)((befores[b] + i) % 100) / 100;
                        assert_true(observed_ns == lengths[l] * 1000000000);
                        assert_true(fabs(sum / EXPORT_RATIO_STEPS / 1e9 - expected) < 1e-6 * (double)lengths[l]);
                        assert_true(list.samples[list.n - 1].end_realtime_ms == sample_of(log.n - 1).end_realtime_ms);
                        assert_true(list.samples[list.n - 1].counted_bytes[0] == lengths[l]);
                }
}

static void a_copy_follows_and_begins_anew(void **state) {
        scoped(sample_log_deinit) SampleLog log = {}, copy = {};
        scoped(sample_log_span_deinit) SampleSpan span = {};

        (void)state;
        sample_log_span_begin(&span, &log, 0);
        for (size_t round = 0; round < 6; round++) {
                scoped(export_samples_deinit) ExportSamples a = {}, b = {};

                if (round == 4) {
                        sample_log_clear(&log);
                        sample_log_span_deinit(&span);
                        sample_log_span_begin(&span, &log, 0);
                }
                add(&log, &span, round == 2 ? 2500 : 333);
                assert_int_equal(sample_log_copy(&log, &copy), 0);
                a = list_of(&log, &span);
                b = list_of(&copy, &span);
                assert_int_equal(a.n, b.n);
                assert_memory_equal(a.samples, b.samples, a.n * sizeof(*a.samples));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(samples_are_listed_as_they_were_taken),
                cmocka_unit_test(merged_samples_keep_the_mean_and_the_maxima_of_the_job_alone),
                cmocka_unit_test(a_copy_follows_and_begins_anew),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
