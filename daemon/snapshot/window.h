/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Window: what happened between two instants
 *
 * Holds the totals at its start and, since then, the peaks. Its totals are a
 * difference, exact for any length. Fixed size, no allocation; any number of windows
 * share one Meter.
 */

#include <stdint.h>

#include "measure/compat.h"
#include "measure/meter.h"
#include "measure/metric.h"

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

/* Takes the gauges of a sample inside, as at a mark: one that came too soon after the last is no observation's end. */
void window_see(Window *window, const Sample *sample);

/* Takes the peaks of an observation that ended after the start. */
void window_observe(Window *window, const Observation *observation, uint64_t realtime_ns);

/*
 * The metrics from the start to `end` (the meter's totals at that instant). n_cpus: online CPUs, for compat's node_cpu_hours.
 *
 * Differences of counters are exact when their file was read at both ends, else of an unknown source. Peaks and
 * shares of time are sampled: peaks go by the observations that ended inside, shares by the time these cover.
 * Memory and / were looked at at the start and at marks as well, so that the shortest window has theirs. In a lost window
 * `end` is the last checkpoint, not the end: nothing in it is exact, all is at least so much, hence sampled. Where
 * `end` is no later reading at all (its clock, of another boot, is before the start's), or the window never
 * began (its checkpoint could not be read), everything is lost.
 */
void window_metrics(const Window *window, const Totals *end, uint32_t n_cpus, MetricSet *ret);

/* For checkpoints. */
extern const Record window_record;
