/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Usage: what a job itself used
 *
 * A window over the job's own control group, from its first sample to its last: totals are differences of
 * the kernel's counters and exact, peaks are the kernel's own where it keeps them (memory.peak) and sampled otherwise. Utilization
 * is against what the job was given: the least of the node's CPUs, its cpuset and its quota.
 *
 *   X(ID, key, unit, family, family_unit, type, help, derivation)
 *
 * Values are in base units everywhere. The derivation is for usage.c: COUNTED(part, unit, member) is the difference of a
 * counter that counts in that many base units; usage.c computes what is OWN by itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"
#include "measure/metric.h"

#define USAGES(X)                                                                                                          \
        X(CPU_GIVEN,        "job_cpus_given",                "cpus",   "cpus_given",                        "",        GAUGE,   "CPUs available to the job: the least of the node's CPUs, its cpuset and its quota", OWN) \
        X(CPU_MEAN,         "job_cpus_used",                 "cpus",   "cpus_used",                         "",        GAUGE,   "Mean number of CPUs used, over the whole job", OWN) \
        X(CPU_MAX,          "job_cpus_used_peak",            "cpus",   "cpus_used_peak",                    "",        GAUGE,   "Highest number of CPUs used between two samples", OWN) \
        X(CPU_RATIO,        "job_cpu_utilization",           "ratio",  "cpu_utilization_ratio",             "ratio",   GAUGE,   "CPU utilization: CPU time used of the CPU time available to the job", OWN) \
        X(CPU_SECONDS,      "job_cpu_seconds",               "s",      "cpu_seconds",                       "seconds", COUNTER, "CPU time used", COUNTED(CPU, 1e-6, usage_us)) \
        X(CPU_USER,         "job_cpu_user_seconds",          "s",      "cpu_user_seconds",                  "seconds", COUNTER, "CPU time used in user mode", COUNTED(CPU, 1e-6, user_us)) \
        X(CPU_SYSTEM,       "job_cpu_system_seconds",        "s",      "cpu_system_seconds",                "seconds", COUNTER, "CPU time used in the kernel", COUNTED(CPU, 1e-6, system_us)) \
        X(CPU_UNUSED,       "job_cpu_unused_seconds",        "s",      "cpu_unused_seconds",                "seconds", GAUGE,   "Unused CPU time of the CPUs available to the job", OWN) \
        X(THROTTLED,        "job_cpu_throttled_seconds",     "s",      "cpu_throttled_seconds",             "seconds", COUNTER, "Time in which threads of the job waited for its CPU quota, summed over CPUs", COUNTED(THROTTLING, 1e-6, throttled_us)) \
        X(THROTTLED_RATIO,  "job_cpu_throttled_ratio",       "ratio",  "cpu_throttled_ratio",               "ratio",   GAUGE,   "Share of quota periods in which the CPU quota was exhausted", OWN) \
        X(MEMORY_PEAK,      "job_memory_peak_bytes",         "bytes",  "memory_peak_bytes",                 "bytes",   GAUGE,   "Peak memory usage, including page cache", OWN) \
        X(MEMORY_LIMIT,     "job_memory_limit_bytes",        "bytes",  "memory_limit_bytes",                "bytes",   GAUGE,   "Memory limit of the job, absent without a limit below the node's memory", OWN) \
        X(MEMORY_RATIO,     "job_memory_peak_ratio",         "ratio",  "memory_peak_ratio",                 "ratio",   GAUGE,   "Peak memory usage as a share of the job's limit, or of the node's memory", OWN) \
        X(MEMORY_HIGH,      "job_memory_high_events",        "1",      "memory_high_events",                "",        COUNTER, "Times the job was throttled at memory.high", COUNTED(MEMORY_EVENTS, 1, n_memory_high)) \
        X(OOM_KILLS,        "job_oom_kills",                 "1",      "oom_kills",                         "",        COUNTER, "Processes of the job killed because memory ran out", COUNTED(MEMORY_EVENTS, 1, n_oom_kill)) \
        X(READ_BYTES,       "job_io_read_bytes",             "bytes",  "disk_read_bytes",                   "bytes",   COUNTER, "Bytes read from disks", COUNTED(IO, 1, read_bytes)) \
        X(WRITE_BYTES,      "job_io_written_bytes",          "bytes",  "disk_written_bytes",                "bytes",   COUNTER, "Bytes written to disks", COUNTED(IO, 1, write_bytes)) \
        X(READS,            "job_io_reads",                  "1",      "io_reads",                          "",        COUNTER, "Read requests of the job, before merging", COUNTED(IO, 1, reads)) \
        X(WRITES,           "job_io_writes",                 "1",      "io_writes",                         "",        COUNTER, "Write requests of the job, before merging", COUNTED(IO, 1, writes)) \
        X(PIDS_PEAK,        "job_pids_peak",                 "1",      "pids_peak",                         "",        GAUGE,   "Largest number of processes and threads", OWN) \
        X(PSI_CPU_SOME,     "job_psi_cpu_some_seconds",      "s",      "pressure_cpu_waiting_seconds",      "seconds", COUNTER, "Time in which at least one task of the job waited for a CPU", COUNTED(PSI_CPU, 1e-6, psi_cpu_some_us)) \
        X(PSI_MEMORY_SOME,  "job_psi_memory_some_seconds",   "s",      "pressure_memory_waiting_seconds",   "seconds", COUNTER, "Time in which at least one task of the job waited for memory", COUNTED(PSI_MEMORY, 1e-6, psi_memory_some_us)) \
        X(PSI_MEMORY_FULL,  "job_psi_memory_full_seconds",   "s",      "pressure_memory_stalled_seconds",   "seconds", COUNTER, "Time in which all tasks of the job waited for memory", COUNTED(PSI_MEMORY, 1e-6, psi_memory_full_us)) \
        X(PSI_IO_SOME,      "job_psi_io_some_seconds",       "s",      "pressure_io_waiting_seconds",       "seconds", COUNTER, "Time in which at least one task of the job waited for I/O", COUNTED(PSI_IO, 1e-6, psi_io_some_us)) \
        X(PSI_IO_FULL,      "job_psi_io_full_seconds",       "s",      "pressure_io_stalled_seconds",       "seconds", COUNTER, "Time in which all tasks of the job waited for I/O", COUNTED(PSI_IO, 1e-6, psi_io_full_us))

typedef enum UsageMetric {
#define X(id, ...) USAGE_##id,
        USAGES(X)
#undef X
        N_USAGES,
} UsageMetric;

/* label "" and scale 1 throughout. */
extern const MetricInfo usage_info[N_USAGES];
/* -1 when no usage metric has that key. */
int usage_find(const char *key);

/* value[i] means something only where quality[i] is present. */
typedef struct UsageSet {
        double value[N_USAGES];
        uint8_t quality[N_USAGES]; /* Quality */
} UsageSet;

typedef struct Usage {
        CgroupSample begin;        /* its counters follow those that went back, so that the difference to `last` stays */
        CgroupSample last;         /* what it lacks is as it was seen before */
        double cpu_max;            /* CPUs, highest between two samples at least METER_OBSERVATION_MIN_NS apart */
        bool has_cpu_max;
        uint64_t unseen_us;        /* CPU time from before the first sample: of the job, but not of the time since */
        CgroupSample cpu_base;     /* CPU and time where the interval of the next such reading began, nothing else */
        uint64_t memory_max_bytes; /* highest memory.current seen */
        uint64_t pids_max;
        bool is_fresh;             /* the group was made for the job: memory.peak and events since its making are the job's */
        uint32_t seen;             /* parts that any sample had */
} Usage;

void usage_begin(Usage *usage, const CgroupSample *sample, bool is_fresh);
/* Of one that has just begun, and its job with it: what tasks waited for before is no time of the job's, however it was made. */
void usage_drop_pressure(Usage *usage);
/* Of a fresh one that has just begun: its group was made with the job so long before, and what it counts is of all that time. */
void usage_begin_earlier(Usage *usage, uint64_t ns);
/* The next sample, in order of time; an older one is ignored. Counters that went back add nothing and are taken up anew. */
void usage_advance(Usage *usage, const CgroupSample *sample);
/*
 * The metrics from the first sample to the last. n_node_cpus, node_memory_bytes: what the node has; limits at or above
 * that are none.
 *
 * Totals are exact when both samples have the part. A part that no sample ever had is not enabled; one that is missing at begin
 * or end is of an unknown source. Memory's peak is the kernel's own where
 * it can be told to be the job's: the group was made for it, or the kernel's peak rose since. Else it is the highest of the
 * samples. What the job used before the first sample is in the totals, not in what is per time. What is per time is too
 * short in no time at all. A usage that never began, or whose last sample is of another boot, is lost.
 */
void usage_metrics(const Usage *usage, uint32_t n_node_cpus, uint64_t node_memory_bytes, UsageSet *ret);

/*
 * The job's group is another one than before, of the same job (a scheduler removed it between two steps): `sample` is its first,
 * and it was made for the job, so that all it counts is added to what the one before had counted. Nothing is known of the time
 * between the two. An older sample is ignored.
 */
void usage_continue(Usage *usage, const CgroupSample *sample);
/* The last of the group was not seen: what it used is at least so much, hence sampled. What it was given stays exact. */
void usage_cut(UsageSet *usage);
/* Of a job without a cgroup of its own: nothing is there, and says so. */
void usage_none(UsageSet *ret);
/* The same, but wait4(2) told the CPU time of its whole process tree: that is exact. What it was given are the node's CPUs. */
void usage_of_process_tree(double user_s, double system_s, double duration_s, uint32_t n_node_cpus, UsageSet *ret);

/* For checkpoints. */
extern const Record usage_record;
