/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include "util/clock.h"

int node_init(Node *node, const char *root, const NodeConfig *config) {
        int r;

        *node = (Node){};
        r = sampler_new(&node->sampler, root, config->filesystems_interval_ns);
        if (r < 0)
                return r;
        r = sampler_new(&node->processes, "/", config->filesystems_interval_ns);
        if (r < 0)
                return r;

        sampler_boot_id(node->sampler, node->boot_id);
        return meter_new(&node->meter, config->interval_ns);
}

void node_deinit(Node *node) {
        meter_free(node->meter);
        sampler_free(node->sampler);
        sampler_free(node->processes);
        sample_deinit(&node->sample);
        *node = (Node){};
}

static int node_account(Node *node) {
        int r;

        r = meter_advance(node->meter, &node->sample, &node->observation);
        if (r < 0)
                return r;

        if (!node->has_window) {
                window_begin(&node->window, meter_totals(node->meter), &node->sample);
                node->window_begin_realtime_ns = node->sample.realtime_ns;
                node->has_window = true;
        }
        if (r == METER_OBSERVED) {
                window_observe(&node->window, &node->observation, node->sample.realtime_ns);
                return NODE_OBSERVED;
        }

        return 0;
}

int node_sample(Node *node, uint64_t max_age_ns) {
        uint64_t now_ns = clock_boottime_ns(), cpu_ns;
        int r;

        if (max_age_ns > 0 && node->n_samples > 0 && now_ns - node->sample.boottime_ns <= max_age_ns)
                return 0;

        cpu_ns = clock_thread_cpu_ns();
        r = sampler_read(node->sampler, now_ns, clock_realtime_ns(), &node->sample);
        if (r < 0)
                return r;

        r = node_account(node);
        node->last_sample_cpu_ns = clock_thread_cpu_ns() - cpu_ns;
        node->sample_cpu_ns += node->last_sample_cpu_ns;
        node->n_samples++;
        return r;
}

int node_process_start(const Node *node, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid) {
        return sampler_process_start(node->processes, pid, ret_ticks, ret_uid);
}

uint32_t node_n_cpus(const Node *node) {
        return node->sample.n_online > 0 ? node->sample.n_online : 1;
}
