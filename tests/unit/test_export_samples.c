/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/export_samples.h"
#include "util/parse.h"

#define N_COLUMNS (1 + N_EXPORT_RATIOS + 2 * N_PERFPY_COUNTERS)

/* --- columns -------------------------------------------------------------------------------------- */

/* Reads from a copy of the size, so that AddressSanitizer notices a read behind its end. */
static int read_copy(const void *bytes, size_t n, ExportSamples *ret) {
        scoped(freep) uint8_t *copy = malloc(n + 1);
        ColumnReader reader;

        assert_non_null(copy);
        if (n > 0)
                memcpy(copy + 1, bytes, n);
        column_reader_init(&reader, copy + 1, n);
        return export_samples_read(&reader, ret);
}

static void fill(ExportSample *samples, size_t n) {
        for (size_t i = 0; i < n; i++) {
                samples[i] = (ExportSample){ .end_realtime_ms = 1700000000000 + 1000 * i + i % 3 };
                for (size_t k = 0; k < N_EXPORT_RATIOS; k++)
                        samples[i].ratios[k] = (i * 7919 + k) % 11 == 0
                                                       ? EXPORT_RATIO_UNKNOWN
                                                       : (uint32_t)((i * 1000003 + k) % EXPORT_RATIO_STEPS);
                for (size_t k = 0; k < N_PERFPY_COUNTERS; k++) {
                        samples[i].boot_bytes[k] = i % 5 == 0 ? EXPORT_BYTES_UNKNOWN : i * i * 4096 + k;
                        samples[i].counted_bytes[k] = k == 0 ? INT64_MAX - i : k == 1 ? EXPORT_BYTES_UNKNOWN : i;
                }
        }
}

static void each_sample_is_restored_exactly(void **state) {
        static const size_t lengths[] = { 1, 2, 25, EXPORT_SAMPLES_MAX };
        static ExportSample samples[EXPORT_SAMPLES_MAX];

        (void)state;
        fill(samples, EXPORT_SAMPLES_MAX);
        for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
                const ExportSamples written = {
                        .begin_realtime_ms = 1700000000000, .n_merged = 4, .n = lengths[i], .samples = samples
                };
                scoped(export_samples_deinit) ExportSamples read = {};
                scoped(buffer_deinit) Buffer bytes = {};

                export_samples_write(&written, &bytes);
                assert_int_equal(read_copy(bytes.text, bytes.n, &read), 0);
                assert_int_equal(read.n, lengths[i]);
                assert_int_equal(read.n_merged, 4);
                assert_int_equal(read.begin_realtime_ms, 1700000000000);
                assert_memory_equal(read.samples, samples, lengths[i] * sizeof(*samples));
        }
}

static void counters_beyond_63_bits_are_unknown(void **state) {
        ExportSample sample = { .boot_bytes = { UINT64_C(1) << 63 } };
        const ExportSamples written = { .n_merged = 1, .n = 1, .samples = &sample };
        scoped(export_samples_deinit) ExportSamples read = {};
        scoped(buffer_deinit) Buffer bytes = {};

        (void)state;
        export_samples_write(&written, &bytes);
        assert_int_equal(read_copy(bytes.text, bytes.n, &read), 0);
        assert_true(read.samples[0].boot_bytes[0] == EXPORT_BYTES_UNKNOWN);
}

static void no_bytes_are_no_samples(void **state) {
        ExportSamples samples = { .n = 42 };

        (void)state;
        assert_int_equal(read_copy(NULL, 0, &samples), 0);
        assert_int_equal(samples.n, 0);
        assert_null(samples.samples);
}

static void bytes_cut_or_changed_anywhere_do_no_harm(void **state) {
        ExportSample samples[5];
        const ExportSamples written = {
                .begin_realtime_ms = 1, .n_merged = 1, .n = N_ELEMENTS(samples), .samples = samples
        };
        scoped(buffer_deinit) Buffer bytes = {};
        ExportSamples read;

        (void)state;
        fill(samples, N_ELEMENTS(samples));
        export_samples_write(&written, &bytes);
        for (size_t cut = 1; cut < bytes.n; cut++)
                assert_int_equal(read_copy(bytes.text, cut, &read), PARSE_MALFORMED);
        for (size_t at = 0; at < bytes.n; at++) {
                char before = bytes.text[at];

                for (unsigned v = 0; v < 256; v++) {
                        bytes.text[at] = (char)v;
                        if (read_copy(bytes.text, bytes.n, &read) != 0)
                                continue;
                        for (size_t i = 0; i < read.n; i++)
                                for (size_t k = 0; k < N_EXPORT_RATIOS; k++)
                                        assert_true(read.samples[i].ratios[k] <= EXPORT_RATIO_STEPS ||
                                                    read.samples[i].ratios[k] == EXPORT_RATIO_UNKNOWN);
                        export_samples_deinit(&read);
                }
                bytes.text[at] = before;
        }
        buffer_putc(&bytes, 0);
        assert_int_equal(read_copy(bytes.text, bytes.n, &read), PARSE_MALFORMED);
}

/* Reads one sample that has the value in the column, and 0 in the others. */
static int read_made(const int64_t head[static 3], size_t column, int64_t v) {
        scoped(export_samples_deinit) ExportSamples read = {};
        scoped(buffer_deinit) Buffer bytes = {};
        ColumnWriter writer = { .out = &bytes };

        for (size_t i = 0; i < 3; i++)
                column_writer_put(&writer, head[i]);
        for (size_t i = 0; i < N_COLUMNS; i++) {
                column_writer_begin(&writer);
                column_writer_put(&writer, i == column ? v : 0);
        }
        return read_copy(bytes.text, bytes.n, &read);
}

static void impossible_values_are_refused(void **state) {
        static const int64_t good[3] = { 1, 1, 1 };
        static const int64_t heads[][3] = {
                { -1, 1, 1 }, { 1, 0, 1 }, { 1, -1, 1 },   { 1, 1, 0 },
                { 1, 1, -1 }, { 1, 1, 2 }, { 1, 1, 1001 }, { 1, 1, INT64_MAX },
        };

        (void)state;
        assert_int_equal(read_made(good, 0, 0), 0);
        for (size_t i = 0; i < N_ELEMENTS(heads); i++)
                assert_int_equal(read_made(heads[i], 0, 0), PARSE_MALFORMED);
        assert_int_equal(read_made(good, 0, -1), PARSE_MALFORMED);
        assert_int_equal(read_made(good, 1, -1), 0);
        assert_int_equal(read_made(good, 1, EXPORT_RATIO_STEPS), 0);
        assert_int_equal(read_made(good, 1, INT64_C(1) + EXPORT_RATIO_STEPS), PARSE_MALFORMED);
        for (size_t column = 0; column < N_COLUMNS; column++)
                assert_int_equal(read_made(good, column, -2), PARSE_MALFORMED);
        assert_int_equal(read_made(good, N_COLUMNS - 1, INT64_MAX), 0);
}

/* --- perf.py's fields ----------------------------------------------------------------------------- */

static void perf_py_rounds_and_counts_since_boot(void **state) {
        ExportSample sample = {
                .end_realtime_ms = 1700000001003,
                .ratios = { 6666667, 6650000, 123456, 9999000, 3001499, EXPORT_RATIO_UNKNOWN },
                .boot_bytes = { 1048576, 0, 524288, 0, 0, EXPORT_BYTES_UNKNOWN },
                .counted_bytes = { 2097152, 0, 0, 0, 0, 0 },
        };
        PerfpySample ours, theirs;

        (void)state;
        export_sample_to_perfpy(&sample, false, &ours);
        export_sample_to_perfpy(&sample, true, &theirs);
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
                cmocka_unit_test(each_sample_is_restored_exactly),
                cmocka_unit_test(counters_beyond_63_bits_are_unknown),
                cmocka_unit_test(no_bytes_are_no_samples),
                cmocka_unit_test(bytes_cut_or_changed_anywhere_do_no_harm),
                cmocka_unit_test(impossible_values_are_refused),
                cmocka_unit_test(perf_py_rounds_and_counts_since_boot),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
