/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/node_snapshot.h"

void node_snapshot_deinit(NodeSnapshot *node) {
        sample_deinit(&node->sample);
        *node = (NodeSnapshot){};
}

uint32_t node_snapshot_n_cpus(const NodeSnapshot *node) {
        return node && sample_has(&node->sample, SOURCE_STAT) ? node->sample.n_online : 0;
}

uint64_t node_snapshot_memory_bytes(const NodeSnapshot *node) {
        return node && sample_has(&node->sample, SOURCE_MEMINFO) ? node->sample.memory.total_bytes : 0;
}

/* Returns the number of CPUs, at least 1 if unknown. */
static uint32_t n_cpus_at_least_one(const NodeSnapshot *node) {
        return node->sample.n_online > 0 ? node->sample.n_online : 1;
}

void node_snapshot_window(const NodeSnapshot *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret) {
        window_metrics(begin, peaks, &node->totals, n_cpus_at_least_one(node), ret);
}

void node_snapshot_usage(const NodeSnapshot *node, const Usage *usage, UsageSet *ret) {
        if (usage)
                usage_metrics(usage, n_cpus_at_least_one(node), node_snapshot_memory_bytes(node), ret);
        else
                usage_none(ret);
}
