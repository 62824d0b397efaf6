/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compat: perf.py's own reading of its eighteen metrics
 *
 * Unweighted means over samples, and disk and network as counted since boot: what perf.py of
 * lightgbm-benchmark would have logged, had it been there. Left out is its decimation, which
 * loses samples of long runs. `window.h` has the same eighteen put right.
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/meter.h"
#include "measure/metric.h"
#include "util/record.h"

#define N_BOOT_COUNTERS 6 /* order of Observation.boot_mib */

/* perf.py's twelve-field sample. Percent and MiB; NaN for what could not be read. */
typedef struct PerfpySample {
        double cpu_avg, cpu_min, cpu_max, memory, disk_usage;
        double boot_mib[N_BOOT_COUNTERS];
        double timestamp_s;
} PerfpySample;

/* The samples so far. A zeroed Compat is empty. */
typedef struct Compat {
        uint64_t n; /* samples with CPU times */
        double first_timestamp_s;
        double cpu_sum; /* percent */
        uint64_t n_at100, n_over80, n_over40, n_over20;
        double cpu_max, cpu_min_max, cpu_max_max, memory_max, disk_usage_max; /* percent */
        double boot_mib_max[N_BOOT_COUNTERS];
        bool has_cpu, has_memory, has_disk_usage, has_disk_io, has_net_io;
} Compat;

/* What perf.py would have sampled at the end of an observation: percentages rounded to 0.1 as psutil does. */
void compat_sample(const Observation *observation, uint64_t realtime_ns, PerfpySample *ret);
void compat_add(Compat *compat, const PerfpySample *sample);

/*
 * The eighteen as perf.py would log them at reporting time, in MLflow's units. ret_has is false where it
 * would have crashed (no sample, a counter that cannot be read); ret is 0 there.
 */
void compat_metrics(const Compat *compat, double reporting_time_s, uint32_t n_cpus,
                    double ret[static N_PERFPY_METRICS], bool ret_has[static N_PERFPY_METRICS]);

extern const Record compat_record;
