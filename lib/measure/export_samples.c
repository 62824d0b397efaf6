/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/export_samples.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/parse.h"

static uint32_t steps_of(bool has, double ratio) {
        return has && ratio >= 0 ? (uint32_t)lrint(fmin(ratio, 1) * EXPORT_RATIO_STEPS) : EXPORT_RATIO_UNKNOWN;
}

void export_sample_make(const Observation *observation, const Totals *totals, ExportSample *ret) {
        const Observation *o = observation;

        *ret = (ExportSample){
                .end_realtime_ms = totals->realtime_ns / 1000000,
                .observed_ns = o->end_ns - o->begin_ns,
                .ratios = {
                        [EXPORT_CPU_MEAN] = steps_of(o->has_cpu, o->cpu_mean),
                        [EXPORT_CPU_ROUNDED_MEAN] = steps_of(o->has_cpu, o->cpu_rounded_mean),
                        [EXPORT_CPU_MIN] = steps_of(o->has_cpu, o->cpu_min),
                        [EXPORT_CPU_MAX] = steps_of(o->has_cpu, o->cpu_max),
                        [EXPORT_MEMORY] = steps_of(o->has_memory, o->memory),
                        [EXPORT_ROOT_FILESYSTEM] = steps_of(o->has_root_filesystem, o->root_filesystem),
                },
        };
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++) {
                ret->boot_bytes[i] = isnan(o->boot_mib[i]) ? EXPORT_BYTES_UNKNOWN
                                                           : (uint64_t)rint(o->boot_mib[i] / PER_MIB);
                ret->counted_bytes[i] = totals->value[perfpy_counters[i].total];
        }
}

static uint32_t mean_of(uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns) {
        if (a == EXPORT_RATIO_UNKNOWN || b == EXPORT_RATIO_UNKNOWN || a_ns + b_ns == 0)
                return a == EXPORT_RATIO_UNKNOWN ? b : a;
        return (uint32_t)lrint((double)a + ((double)b - a) * ((double)b_ns / (double)(a_ns + b_ns)));
}

static uint32_t higher_of(uint32_t a, uint32_t b) {
        if (a == EXPORT_RATIO_UNKNOWN || b == EXPORT_RATIO_UNKNOWN)
                return a == EXPORT_RATIO_UNKNOWN ? b : a;
        return a > b ? a : b;
}

void export_sample_merge(ExportSample *sample, const ExportSample *next) {
        ExportSample merged = *next;

        for (ExportRatio i = 0; i < N_EXPORT_RATIOS; i++) {
                uint32_t a = sample->ratios[i], b = next->ratios[i];

                merged.ratios[i] = i <= EXPORT_CPU_ROUNDED_MEAN ? mean_of(a, sample->observed_ns, b, next->observed_ns)
                                                                : higher_of(a, b);
        }
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++)
                if (next->boot_bytes[i] == EXPORT_BYTES_UNKNOWN)
                        merged.boot_bytes[i] = sample->boot_bytes[i];
        merged.observed_ns += sample->observed_ns;
        *sample = merged;
}

static double percent_of(uint32_t steps, bool is_rounded) {
        if (steps == EXPORT_RATIO_UNKNOWN)
                return NAN;
        return is_rounded ? rint(steps / (EXPORT_RATIO_STEPS / 1e3)) / 10 : steps / (EXPORT_RATIO_STEPS / 1e2);
}

static double mib_of(uint64_t bytes) {
        return bytes == EXPORT_BYTES_UNKNOWN ? NAN : (double)bytes * PER_MIB;
}

void export_sample_to_perfpy(const ExportSample *sample, bool is_compat, PerfpySample *ret) {
        const uint32_t *ratios = sample->ratios;

        *ret = (PerfpySample){
                .cpu_avg = percent_of(ratios[is_compat ? EXPORT_CPU_ROUNDED_MEAN : EXPORT_CPU_MEAN], false),
                .cpu_min = percent_of(ratios[EXPORT_CPU_MIN], is_compat),
                .cpu_max = percent_of(ratios[EXPORT_CPU_MAX], is_compat),
                .memory = percent_of(ratios[EXPORT_MEMORY], is_compat),
                .disk_usage = percent_of(ratios[EXPORT_ROOT_FILESYSTEM], is_compat),
                .timestamp_s = (double)sample->end_realtime_ms / 1e3,
        };
        for (size_t i = 0; i < N_PERFPY_COUNTERS; i++)
                ret->boot_mib[i] = mib_of(is_compat ? sample->boot_bytes[i] : sample->counted_bytes[i]);
}

/* --- columns -------------------------------------------------------------------------------------- */

#define N_COLUMNS (1 + N_EXPORT_RATIOS + 2 * N_PERFPY_COUNTERS)
#define UNKNOWN (-1)

void export_samples_deinit(ExportSamples *samples) {
        free(samples->samples);
        *samples = (ExportSamples){};
}

static uint64_t *bytes_at(ExportSample *sample, size_t column) {
        size_t counter = column - N_EXPORT_RATIOS - 1;

        return counter < N_PERFPY_COUNTERS ? &sample->boot_bytes[counter]
                                           : &sample->counted_bytes[counter - N_PERFPY_COUNTERS];
}

static int64_t column_get(ExportSample *sample, size_t column) {
        uint64_t bytes;

        if (column == 0)
                return (int64_t)sample->end_realtime_ms;
        if (column <= N_EXPORT_RATIOS)
                return sample->ratios[column - 1] == EXPORT_RATIO_UNKNOWN ? UNKNOWN
                                                                          : (int64_t)sample->ratios[column - 1];

        bytes = *bytes_at(sample, column);
        return bytes > INT64_MAX ? UNKNOWN : (int64_t)bytes;
}

/* Returns false if the value is out of the column's range. */
static bool column_set(ExportSample *sample, size_t column, int64_t v) {
        if (v < UNKNOWN || (v == UNKNOWN && column == 0))
                return false;
        if (column == 0)
                sample->end_realtime_ms = (uint64_t)v;
        else if (column > N_EXPORT_RATIOS)
                *bytes_at(sample, column) = v == UNKNOWN ? EXPORT_BYTES_UNKNOWN : (uint64_t)v;
        else if (v > (int64_t)EXPORT_RATIO_STEPS)
                return false;
        else
                sample->ratios[column - 1] = v == UNKNOWN ? EXPORT_RATIO_UNKNOWN : (uint32_t)v;
        return true;
}

void export_samples_write(const ExportSamples *samples, Buffer *out) {
        ColumnWriter writer = { .out = out };

        assert(samples->n > 0 && samples->n <= EXPORT_SAMPLES_MAX);
        column_writer_put(&writer, (int64_t)samples->begin_realtime_ms);
        column_writer_put(&writer, (int64_t)samples->n_merged);
        column_writer_put(&writer, (int64_t)samples->n);
        for (size_t column = 0; column < N_COLUMNS; column++) {
                column_writer_begin(&writer);
                for (size_t i = 0; i < samples->n; i++)
                        column_writer_put(&writer, column_get(&samples->samples[i], column));
        }
}

static bool read_columns(ColumnReader *reader, ExportSamples *samples) {
        for (size_t column = 0; column < N_COLUMNS; column++) {
                column_reader_begin(reader);
                for (size_t i = 0; i < samples->n; i++)
                        if (!column_set(&samples->samples[i], column, column_reader_get(reader)))
                                return false;
        }
        return !reader->has_failed && reader->p == reader->end;
}

int export_samples_read(ColumnReader *reader, ExportSamples *ret) {
        ExportSamples samples = {};
        int64_t begin_ms, n_merged, n;

        if (reader->p == reader->end) {
                *ret = samples;
                return 0;
        }

        column_reader_begin(reader);
        begin_ms = column_reader_get(reader);
        n_merged = column_reader_get(reader);
        n = column_reader_get(reader);
        /* Each number takes a byte or more. */
        if (begin_ms < 0 || n_merged < 1 || n < 1 || n > EXPORT_SAMPLES_MAX ||
            n * (int64_t)N_COLUMNS > reader->end - reader->p)
                return PARSE_MALFORMED;

        samples = (ExportSamples){ .begin_realtime_ms = (uint64_t)begin_ms,
                                   .n_merged = (uint64_t)n_merged,
                                   .n = (size_t)n };
        samples.samples = calloc(samples.n, sizeof(*samples.samples));
        if (!samples.samples)
                return -ENOMEM;
        if (!read_columns(reader, &samples)) {
                export_samples_deinit(&samples);
                return PARSE_MALFORMED;
        }
        *ret = samples;
        return 0;
}
