/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node: this machine, sampled
 *
 * Joins the sampler, the meter and the account of how punctual and how dear sampling is.
 */

#include "measure/meter.h"
#include "measure/window.h"
#include "sample/sampler.h"
#include "snapshot/node_snapshot.h"
#include "util/scoped.h"

typedef struct NodeConfig {
        uint64_t interval_ns;             /* between two samples */
        uint64_t filesystems_interval_ns; /* between two readings of the file systems' sizes */
} NodeConfig;

typedef struct Node {
        Sampler *sampler;
        Sampler *processes; /* of the machine's own root: the pids of peers are the kernel's, whatever root is sampled */
        Meter *meter;
        Sample sample;   /* the latest */
        Window window;   /* since perfd started */
        bool has_window; /* false before the first sample */
        uint64_t window_begin_realtime_ns;
        Observation observation; /* the latest; end_ns 0: none yet */
        NodeIdentity identity;
        char boot_id[BOOT_ID_MAX];
        uint64_t n_samples, sample_cpu_ns, last_sample_cpu_ns;
} Node;

/* 0 or a negative errno. Nothing is read yet but the boot id. */
int node_init(Node *node, const char *root, const NodeConfig *config);
void node_deinit(Node *node);

/*
 * Takes a sample and accounts for it; one that is not older than max_age_ns is good enough and kept.
 * 0, NODE_OBSERVED when node->observation is new, or -ENOMEM.
 */
enum {
        NODE_OBSERVED = 1,
};
int node_sample(Node *node, uint64_t max_age_ns);

/* As sampler_process_start(), for a process of this machine. */
int node_process_start(const Node *node, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid);

/* CPUs online in the latest sample, at least 1. */
uint32_t node_n_cpus(const Node *node);

/* Fills the node's part of a snapshot. 0 or -ENOMEM. */
int node_publish(const Node *node, uint64_t interval_ns, NodeSnapshot *ret);
