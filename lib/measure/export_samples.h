/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Export samples: observations of the node that are kept for the export of a job as perf.py's samples
 *
 * A sample has what the twelve fields of perf.py's sample need, both as perfd computes them and as perf.py did. Its
 * members are integers, so that a thousand samples are small in memory and in the database, and are restored
 * exactly.
 */

#include <stddef.h>
#include <stdint.h>

#include "measure/compat.h"
#include "measure/meter.h"
#include "measure/totals.h"
#include "util/columns.h"

typedef enum ExportRatio {
        EXPORT_CPU_MEAN,
        EXPORT_CPU_ROUNDED_MEAN, /* mean of the CPUs' shares, each rounded as perf.py does */
        EXPORT_CPU_MIN,
        EXPORT_CPU_MAX,
        EXPORT_MEMORY,
        EXPORT_ROOT_FILESYSTEM,
        N_EXPORT_RATIOS,
} ExportRatio;

#define EXPORT_RATIO_STEPS 10000000U /* steps of a ratio: 1 is 100 % */
#define EXPORT_RATIO_UNKNOWN UINT32_MAX
#define EXPORT_BYTES_UNKNOWN UINT64_MAX

typedef struct ExportSample {
        uint64_t end_realtime_ms;
        uint64_t observed_ns;                   /* length of the observation; 0 in samples that were stored */
        uint32_t ratios[N_EXPORT_RATIOS];         /* EXPORT_RATIO_UNKNOWN: could not be read */
        /* since boot, of all devices; EXPORT_BYTES_UNKNOWN: could not be read */
        uint64_t boot_bytes[N_PERFPY_COUNTERS];
        uint64_t counted_bytes[N_PERFPY_COUNTERS]; /* of physical devices and the loopback interface: a reading of the
                                                    * meter's totals, or in ExportSamples the amount since its start */
} ExportSample;

/* totals: the meter's totals at the end of the observation. */
void export_sample_make(const Observation *observation, const Totals *totals, ExportSample *ret);
/*
 * Merges the sample that follows *sample into it: means are weighted by time, the other shares become the higher of
 * the two, because only their maxima have a meaning, and the counters and the time are those of the later sample.
 */
void export_sample_merge(ExportSample *sample, const ExportSample *next);
/* is_compat: counters since boot, and shares rounded as perf.py rounds them. */
void export_sample_to_perfpy(const ExportSample *sample, bool is_compat, PerfpySample *ret);

#define EXPORT_SAMPLES_MAX 1000U /* of a job; perf.py's own limit was the same */

/* The samples of one job. */
typedef struct ExportSamples {
        uint64_t begin_realtime_ms; /* from when on samples were kept */
        uint64_t n_merged;          /* number of observations in each sample, but the first and the last */
        size_t n;
        ExportSample *samples; /* owned */
} ExportSamples;

void export_samples_deinit(ExportSamples *samples);
/* Appends the samples as columns (columns.h) for the store. observed_ns is not part of them. */
void export_samples_write(const ExportSamples *samples, Buffer *out);
/* Reads what export_samples_write() wrote, up to the end of the bytes; without bytes, *ret is empty. 0,
 * PARSE_MALFORMED or -ENOMEM. */
int export_samples_read(ColumnReader *reader, ExportSamples *ret);
