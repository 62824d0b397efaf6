/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compat: the eighteen metrics as perf.py computes them
 *
 * perf.py is the sampler of lightgbm-benchmark. This module computes what perf.py would have logged: unweighted means
 * over samples, and disk and network counters since boot. It omits perf.py's decimation, which loses samples of long
 * runs. `window.h` has corrected versions of the same eighteen metrics.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/record.h"
#include "measure/meter.h"
#include "measure/metric.h"

/* How a counter of perf.py is measured. */
typedef struct PerfpyCounterInfo {
        Total total;
        Source source;
        Metric metric;
} PerfpyCounterInfo;

extern const PerfpyCounterInfo perfpy_counters[N_PERFPY_COUNTERS];

/* perf.py's twelve-field sample, in percent and MiB. NaN marks a field that could not be read. */
typedef struct PerfpySample {
        double cpu_avg, cpu_min, cpu_max, memory, disk_usage;
        double boot_mib[N_PERFPY_COUNTERS];
        double timestamp_s;
} PerfpySample;

#define N_PERFPY_FIELDS 12U
/* "cpu_pct_per_cpu_avg", …, "timestamp"; in perf.py's order */
extern const char *const compat_field_names[N_PERFPY_FIELDS];
/* NAN: unknown. */
double compat_field(const PerfpySample *sample, size_t field);
void compat_set_field(PerfpySample *sample, size_t field, double v);

/* Accumulated samples. Initialize with zeros. */
typedef struct Compat {
        uint64_t n; /* samples with CPU times */
        double first_timestamp_s;
        double cpu_sum; /* percent */
        uint64_t n_at100, n_over80, n_over40, n_over20;
        double cpu_max, cpu_min_max, cpu_max_max, memory_max, disk_usage_max; /* percent */
        double boot_mib_max[N_PERFPY_COUNTERS];
        bool has_cpu, has_memory, has_disk_usage, has_disk_io, has_net_io;
} Compat;

/*
 * Returns the sample that perf.py would have taken at the end of an observation. Percentages are rounded to 0.1 as in
 * psutil.
 */
void compat_sample(const Observation *observation, uint64_t realtime_ns, PerfpySample *ret);
void compat_add(Compat *compat, const PerfpySample *sample);

/*
 * Computes the eighteen metrics as perf.py would log them at reporting time, in MLflow's units. If perf.py would have
 * crashed (no sample, an unreadable counter), ret_has is false and ret is 0.
 */
void compat_metrics(const Compat *compat, double reporting_time_s, uint32_t n_cpus,
                    double ret[static N_PERFPY_METRICS], bool ret_has[static N_PERFPY_METRICS]);

extern const Record compat_record;
