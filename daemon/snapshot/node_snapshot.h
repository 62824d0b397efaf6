/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NodeSnapshot: the node's part of a Snapshot
 *
 * Contains the latest sample, the meter's totals, and the window since perfd started. The metrics are computed on request.
 */

#include "measure/meter.h"
#include "measure/metric.h"
#include "measure/sample.h"
#include "measure/usage.h"
#include "snapshot/stats.h"
#include "snapshot/window.h"

/* Names returned by uname(2). */
typedef struct NodeIdentity {
        char hostname[65];
        char machine[65], kernel[65];
} NodeIdentity;

typedef struct NodeSnapshot {
        NodeIdentity identity;
        char boot_id[37];
        uint64_t interval_ns;
        uint64_t cpu_interval_ns; /* between readings of the CPUs: threshold times and peaks of CPUs */
        uint64_t boottime_ns, realtime_ns; /* times of the last sample; 0: none yet */
        Sample sample;                     /* owned copy of the last sample */
        Totals totals;                     /* totals since perfd's first sample of this boot */
        MeterEvents events;
        Observation observation;           /* the latest observation; end_ns 0: none yet */
        Window window;                     /* since perfd started */
        uint64_t window_begin_realtime_ns;
        SamplerStats sampler;
        uint64_t sample_cpu_ns, last_sample_cpu_ns; /* CPU time spent sampling */
} NodeSnapshot;

void node_snapshot_deinit(NodeSnapshot *node);

/* Return the number of CPUs online and MemTotal; 0 if unknown. node may be NULL. */
uint32_t node_snapshot_n_cpus(const NodeSnapshot *node);
uint64_t node_snapshot_memory_bytes(const NodeSnapshot *node);
/*
 * Compute the metrics of `window` and `usage` up to the snapshot's sample. usage NULL: the job has no cgroup of its
 * own.
 */
void node_snapshot_window(const NodeSnapshot *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret);
void node_snapshot_usage(const NodeSnapshot *node, const Usage *usage, UsageSet *ret);
