/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Window: metrics between two points in time
 *
 * Stores the totals at its start and the peaks since then. Amounts are differences of totals, exact for any length.
 * Fixed size, no allocation; any number of windows can use the same Meter. Only the peaks change after the start: the
 * windows of running jobs are kept in two parts, so that a snapshot copies no totals.
 */

#include <stdint.h>

#include "measure/compat.h"
#include "measure/meter.h"
#include "measure/metric.h"

typedef struct WindowPeaks {
        bool lost; /* the kernel's counters were restarted: totals end at the last checkpoint */
        uint64_t n_observations;
        double cpu_max, cpu_min_max, cpu_max_max; /* ratios */
        double memory_max, root_filesystem_max;
        bool has_cpu, has_memory, has_root_filesystem;
        Compat compat;
} WindowPeaks;

typedef struct Window {
        Totals begin;
        WindowPeaks peaks;
} Window;

/* Begins a window at the totals, and its peaks alone. The gauges of the sample at this time (memory, /) are
 * included. */
void window_begin(Window *window, const Totals *totals, const Sample *sample);
void window_begin_peaks(WindowPeaks *peaks, const Sample *sample);

/* Includes the gauges of a sample that ends no observation, for example at a mark shortly after the last sample. */
void window_add_gauges(WindowPeaks *peaks, const Sample *sample);

/* Includes the peaks of an observation, unless it ended before the start. */
void window_observe(WindowPeaks *peaks, const Totals *begin, const Observation *observation, uint64_t realtime_ns);

/*
 * Computes the metrics from the start to `end`, the meter's totals at that time. n_cpus: online CPUs, for compat's
 * node_cpu_hours.
 *
 * Differences of counters are exact if their file was read at both ends, otherwise the source is unknown. Peaks and
 * shares of time are sampled: peaks use the observations that ended inside the window, shares the time covered by
 * them. Memory and / are also read at the start and at marks, so that even the shortest window has them. In a lost
 * window, `end` is the last checkpoint, not the end: all values are lower bounds, and are marked as sampled. If `end`
 * precedes the start (the clock of another boot), or the window never began (its checkpoint could not be read), all
 * metrics are lost.
 */
void window_metrics(const Totals *begin, const WindowPeaks *peaks, const Totals *end, uint32_t n_cpus, MetricSet *ret);

/* Record for checkpoints. */
extern const Record window_record;
