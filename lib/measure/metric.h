/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The metrics of a window
 *
 * Each row has the MLflow key and unit as named by perf.py of lightgbm-benchmark, and the OpenMetrics family with its
 * base unit. Exposition, JSON, the store and the report use this table. Each row of KERNEL_COUNTERS is a metric too.
 *
 *   X(ID, mlflow_key, mlflow_unit, scale, family, unit, type, label, help, derivation)
 *
 * A window computes in base units (ratio 0…1, seconds, bytes); the MLflow value is the base value × scale. `label`
 * distinguishes rows of one family and is "" for the others; only the first row of a family has a help text. The
 * derivation is used by window.c: SUM(source, n, totals…) adds differences of totals, of which `n` are one
 * base unit; SHARE(total) is a total's share of the observed time; rows marked OWN have a function in
 * window.c. The first N_PERFPY_METRICS rows are perf.py's eighteen, in its order.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/kernel_counter.h"

#define PER_MIB (1.0 / 1048576.0)
#define PER_HOUR (1.0 / 3600.0)

#define METRICS(X) \
        X(CPU_MAX,          "max_t_cpu_pct_per_cpu_avg",        "%",   100,      "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"mean\"", "Highest CPU utilization of one observation: mean over CPUs, idlest CPU and busiest CPU", OWN) \
        X(CPU_MEAN,         "cpu_avg_utilization_pct",          "%",   100,      "cpu_utilization_ratio", "ratio", GAUGE, "", "CPU utilization over the whole window: CPU time used of the CPU time available", OWN) \
        X(CPU_AT100,        "cpu_avg_utilization_at100_pct",    "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"1\"", "Share of the observed time in which CPU utilization was at or above the threshold", SHARE(TOTAL_MEAN_AT100_NS)) \
        X(CPU_OVER80,       "cpu_avg_utilization_over80_pct",   "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.8\"", "", SHARE(TOTAL_MEAN_OVER80_NS)) \
        X(CPU_OVER40,       "cpu_avg_utilization_over40_pct",   "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.4\"", "", SHARE(TOTAL_MEAN_OVER40_NS)) \
        X(CPU_OVER20,       "cpu_avg_utilization_over20_pct",   "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.2\"", "", SHARE(TOTAL_MEAN_OVER20_NS)) \
        X(CPU_MIN_MAX,      "max_t_cpu_pct_per_cpu_min",        "%",   100,      "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"min\"", "", OWN) \
        X(CPU_MAX_MAX,      "max_t_cpu_pct_per_cpu_max",        "%",   100,      "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"max\"", "", OWN) \
        X(CPU_HOURS,        "node_cpu_hours",                   "h",   PER_HOUR, "cpu_capacity_seconds", "seconds", GAUGE, "", "Available CPU time: length of the window times online CPUs", OWN) \
        X(CPU_UNUSED_HOURS, "node_unused_cpu_hours",            "h",   PER_HOUR, "cpu_unused_seconds", "seconds", GAUGE, "", "Unused CPU time", OWN) \
        X(MEM_MAX,          "max_t_mem_percent",                "%",   100,      "memory_used_peak_ratio", "ratio", GAUGE, "", "Highest share of memory in use (1 - MemAvailable / MemTotal)", OWN) \
        X(DISK_USAGE_MAX,   "max_t_disk_usage_percent",         "%",   100,      "root_filesystem_used_peak_ratio", "ratio", GAUGE, "", "Highest used share of the root file system", OWN) \
        X(DISK_READ,        "total_disk_io_read_mb",            "MiB", PER_MIB,  "disk_read_bytes", "bytes", COUNTER, "", "Bytes read from physical disks", SUM(DISKSTATS, 1, TOTAL_DISK_READ_BYTES)) \
        X(DISK_WRITE,       "total_disk_io_write_mb",           "MiB", PER_MIB,  "disk_written_bytes", "bytes", COUNTER, "", "Bytes written to physical disks", SUM(DISKSTATS, 1, TOTAL_DISK_WRITE_BYTES)) \
        X(NET_LO_SENT,      "total_net_io_lo_sent_mb",          "MiB", PER_MIB,  "network_loopback_sent_bytes", "bytes", COUNTER, "", "Bytes sent over loopback", SUM(NETDEV, 1, TOTAL_NET_LO_SENT_BYTES)) \
        X(NET_EXT_SENT,     "total_net_io_ext_sent_mb",         "MiB", PER_MIB,  "network_sent_bytes", "bytes", COUNTER, "", "Bytes sent over physical interfaces", SUM(NETDEV, 1, TOTAL_NET_SENT_BYTES)) \
        X(NET_LO_RECV,      "total_net_io_lo_recv_mb",          "MiB", PER_MIB,  "network_loopback_received_bytes", "bytes", COUNTER, "", "Bytes received over loopback", SUM(NETDEV, 1, TOTAL_NET_LO_RECV_BYTES)) \
        X(NET_EXT_RECV,     "total_net_io_ext_recv_mb",         "MiB", PER_MIB,  "network_received_bytes", "bytes", COUNTER, "", "Bytes received over physical interfaces", SUM(NETDEV, 1, TOTAL_NET_RECV_BYTES)) \
        X(ALL_AT100,        "cpu_all_cpus_at100_pct",           "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"1\"", "", SHARE(TOTAL_ALL_AT100_NS)) \
        X(ALL_OVER80,       "cpu_all_cpus_over80_pct",          "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.8\"", "", SHARE(TOTAL_ALL_OVER80_NS)) \
        X(ALL_OVER40,       "cpu_all_cpus_over40_pct",          "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.4\"", "", SHARE(TOTAL_ALL_OVER40_NS)) \
        X(ALL_OVER20,       "cpu_all_cpus_over20_pct",          "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.2\"", "", SHARE(TOTAL_ALL_OVER20_NS)) \
        X(ANY_AT100,        "cpu_any_cpu_at100_pct",            "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"1\"", "", SHARE(TOTAL_ANY_AT100_NS)) \
        X(ANY_OVER80,       "cpu_any_cpu_over80_pct",           "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.8\"", "", SHARE(TOTAL_ANY_OVER80_NS)) \
        X(ANY_OVER40,       "cpu_any_cpu_over40_pct",           "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.4\"", "", SHARE(TOTAL_ANY_OVER40_NS)) \
        X(ANY_OVER20,       "cpu_any_cpu_over20_pct",           "%",   100,      "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.2\"", "", SHARE(TOTAL_ANY_OVER20_NS)) \
        X(DURATION,         "duration_seconds",                 "s",   1,        "duration_seconds", "seconds", GAUGE, "", "Length of the window, including suspend", OWN) \
        X(CPU_USER,         "cpu_user_seconds",                 "s",   1,        "cpu_user_seconds", "seconds", COUNTER, "", "CPU time in user mode, including nice and guests", SUM(STAT, TICKS_PER_S, TOTAL_CPU_USER, TOTAL_CPU_NICE, TOTAL_CPU_GUEST, TOTAL_CPU_GUEST_NICE)) \
        X(CPU_SYSTEM,       "cpu_system_seconds",               "s",   1,        "cpu_system_seconds", "seconds", COUNTER, "", "CPU time in the kernel, including interrupts", SUM(STAT, TICKS_PER_S, TOTAL_CPU_SYSTEM, TOTAL_CPU_IRQ, TOTAL_CPU_SOFTIRQ)) \
        X(CPU_IOWAIT,       "cpu_iowait_seconds",               "s",   1,        "cpu_iowait_seconds", "seconds", COUNTER, "", "Idle CPU time with outstanding I/O", SUM(STAT, TICKS_PER_S, TOTAL_CPU_IOWAIT)) \
        X(CPU_STEAL,        "cpu_steal_seconds",                "s",   1,        "cpu_steal_seconds", "seconds", COUNTER, "", "CPU time that the hypervisor gave to other guests", SUM(STAT, TICKS_PER_S, TOTAL_CPU_STEAL)) \
        X(DISK_READS,       "total_disk_reads",                 "1",   1,        "disk_reads", "", COUNTER, "", "Reads completed by physical disks", SUM(DISKSTATS, 1, TOTAL_DISK_READS)) \
        X(DISK_WRITES,      "total_disk_writes",                "1",   1,        "disk_writes", "", COUNTER, "", "Writes completed by physical disks", SUM(DISKSTATS, 1, TOTAL_DISK_WRITES)) \
        X(VIRT_DISK_READ,   "total_virtual_disk_io_read_mb",    "MiB", PER_MIB,  "virtual_disk_read_bytes", "bytes", COUNTER, "", "Bytes read from virtual disks (also counted on the physical disks below them)", SUM(DISKSTATS, 1, TOTAL_VIRT_DISK_READ_BYTES)) \
        X(VIRT_DISK_WRITE,  "total_virtual_disk_io_write_mb",   "MiB", PER_MIB,  "virtual_disk_written_bytes", "bytes", COUNTER, "", "Bytes written to virtual disks (also counted on the physical disks below them)", SUM(DISKSTATS, 1, TOTAL_VIRT_DISK_WRITE_BYTES)) \
        X(VIRT_NET_SENT,    "total_net_io_virtual_sent_mb",     "MiB", PER_MIB,  "network_virtual_sent_bytes", "bytes", COUNTER, "", "Bytes sent over virtual interfaces", SUM(NETDEV, 1, TOTAL_NET_VIRT_SENT_BYTES)) \
        X(VIRT_NET_RECV,    "total_net_io_virtual_recv_mb",     "MiB", PER_MIB,  "network_virtual_received_bytes", "bytes", COUNTER, "", "Bytes received over virtual interfaces", SUM(NETDEV, 1, TOTAL_NET_VIRT_RECV_BYTES)) \
        X(FABRIC_SENT,      "total_net_io_ib_sent_mb",          "MiB", PER_MIB,  "fabric_sent_bytes", "bytes", COUNTER, "", "Bytes sent over InfiniBand, RoCE, Omni-Path and Slingshot", SUM(FABRIC, 1, TOTAL_FABRIC_SENT_BYTES)) \
        X(FABRIC_RECV,      "total_net_io_ib_recv_mb",          "MiB", PER_MIB,  "fabric_received_bytes", "bytes", COUNTER, "", "Bytes received over InfiniBand, RoCE, Omni-Path and Slingshot", SUM(FABRIC, 1, TOTAL_FABRIC_RECV_BYTES)) \
        X(NETFS_READ,       "total_netfs_read_mb",              "MiB", PER_MIB,  "netfs_read_bytes", "bytes", COUNTER, "", "Bytes read from servers of network file systems", SUM(NETFS, 1, TOTAL_NETFS_READ_BYTES)) \
        X(NETFS_WRITE,      "total_netfs_written_mb",           "MiB", PER_MIB,  "netfs_written_bytes", "bytes", COUNTER, "", "Bytes written to servers of network file systems", SUM(NETFS, 1, TOTAL_NETFS_WRITE_BYTES)) \
        X(NETFS_READS,      "total_netfs_reads",                "1",   1,        "netfs_reads", "", COUNTER, "", "Reads answered by servers of network file systems", SUM(NETFS, 1, TOTAL_NETFS_READS)) \
        X(NETFS_WRITES,     "total_netfs_writes",               "1",   1,        "netfs_writes", "", COUNTER, "", "Writes answered by servers of network file systems", SUM(NETFS, 1, TOTAL_NETFS_WRITES)) \
        X(NETFS_OPERATIONS, "total_netfs_operations",           "1",   1,        "netfs_operations", "", COUNTER, "", "Operations answered by servers of network file systems", SUM(NETFS, 1, TOTAL_NETFS_READS, TOTAL_NETFS_WRITES, TOTAL_NETFS_METADATA)) \
        X(NETFS_RETRANSMITTED, "total_netfs_retransmissions",   "1",   1,        "netfs_retransmissions", "", COUNTER, "", "Requests to servers of network file systems that were sent again", SUM(NETFS, 1, TOTAL_NETFS_RETRANSMITTED)) \
        X(NETFS_READ_TIME,  "netfs_read_wait_seconds",          "s",   1,        "netfs_read_wait_seconds", "seconds", COUNTER, "", "Time that reads of network file systems took, summed up", SUM(NETFS, 1e6, TOTAL_NETFS_READ_US)) \
        X(NETFS_WRITE_TIME, "netfs_write_wait_seconds",         "s",   1,        "netfs_write_wait_seconds", "seconds", COUNTER, "", "Time that writes of network file systems took, summed up", SUM(NETFS, 1e6, TOTAL_NETFS_WRITE_US)) \
        X(GPU_HOURS,        "node_gpu_hours",                   "h",   PER_HOUR, "gpus_capacity_seconds", "seconds", GAUGE, "", "Available GPU time: length of the window times GPUs", SUM(GPU, 1e6, TOTAL_GPU_PRESENT_US)) \
        X(GPU_UNUSED_HOURS, "node_unused_gpu_hours",            "h",   PER_HOUR, "gpus_unused_seconds", "seconds", GAUGE, "", "GPU time in which no kernel ran", OWN) \
        X(GPU_ACTIVE,       "gpu_avg_sm_active_pct",            "%",   100,      "gpus_sm_active_ratio", "ratio", GAUGE, "", "Activity of the multiprocessors of all GPUs over the time in which it was measured", OWN) \
        X(GPU_ENERGY,       "total_gpu_energy_joules",          "J",   1,        "gpus_energy_joules", "joules", COUNTER, "", "Energy of the GPUs", SUM(GPU, 1e3, TOTAL_GPU_ENERGY_MJ)) \
        X(ENERGY,           "total_energy_joules",              "J",   1,        "energy_joules", "joules", COUNTER, "", "Energy of processors and memory (RAPL)", SUM(ENERGY, 1e6, TOTAL_ENERGY_UJ)) \
        X(UNOBSERVED,       "unobserved_seconds",               "s",   1,        "unobserved_seconds", "seconds", COUNTER, "", "Time without observations (perfd stopped or the machine suspended): included in totals, not in peaks and threshold times", OWN) \
        X(SAMPLE_INTERVAL,  "sample_interval_seconds",          "s",   1,        "sample_interval_seconds", "seconds", GAUGE, "", "Mean interval of the samples of the window: that of its peaks, except those of CPUs", OWN) \
        X(CPU_INTERVAL,     "cpu_interval_seconds",             "s",   1,        "cpu_interval_seconds", "seconds", GAUGE, "", "Mean interval of the readings of the CPUs: that of their peaks and threshold times", OWN)

typedef enum Metric {
#define X(id, ...) METRIC_##id,
        METRICS(X)
        KERNEL_COUNTERS(X)
#undef X
        N_METRICS,
} Metric;

#define N_PERFPY_METRICS (METRIC_NET_EXT_RECV + 1)

typedef enum MetricType {
        METRIC_TYPE_GAUGE,
        METRIC_TYPE_COUNTER,
} MetricType;

typedef struct MetricInfo {
        const char *key;         /* MLflow name */
        const char *key_unit;    /* unit of the MLflow value: %, h, MiB, s, J, 1 */
        double scale;            /* MLflow value = base value × scale */
        const char *family;      /* OpenMetrics family, without prefix and _total */
        const char *unit;        /* OpenMetrics unit; may be "" */
        MetricType type;
        const char *label;       /* name="value" pairs, or "" */
        const char *help;        /* "" if an earlier row of the family has the text */
} MetricInfo;

extern const MetricInfo metric_info[N_METRICS];

/*
 * Returns the key before perf.py's renaming for MLflow, "max_t_(cpu_pct_per_cpu_avg)"; all other metrics have only
 * one key.
 */
const char *metric_raw_key(Metric metric);
/* Returns true for the peaks and threshold times of CPUs: their interval is CPU_INTERVAL; that of other samples is
 * SAMPLE_INTERVAL. */
bool metric_is_of_cpu_readings(Metric metric);
/* Returns the metric with an MLflow key, or -1. */
int metric_find(const char *key);

/* Accuracy of a value, or the reason why it is missing. */
typedef enum Quality {
        QUALITY_UNKNOWN_SOURCE, /* absent: the kernel lacked the value at the start or the end, or its file could not
                                 * be read */
        QUALITY_TOO_SHORT,      /* absent: no observation fell into the window */
        QUALITY_LOST,           /* absent: lost by a reboot or with a checkpoint */
        QUALITY_NO_GROUP,       /* absent: the job has no cgroup of its own */
        QUALITY_NOT_ENABLED,    /* absent: the controller is not enabled in the cgroup */
        QUALITY_NO_LIMIT,       /* absent: no limit is set below the resources of the node */
        QUALITY_NO_EQUIPMENT,   /* absent: the node has no such equipment; not listed */
        QUALITY_SAMPLED,        /* from observations: events between two observations are missed */
        QUALITY_EXACT,          /* difference of kernel counters read at the start and the end */
        N_QUALITIES,
} Quality;

/* Returns "exact", "sampled", or "absent". */
const char *metric_quality_name(Quality quality);
/* Returns why the value is absent, a sentence of at most 50 characters; NULL if the value is present. */
const char *metric_quality_reason(Quality quality);

static inline bool quality_is_present(Quality quality) {
        return quality >= QUALITY_SAMPLED;
}

/* Values of one window in base units. value[i] is valid only if quality[i] is present. */
typedef struct MetricSet {
        double value[N_METRICS];
        uint8_t quality[N_METRICS]; /* Quality */
        /*
         * the first eighteen metrics as perf.py computes them, in MLflow units: unweighted means, totals since boot
         */
        double compat[N_PERFPY_METRICS];
        bool has_compat[N_PERFPY_METRICS];
} MetricSet;

/* NAN if it is absent. */
static inline double metric_value(const MetricSet *set, Metric metric) {
        return quality_is_present(set->quality[metric]) ? set->value[metric] : (double)NAN;
}
