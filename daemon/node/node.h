/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Node: samples of this machine
 *
 * Combines the sampler, the meter, the window since start, the current point of the history, and the CPU time spent
 * sampling.
 */

#include "base/runtime_file.h"
#include "measure/meter.h"
#include "node/recent_log.h"
#include "node/recording.h"
#include "sample/host/pid_namespace.h"
#include "sample/host/sampler.h"
#include "snapshot/snapshot.h"
#include "snapshot/window.h"
#include "store/store.h"

typedef struct NodeConfig {
        uint64_t interval_ns;             /* interval between two samples */
        uint64_t offset_ns;               /* of the samples from the multiples of the interval since the epoch */
        uint64_t cpu_interval_ns;         /* interval between two readings of the CPUs in between; 0: none */
        uint64_t job_cpu_interval_ns;     /* least such interval that a job may ask for; 0: jobs may not ask */
        bool is_shared_cpu_interval;      /* a job may ask for it although it shares the node */
        uint64_t filesystems_interval_ns; /* interval between two readings of the file systems' sizes, except for "/" */
} NodeConfig;

/* The current point of the node's history: observations are collected for a checkpoint interval. */
typedef struct NodeInterval {
        Recording point;
        uint64_t length_ns; /* 0: no interval has begun */
} NodeInterval;

/* The current block of the node's minutes. */
typedef struct NodeMinutes {
        Recording block;   /* of about an hour; begins at a full minute. interval_ns 0: none has begun */
        uint32_t n_stored; /* points that the store has, the last of which may have grown */
} NodeMinutes;

/* CPU time that the loop's thread spent sampling. */
typedef struct NodeCost {
        uint64_t n_samples, cpu_ns, last_cpu_ns;
} NodeCost;

/* The meter as of the latest sample, in a file that outlives perfd. */
typedef struct NodeAccount {
        RuntimeFile *file; /* owned; NULL: there is no directory for the file, or it failed */
        /* the last one, whose memory is used again: of the meter, of the window, and the size of the latter */
        Buffer image;
        RecordImage window;
} NodeAccount;

typedef struct Node {
        Sampler *sampler;   /* owned */
        Sampler *processes; /* owned; always reads "/", where the pids of peers are valid, whatever root is sampled */
        Meter *meter;       /* owned */
        Sample sample;      /* the latest sample */
        Sample cpus;        /* the latest reading of the CPUs alone */
        Observation observation; /* latest observation; end_ns 0: none yet */
        Window window;           /* of the account: since perfd first started in this boot */
        uint64_t window_begin_realtime_ns; /* 0: before the first sample */
        NodeInterval interval;
        NodeMinutes minutes;
        RecentLog recent;
        NodeCost cost;
        NodeAccount account;
        NodeIdentity identity;
        char boot_id[BOOT_ID_MAX];
        NodeConfig config;
        uint64_t asked_cpu_interval_ns; /* shortest interval that running jobs request; 0: none */
} Node;

/* Reads the identity, but takes no sample. root: directory with proc/ and sys/. Returns 0 or a negative errno. */
int node_init(Node *node, const char *root, const NodeConfig *config);
void node_deinit(Node *node);
void node_configure(Node *node, const NodeConfig *config);
/*
 * Keeps the meter in a file from the next sample on, so that the totals go on after any end of perfd in this boot.
 * 0, or a negative errno of runtime_file_open(): the node works without.
 */
int node_open_account(Node *node, const char *path);
/*
 * Continues with the meter in this file, if it is of this boot and not older than the present one. 0;
 * NODE_ACCOUNT_NONE: the meter is unchanged; NODE_ACCOUNT_DAMAGED: so it is, because the file is damaged; or
 * -ENOMEM.
 */
enum {
        NODE_ACCOUNT_NONE = 1,
        NODE_ACCOUNT_DAMAGED,
};
int node_restore_account(Node *node);
/* Replaces the meter: its totals begin at zero, and former windows are invalid. Returns 0 or -ENOMEM. */
int node_reset_meter(Node *node);

/*
 * Takes a sample and advances the meter, unless the latest sample is at most max_age_ns old. 0, NODE_OBSERVED if
 * node->observation is new, or -ENOMEM.
 */
enum {
        NODE_OBSERVED = 1,
};
int node_sample(Node *node, uint64_t max_age_ns);

/* Returns the configured or requested interval between two readings of the CPUs; 0: samples are as frequent. */
uint64_t node_cpu_interval_ns(const Node *node);
/* Sets the shortest interval that running jobs request; 0: none. The configured limit applies. */
void node_ask_cpu_interval(Node *node, uint64_t interval_ns);

/* Reads the CPUs alone, for the threshold times and peaks of the next observation. Returns 0 or -ENOMEM. */
int node_sample_cpus(Node *node);

/* Begins an interval of the history at the latest sample, and drops the observations of the former interval. */
void node_begin_interval(Node *node, uint64_t length_ns);
/*
 * Puts the interval into the store as a timeline of one point, and begins the next. is_last: perfd stops before the
 * interval is over. If the queue is full or memory is exhausted, this point is lost. The block of minutes is stored as
 * well, again after each minute: an end of perfd loses one at most.
 */
void node_put_interval(Node *node, Store *store, uint64_t next_length_ns, bool is_last);

/* Calls pid_namespace_find() for a process of this machine. */
int node_find_process(int32_t peer_pid, int32_t pid, int32_t *ret);
/* Calls sampler_process_start() for a process of this machine. */
int node_process_start(const Node *node, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid);

/* Returns the parent of a process of this machine; 0: unknown. */
int32_t node_process_parent(const Node *node, int32_t pid);

/*
 * True if a process of this machine may run on all CPUs, except for those that are reserved for perfd: the CPUs of
 * perfd itself, if it may not run on all.
 */
bool node_is_whole_for(int32_t pid);

/* Returns the number of CPUs online in the latest sample, at least 1. */
uint32_t node_n_cpus(const Node *node);
/* Returns the memory of the node in the latest sample; 0: unknown. */
uint64_t node_memory_bytes(const Node *node);
/* Returns the time of the latest sample, since the epoch. */
uint64_t node_realtime_ms(const Node *node);
/* Computes the metrics of a window up to the latest sample. */
void node_window_metrics(const Node *node, const Totals *begin, const WindowPeaks *peaks, MetricSet *ret);
/* Fills the node's part of a snapshot. Returns 0 or -ENOMEM. */
int node_publish(const Node *node, NodeSnapshot *ret);
