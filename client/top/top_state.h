/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Top state: what perfctl top shows: numbers of the node and its jobs, now or at an earlier time
 *
 * Numbers that perfd counts since boot, or since a job began, are shown as rates between two readings; before the
 * second, those of a job are means since its begin. At an earlier time, the node's numbers are from perfd's history,
 * and those of a job are means of its whole run. An unknown number is NAN, also of equipment that the node has not.
 */

#include "client/api/api_query.h"

/*
 * X(ID, member of the output, series of the history). A series "" has no history. Those from FABRIC_RECEIVED to POWER
 * are of equipment.
 */
#define TOP_NUMBERS(X)                                                                \
        X(CPU, "cpu_utilization", "cpu")                                              \
        X(CORE_MIN, "core_utilization_min", "core_min")                               \
        X(CORE_MAX, "core_utilization_max", "core_max")                               \
        X(MEMORY, "memory_used_ratio", "memory")                                      \
        X(ROOT, "root_filesystem_used_ratio", "")                                     \
        X(DISK_READ, "disk_read_bytes_per_second", "disk_read")                       \
        X(DISK_WRITE, "disk_written_bytes_per_second", "disk_write")                  \
        X(NET_RECEIVED, "network_received_bytes_per_second", "net_received")          \
        X(NET_SENT, "network_sent_bytes_per_second", "net_sent")                      \
        X(FABRIC_RECEIVED, "fabric_received_bytes_per_second", "fabric_received")     \
        X(FABRIC_SENT, "fabric_sent_bytes_per_second", "fabric_sent")                 \
        X(NETFS_READ, "netfs_read_bytes_per_second", "netfs_read")                    \
        X(NETFS_WRITTEN, "netfs_written_bytes_per_second", "netfs_written")           \
        X(GPUS_ACTIVE, "gpus_active", "gpus_active")                                  \
        X(GPUS_UTILIZED, "gpus_utilized", "gpus_utilized")                            \
        X(GPUS_POWER, "gpu_power_watts", "gpu_power")                                 \
        X(POWER, "power_watts", "power")                                              \
        X(PRESSURE_CPU, "pressure_cpu_ratio", "pressure_cpu")                         \
        X(PRESSURE_MEMORY, "pressure_memory_ratio", "pressure_memory")                \
        X(PRESSURE_IO, "pressure_io_ratio", "pressure_io")

typedef enum TopNumber {
#define X(id, ...) TOP_##id,
        TOP_NUMBERS(X)
#undef X
        N_TOP_NUMBERS,
} TopNumber;

#define N_TOP_PRESSURES (N_TOP_NUMBERS - TOP_PRESSURE_CPU)

/* X(ID, word of --sort and of the output, unit in the output) */
#define TOP_COLUMNS(X)                        \
        X(CPUS, "cpu", "cpus")                \
        X(GPUS, "gpu", "gpus")                \
        X(MEMORY, "memory", "memory_bytes")   \
        X(IO, "io", "io_bytes_per_second")    \
        X(WAITED, "pressure", "waited_ratio")

typedef enum TopColumn {
#define X(id, ...) TOP_COLUMN_##id,
        TOP_COLUMNS(X)
#undef X
        N_TOP_COLUMNS,
} TopColumn;

extern const char *const top_column_words[]; /* ends with NULL */

typedef struct TopJob {
        const Value *of; /* in the answer of perfd, until a refresh replaces the jobs */
        double value[N_TOP_COLUMNS];
        /* To form rates at the next refresh. */
        double duration_s, counter[N_TOP_COLUMNS];
        double since_s[N_TOP_COLUMNS];  /* duration when the counter changed, or was read first */
        bool is_change[N_TOP_COLUMNS]; /* since_s is that of a change */
} TopJob;

typedef struct TopJobs {
        TopJob *items; /* owned */
        size_t n;
        bool has_gpus; /* a job has a number of them */
} TopJobs;

#define TOP_TREND_MAX 60U
#define TOP_CORES_MAX 4096U
#define TOP_GPUS_MAX 64U

/* X(ID, member of the API, and of the output) */
#define TOP_GPU_NUMBERS(X)                          \
        X(ACTIVE, "gpu_sm_active_ratio")            \
        X(UTILIZATION, "gpu_utilization_ratio")     \
        X(MEMORY_USED, "gpu_memory_used_bytes")     \
        X(MEMORY_TOTAL, "gpu_memory_total_bytes")   \
        X(POWER, "gpu_power_watts")

typedef enum TopGpuNumber {
#define X(id, ...) TOP_GPU_##id,
        TOP_GPU_NUMBERS(X)
#undef X
        N_TOP_GPU_NUMBERS,
} TopGpuNumber;

extern const char *const top_state_gpu_keys[N_TOP_GPU_NUMBERS];

typedef struct TopGpu {
        char name[32], state[32]; /* state "": unknown */
        double number[N_TOP_GPU_NUMBERS];
} TopGpu;

typedef struct TopNode {
        char hostname[65];
        uint64_t n_cpus, time_ms, interval_ms;
        double number[N_TOP_NUMBERS];
        double memory_bytes; /* in all */
        double waited_s[N_TOP_PRESSURES]; /* since boot, at waited_ms */
        uint64_t waited_ms;
        double core[TOP_CORES_MAX]; /* utilization of each; NAN: unknown */
        size_t n_cores; /* 0: unknown */
        TopGpu gpus[TOP_GPUS_MAX]; /* now */
        size_t n_gpus, n_gpus_counted; /* n_gpus 0 at an earlier time; counted: without instances of others */
        double trend[N_TOP_NUMBERS][TOP_TREND_MAX]; /* the latest last; NAN: unknown */
} TopNode;

typedef enum TopQuery {
        TOP_QUERY_NODE,
        TOP_QUERY_RUNNING, /* and, if the jobs that are shown are in its answer, the next for the next jobs */
        TOP_QUERY_NEXT_RUNNING,
        TOP_QUERY_BEGUN,
        TOP_QUERY_NEXT_BEGUN,
        TOP_QUERY_HISTORY,
        TOP_QUERY_CORES,
        N_TOP_QUERIES,
} TopQuery;

typedef struct TopState {
        ApiQuery query[N_TOP_QUERIES];
        TopNode node;
        TopJobs jobs; /* sorted */
        unsigned jobs_query;     /* 0 or 1: which of the queries of jobs has them */
        uint64_t n_hidden;       /* running jobs of other users, which this user may not list */
        uint64_t at_ms;          /* 0: now */
        uint64_t trend_ms;       /* time of the node when the trend was asked for */
        TopColumn sort;
        uint64_t answered_ms;    /* time of the latest refresh that did not fail */
        Buffer problem;          /* why the latest refresh failed; empty: it did not */
} TopState;

/* Reads a job of /api/v1/jobs: its numbers are means since its begin. */
TopJob top_state_read_job(const Value *of);
/* Replaces means by rates since an earlier reading. */
void top_state_compare_job(TopJob *job, const TopJob *before);

/* Asks perfd once. EXIT_DONE, or an exit status after a message. Call top_state_deinit() in both cases. */
int top_state_init(TopState *state, const GlobalOptions *global);
void top_state_deinit(TopState *state);

/* Asks perfd. True if it answered; otherwise `problem` has the reason, and what is known stays. */
bool top_state_refresh(TopState *state);
/* Reads the GPUs of the answer's `latest`. */
void top_state_read_gpus(TopNode *node, const Value *latest);
/* Orders the jobs by a column, the highest first; by its word, one of top_column_words. */
void top_state_sort(TopState *state, TopColumn column);
void top_state_sort_by_word(TopState *state, const char *word);
