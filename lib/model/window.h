#pragma once

/*
 * Window: what happened between two instants
 *
 * Holds the totals at its begin and, since then, the peaks. Its totals are a
 * difference, exact for any length. Fixed size, no allocation; any number of windows
 * share one Meter.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/meter.h"
#include "model/metric.h"

/* perf.py's reading, streamed: unweighted over observations, decimation aside. */
typedef struct Compat {
        uint64_t n;
        uint64_t first_end_realtime_ns;
        double cpu_sum; /* of percentages rounded to 0.1 */
        uint64_t n_at100, n_over80, n_over40, n_over20;
        double cpu_max, cpu_min_max, cpu_max_max, memory_max, disk_usage_max; /* percent */
        double boot_mib_max[6]; /* order of Observation.boot_mib */
        bool has_cpu, has_memory, has_disk_usage;
} Compat;

typedef struct Window {
        Totals begin;
        bool lost; /* the kernel's counters began anew since: totals end at the last checkpoint */
        uint64_t n_observations;
        double cpu_max, cpu_min_max, cpu_max_max; /* ratios */
        double memory_max, root_filesystem_max;
        bool has_cpu, has_memory, has_root_filesystem;
        Compat compat;
} Window;

/* Begins at the totals. The gauges of the sample at that instant (memory, /) count as seen. */
void window_begin(Window *window, const Totals *totals, const Sample *sample);

/* Takes the peaks of an observation that ended after the begin. */
void window_observe(Window *window, const Observation *observation, uint64_t realtime_ns);

/* The metrics from begin to `end` (the meter's totals at that instant). n_cpus: online CPUs, for compat's node_cpu_hours. */
void window_metrics(const Window *window, const Totals *end, uint32_t n_cpus, MetricSet *ret);

/* Text form for the store's checkpoints; window_parse() accepts what any earlier version wrote. Caller frees. */
int window_format(const Window *window, char **ret);
int window_parse(const char *text, Window *ret); /* 0, or PARSE_MALFORMED */

/* perf.py's twelve-field sample, for the pure form below. Percent and MiB. */
typedef struct PerfpySample {
        double cpu_avg, cpu_min, cpu_max, memory, disk_usage;
        double boot_mib[6]; /* order of Observation.boot_mib */
        double timestamp_s;
} PerfpySample;

void compat_add(Compat *compat, const PerfpySample *sample);
/* The eighteen as perf.py would log them at reporting time; false in ret_has where it would have crashed or had none. */
void compat_metrics(const Compat *compat, double reporting_time_s, uint32_t n_cpus,
                    double ret[static N_PERFPY_METRICS], bool ret_has[static N_PERFPY_METRICS]);
