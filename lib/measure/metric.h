/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The metric table
 *
 * Everything a window reports, one line each: the MLflow key with its unit as
 * perf.py of lightgbm-benchmark named it, and the OpenMetrics family with its base
 * unit. Exposition, JSON, the store and the report are written from this table.
 *
 *   X(ID, mlflow_key, mlflow_unit, scale, family, unit, type, label, help)
 *
 * A window computes in base units (ratio 0…1, seconds, bytes); mlflow value = base × scale.
 * `label` distinguishes lines of one family and is "" for the others.
 * The first N_PERFPY_METRICS lines are perf.py's eighteen, in its order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PER_MIB (1.0 / 1048576.0)
#define PER_HOUR (1.0 / 3600.0)

#define METRICS(X) \
        X(CPU_MAX,            "max_t_cpu_pct_per_cpu_avg",        "%",   100, "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"mean\"", "Highest utilization, mean over CPUs, of one observation") \
        X(CPU_MEAN,           "cpu_avg_utilization_pct",          "%",   100, "cpu_utilization_ratio", "ratio", GAUGE, "", "CPU time used of what there was to use, over the whole window") \
        X(CPU_AT100,          "cpu_avg_utilization_at100_pct",    "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"1\"", "Share of the time in which utilization was at or over the threshold") \
        X(CPU_OVER80,         "cpu_avg_utilization_over80_pct",   "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.8\"", "") \
        X(CPU_OVER40,         "cpu_avg_utilization_over40_pct",   "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.4\"", "") \
        X(CPU_OVER20,         "cpu_avg_utilization_over20_pct",   "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"mean\",threshold=\"0.2\"", "") \
        X(CPU_MIN_MAX,        "max_t_cpu_pct_per_cpu_min",        "%",   100, "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"min\"", "") \
        X(CPU_MAX_MAX,        "max_t_cpu_pct_per_cpu_max",        "%",   100, "cpu_utilization_peak_ratio", "ratio", GAUGE, "cpus=\"max\"", "") \
        X(CPU_HOURS,          "node_cpu_hours",                   "h",   PER_HOUR, "cpu_capacity_seconds", "seconds", GAUGE, "", "CPU time the node had: window × online CPUs") \
        X(CPU_UNUSED_HOURS,   "node_unused_cpu_hours",            "h",   PER_HOUR, "cpu_unused_seconds", "seconds", GAUGE, "", "CPU time there was to use and nobody did") \
        X(MEM_MAX,            "max_t_mem_percent",                "%",   100, "memory_used_peak_ratio", "ratio", GAUGE, "", "Highest share of memory not available") \
        X(DISK_USAGE_MAX,     "max_t_disk_usage_percent",         "%",   100, "root_filesystem_used_peak_ratio", "ratio", GAUGE, "", "Highest used share of the file system at /") \
        X(DISK_READ,          "total_disk_io_read_mb",            "MiB", PER_MIB, "disk_read_bytes", "bytes", COUNTER, "", "Read from disks") \
        X(DISK_WRITE,         "total_disk_io_write_mb",           "MiB", PER_MIB, "disk_written_bytes", "bytes", COUNTER, "", "Written to disks") \
        X(NET_LO_SENT,        "total_net_io_lo_sent_mb",          "MiB", PER_MIB, "network_loopback_sent_bytes", "bytes", COUNTER, "", "Sent over loopback") \
        X(NET_EXT_SENT,       "total_net_io_ext_sent_mb",         "MiB", PER_MIB, "network_sent_bytes", "bytes", COUNTER, "", "Sent over physical interfaces") \
        X(NET_LO_RECV,        "total_net_io_lo_recv_mb",          "MiB", PER_MIB, "network_loopback_received_bytes", "bytes", COUNTER, "", "Received over loopback") \
        X(NET_EXT_RECV,       "total_net_io_ext_recv_mb",         "MiB", PER_MIB, "network_received_bytes", "bytes", COUNTER, "", "Received over physical interfaces") \
        X(ALL_AT100,          "cpu_all_cpus_at100_pct",           "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"1\"", "") \
        X(ALL_OVER80,         "cpu_all_cpus_over80_pct",          "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.8\"", "") \
        X(ALL_OVER40,         "cpu_all_cpus_over40_pct",          "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.4\"", "") \
        X(ALL_OVER20,         "cpu_all_cpus_over20_pct",          "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"all\",threshold=\"0.2\"", "") \
        X(ANY_AT100,          "cpu_any_cpu_at100_pct",            "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"1\"", "") \
        X(ANY_OVER80,         "cpu_any_cpu_over80_pct",           "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.8\"", "") \
        X(ANY_OVER40,         "cpu_any_cpu_over40_pct",           "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.4\"", "") \
        X(ANY_OVER20,         "cpu_any_cpu_over20_pct",           "%",   100, "cpu_over_threshold_ratio", "ratio", GAUGE, "cpus=\"any\",threshold=\"0.2\"", "") \
        X(DURATION,           "duration_seconds",                 "s",   1, "duration_seconds", "seconds", GAUGE, "", "Length of the window, suspend included") \
        X(CPU_USER,           "cpu_user_seconds",                 "s",   1, "cpu_user_seconds", "seconds", COUNTER, "", "CPU time in user mode, nice and guests included") \
        X(CPU_SYSTEM,         "cpu_system_seconds",               "s",   1, "cpu_system_seconds", "seconds", COUNTER, "", "CPU time in the kernel, interrupts included") \
        X(CPU_IOWAIT,         "cpu_iowait_seconds",               "s",   1, "cpu_iowait_seconds", "seconds", COUNTER, "", "Idle CPU time with I/O outstanding") \
        X(CPU_STEAL,          "cpu_steal_seconds",                "s",   1, "cpu_steal_seconds", "seconds", COUNTER, "", "CPU time the hypervisor gave to others") \
        X(DISK_READS,         "total_disk_reads",                 "1",   1, "disk_reads", "", COUNTER, "", "Reads completed by physical disks") \
        X(DISK_WRITES,        "total_disk_writes",                "1",   1, "disk_writes", "", COUNTER, "", "Writes completed by physical disks") \
        X(VIRT_DISK_READ,     "total_virtual_disk_io_read_mb",    "MiB", PER_MIB, "virtual_disk_read_bytes", "bytes", COUNTER, "", "Read from stacked and virtual disks (counted on the disks below as well)") \
        X(VIRT_DISK_WRITE,    "total_virtual_disk_io_write_mb",   "MiB", PER_MIB, "virtual_disk_written_bytes", "bytes", COUNTER, "", "Written to stacked and virtual disks (counted on the disks below as well)") \
        X(VIRT_NET_SENT,      "total_net_io_virtual_sent_mb",     "MiB", PER_MIB, "network_virtual_sent_bytes", "bytes", COUNTER, "", "Sent over virtual interfaces") \
        X(VIRT_NET_RECV,      "total_net_io_virtual_recv_mb",     "MiB", PER_MIB, "network_virtual_received_bytes", "bytes", COUNTER, "", "Received over virtual interfaces") \
        X(CONTEXT_SWITCHES,   "context_switches",                 "1",   1, "context_switches", "", COUNTER, "", "Context switches") \
        X(MAJOR_FAULTS,       "major_page_faults",                "1",   1, "major_page_faults", "", COUNTER, "", "Page faults that waited for a disk") \
        X(OOM_KILLS,          "oom_kills",                        "1",   1, "oom_kills", "", COUNTER, "", "Processes killed for lack of memory") \
        X(SWAP_IN,            "swap_in_pages",                    "1",   1, "swap_in_pages", "", COUNTER, "", "Pages read back from swap") \
        X(SWAP_OUT,           "swap_out_pages",                   "1",   1, "swap_out_pages", "", COUNTER, "", "Pages written to swap") \
        X(PSI_CPU_SOME,       "psi_cpu_some_seconds",             "s",   1, "pressure_cpu_waiting_seconds", "seconds", COUNTER, "", "Time in which some task waited for a CPU") \
        X(PSI_MEMORY_SOME,    "psi_memory_some_seconds",          "s",   1, "pressure_memory_waiting_seconds", "seconds", COUNTER, "", "Time in which some task waited for memory") \
        X(PSI_MEMORY_FULL,    "psi_memory_full_seconds",          "s",   1, "pressure_memory_stalled_seconds", "seconds", COUNTER, "", "Time in which all tasks waited for memory") \
        X(PSI_IO_SOME,        "psi_io_some_seconds",              "s",   1, "pressure_io_waiting_seconds", "seconds", COUNTER, "", "Time in which some task waited for I/O") \
        X(PSI_IO_FULL,        "psi_io_full_seconds",              "s",   1, "pressure_io_stalled_seconds", "seconds", COUNTER, "", "Time in which all tasks waited for I/O") \
        X(UNOBSERVED,         "unobserved_seconds",               "s",   1, "unobserved_seconds", "seconds", COUNTER, "", "Time without observations (perfd was down, the machine asleep): totals include it, peaks and threshold times do not")

typedef enum Metric {
#define X(id, ...) METRIC_##id,
        METRICS(X)
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
        const char *key_unit;    /* of the MLflow value: %, h, MiB, s, 1 */
        double scale;            /* MLflow value = base value × scale */
        const char *family;      /* OpenMetrics, without prefix and _total */
        const char *unit;        /* OpenMetrics, "" for none */
        MetricType type;
        const char *label;       /* name="value" pairs, or "" */
        const char *help;        /* "" where an earlier line of the family has it */
} MetricInfo;

extern const MetricInfo metric_info[N_METRICS];

/* The name perf.py used before it sanitised it: "max_t_(cpu_pct_per_cpu_avg)"; the key itself for all others. */
const char *metric_raw_key(Metric metric);
/* -1 when no metric has that MLflow key. */
int metric_find(const char *key);

/* How much a number can be trusted, or why there is none. */
typedef enum Quality {
        QUALITY_UNKNOWN_SOURCE, /* absent: the kernel did not tell it at begin or end, or its file could not be read */
        QUALITY_TOO_SHORT,      /* absent: no observation fell into the window */
        QUALITY_LOST,           /* absent: not known across a reboot or a lost checkpoint */
        QUALITY_NO_GROUP,       /* absent: the job has no cgroup of its own */
        QUALITY_NOT_ENABLED,    /* absent: the cgroup lacks the controller that would tell it */
        QUALITY_NO_LIMIT,       /* absent: nothing below what the node has is set */
        QUALITY_SAMPLED,        /* from observations: short events between two of them are not seen */
        QUALITY_EXACT,          /* difference of kernel counters read at begin and end */
        N_QUALITIES,
} Quality;

/* "exact", "sampled", or "absent". */
const char *quality_name(Quality quality);
/* A sentence why the value is absent, of at most 50 characters; NULL when it is there. */
const char *quality_reason(Quality quality);

static inline bool quality_is_present(Quality quality) {
        return quality >= QUALITY_SAMPLED;
}

/* The values of one window, base units. value[i] means something only where quality[i] is present. */
typedef struct MetricSet {
        double value[N_METRICS];
        uint8_t quality[N_METRICS]; /* Quality */
        /* perf.py's own reading of its eighteen (MLflow units): unweighted means, totals since boot. */
        double compat[N_PERFPY_METRICS];
        bool has_compat[N_PERFPY_METRICS];
} MetricSet;
