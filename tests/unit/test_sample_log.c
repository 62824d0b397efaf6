/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/snapshot/sample_log.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/sample_log.h"
#include "util/parse.h"

#define N_MAX ((size_t)KEPT_LIST_MAX)

/* Sample i of a node: one second long, with a share and a counter that tell which it was. */
static KeptSample sample_of(uint64_t i) {
        Totals totals = { .realtime_ns = (1700000000000 + (i + 1) * 1000) * 1000000 };
        Observation observation = {
                .begin_ns = i * 1000000000, .end_ns = (i + 1) * 1000000000, .has_cpu = true,
                .cpu_mean = (double)(i % 100) / 100, .cpu_rounded_mean = (double)(i % 10) / 10, .cpu_min = 0.1,
                .cpu_max = (double)(i % 7) / 7,
                .boot_mib = { (double)i, NAN, NAN, NAN, NAN, NAN },
        };
        KeptSample sample;

        totals.value[TOTAL_DISK_READ_BYTES] = 5000 + i;
        kept_sample_make(&observation, &totals, &sample);
        return sample;
}

static void add(SampleLog *log, SampleSpan *span, uint64_t n) {
        for (uint64_t i = 0; i < n; i++) {
                KeptSample sample = sample_of(log->n);

                assert_int_equal(sample_log_add(log, &sample), 0);
                if (span)
                        sample_log_span_follow(span, log);
        }
}

/* Totals at the start and the end of a span of samples first…end-1. */
static KeptList list_of(const SampleLog *log, const SampleSpan *span) {
        Totals begin = { .have = 1U << SOURCE_DISKSTATS }, end = begin;
        KeptList list;

        begin.value[TOTAL_DISK_READ_BYTES] = 5000 + span->begin - 1;
        end.value[TOTAL_DISK_READ_BYTES] = 5000 + log->n - 1;
        assert_int_equal(sample_log_span_list(span, log, &begin, &end, &list), 0);
        return list;
}

static void samples_are_listed_as_they_were_taken(void **state) {
        scoped(sample_log_deinit) SampleLog log = {};
        scoped(kept_list_deinit) KeptList list = {};
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
                KeptSample expected = sample_of(37 + i);

                expected.counted_bytes[0] = 1 + i;
                expected.counted_bytes[1] = 0;
                for (size_t c = 2; c < N_PERFPY_COUNTERS; c++) /* their source was not read */
                        expected.counted_bytes[c] = KEPT_BYTES_UNKNOWN;
                if (memcmp(list.samples[i].ratios, expected.ratios, sizeof(expected.ratios)) != 0 ||
                    list.samples[i].end_realtime_ms != expected.end_realtime_ms ||
                    memcmp(list.samples[i].boot_bytes, expected.boot_bytes, sizeof(expected.boot_bytes)) != 0 ||
                    memcmp(list.samples[i].counted_bytes, expected.counted_bytes, sizeof(expected.counted_bytes)) != 0)
                        fail_msg("sample %zu", i);
        }
}

/* Whatever is merged, each observation of the job counts once, and none from before the job. */
static void merged_samples_keep_the_mean_and_the_maxima_of_the_job_alone(void **state) {
        static const uint64_t befores[] = { 0, 1, 2, 3, 5, 1023, 1025 }, lengths[] = { 1001, 1002, 1999, 2001, 4003, 16001, 70001 };

        (void)state;
        for (size_t b = 0; b < N_ELEMENTS(befores); b++)
                for (size_t l = 0; l < N_ELEMENTS(lengths); l++) {
                        scoped(sample_log_deinit) SampleLog log = {};
                        scoped(kept_list_deinit) KeptList list = {};
                        double sum = 0, expected = 0;
                        uint64_t observed_ns = 0;
                        scoped(sample_log_span_deinit) SampleSpan span = {};

                        add(&log, NULL, befores[b]);
                        sample_log_span_begin(&span, &log, 0);
                        add(&log, &span, lengths[l]);
                        list = list_of(&log, &span);
                        assert_true(list.n <= N_MAX && list.n >= N_MAX / 2);
                        for (size_t i = 0; i < list.n; i++) {
                                sum += (double)list.samples[i].ratios[KEPT_CPU_MEAN] * (double)list.samples[i].observed_ns;
                                observed_ns += list.samples[i].observed_ns;
                                assert_true(i == 0 || list.samples[i].end_realtime_ms > list.samples[i - 1].end_realtime_ms);
                                assert_true(list.samples[i].ratios[KEPT_CPU_MAX] <= KEPT_RATIO_STEPS * 6 / 7 + 1);
                        }
                        for (uint64_t i = 0; i < lengths[l]; i++)
                                expected += (double)((befores[b] + i) % 100) / 100;
                        assert_true(observed_ns == lengths[l] * 1000000000);
                        assert_true(fabs(sum / KEPT_RATIO_STEPS / 1e9 - expected) < 1e-6 * (double)lengths[l]);
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
                scoped(kept_list_deinit) KeptList a = {}, b = {};

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

/* --- text ----------------------------------------------------------------------------------------- */

static void a_text_restores_each_sample(void **state) {
        scoped(sample_log_deinit) SampleLog log = {};
        scoped(kept_list_deinit) KeptList list = {}, parsed = {};
        scoped(buffer_deinit) Buffer text = {}, again = {};
        SampleSpan span;

        (void)state;
        sample_log_span_begin(&span, &log, 1700000000000);
        add(&log, &span, 25);
        list = list_of(&log, &span);
        list.samples[3].ratios[KEPT_CPU_MEAN] = KEPT_RATIO_UNKNOWN;
        list.samples[0].boot_bytes[0] = KEPT_BYTES_UNKNOWN;
        kept_list_format(&list, &text);
        assert_int_equal(kept_list_parse(text.text, &parsed), 0);
        assert_int_equal(parsed.n, 25);
        for (size_t i = 0; i < list.n; i++)
                list.samples[i].observed_ns = 0;
        assert_memory_equal(parsed.samples, list.samples, list.n * sizeof(*list.samples));
        kept_list_format(&parsed, &again);
        assert_string_equal(again.text, text.text);
}

/* Parses the text of two samples whose first ratio is `words`. */
static int parse_ratio(const char *words, KeptList *ret) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text, "1700 1 2\n5*2\n%s\n", words);
        for (size_t i = 1; i < N_KEPT_RATIOS; i++)
                buffer_puts(&text, "?*2\n");
        for (size_t i = 0; i < 2 * N_PERFPY_COUNTERS; i++)
                buffer_puts(&text, "7,0\n");
        return kept_list_parse(text.text, ret);
}

static void equal_differences_are_written_once(void **state) {
        static const char *const wrong[] = { "5", "5*3", "5*0,5,5", "5*-1", "5*", "5*1", "5*2,", "5,5*2", "?*3", "*2", "5*2*1",
                                             "-9223372036854775808*2" };
        KeptList list;

        (void)state;
        assert_int_equal(parse_ratio("5*2", &list), 0);
        assert_int_equal(list.samples[1].end_realtime_ms, 10);
        assert_int_equal(list.samples[0].ratios[0], 5);
        assert_int_equal(list.samples[1].ratios[0], 10);
        assert_int_equal(list.samples[1].ratios[1], KEPT_RATIO_UNKNOWN);
        assert_int_equal(list.samples[1].counted_bytes[N_PERFPY_COUNTERS - 1], 7);

        scoped(buffer_deinit) Buffer text = {};

        kept_list_format(&list, &text);
        kept_list_deinit(&list);
        assert_non_null(strstr(text.text, "1700 1 2\n5*2\n5*2\n?*2\n"));
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++)
                assert_int_equal(parse_ratio(wrong[i], &list), PARSE_MALFORMED);
}

static void a_damaged_text_is_refused(void **state) {
        scoped(sample_log_deinit) SampleLog log = {};
        scoped(kept_list_deinit) KeptList list = {};
        scoped(buffer_deinit) Buffer text = {};
        SampleSpan span;

        (void)state;
        sample_log_span_begin(&span, &log, 1700000000000);
        add(&log, &span, 3);
        list = list_of(&log, &span);
        kept_list_format(&list, &text);
        for (size_t n = 0; n < text.n; n++) {
                scoped(freep) char *cut = strndup(text.text, n);
                KeptList parsed;

                assert_int_equal(kept_list_parse(cut, &parsed), PARSE_MALFORMED);
        }
        static const char *const wrong[] = { "", "1 1 0\n", "1 0 1\n", "-1 1 1\n", "1 1 1001\n", "1 1 1\n?\n", "1 1 1\n-5\n",
                                             "1 1 1\n5\n10000001\n", "1 1 2\n9223372036854775807,1\n", "1 1 1\n99999999999999999999\n" };
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                KeptList parsed;

                assert_int_equal(kept_list_parse(wrong[i], &parsed), PARSE_MALFORMED);
        }
}

/* --- perf.py's fields ----------------------------------------------------------------------------- */

static void perf_py_rounds_and_counts_since_boot(void **state) {
        KeptSample sample = {
                .end_realtime_ms = 1700000001003, .ratios = { 6666667, 6650000, 123456, 9999000, 3001499, KEPT_RATIO_UNKNOWN },
                .boot_bytes = { 1048576, 0, 524288, 0, 0, KEPT_BYTES_UNKNOWN }, .counted_bytes = { 2097152, 0, 0, 0, 0, 0 },
        };
        PerfpySample ours, theirs;

        (void)state;
        kept_sample_to_perfpy(&sample, false, &ours);
        kept_sample_to_perfpy(&sample, true, &theirs);
        assert_true(ours.cpu_avg == 66.66667 && theirs.cpu_avg == 66.5);
        assert_true(ours.cpu_min == 1.23456 && theirs.cpu_min == 1.2);
        assert_true(ours.cpu_max == 99.99 && theirs.cpu_max == 100.0);
        assert_true(ours.memory == 30.01499 && theirs.memory == 30.0);
        assert_true(isnan(ours.disk_usage) && isnan(theirs.disk_usage));
        assert_true(ours.boot_mib[PERFPY_DISK_READ_BYTES] == 2);
        assert_true(theirs.boot_mib[PERFPY_DISK_READ_BYTES] == 1);
        assert_true(theirs.boot_mib[PERFPY_NET_LO_SENT_BYTES] == 0.5);
        assert_true(isnan(theirs.boot_mib[PERFPY_NET_RECV_BYTES]));
        assert_true(ours.timestamp_s == 1700000001.003);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(samples_are_listed_as_they_were_taken),
                cmocka_unit_test(merged_samples_keep_the_mean_and_the_maxima_of_the_job_alone),
                cmocka_unit_test(a_copy_follows_and_begins_anew),
                cmocka_unit_test(a_text_restores_each_sample),
                cmocka_unit_test(equal_differences_are_written_once),
                cmocka_unit_test(a_damaged_text_is_refused),
                cmocka_unit_test(perf_py_rounds_and_counts_since_boot),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
