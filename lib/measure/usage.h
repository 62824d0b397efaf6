/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Usage: resources used by a job itself
 *
 * A window over the job's own control group, from its first sample to its last: totals are differences of the
 * kernel's counters and exact; peaks are the kernel's if available (memory.peak) and sampled otherwise. Utilization
 * is relative to the CPUs the job may use: the minimum of the node's CPUs, the job's cpuset and the job's quota.
 *
 *   X(ID, key, unit, family, family_unit, type, help, derivation)
 *
 * Values are in base units. The derivation is used by usage.c: COUNTED(part, n, member) is the difference of a
 * counter of which `n` are one base unit. Metrics marked OWN have a function in usage.c, those marked GPUS are set by
 * job_gpus_put_usage().
 */

#include <stdbool.h>
#include <stdint.h>

#include "measure/cgroup_sample.h"
#include "measure/metric.h"

#define USAGES(X)                                                                                                      \
        X(CPU_GIVEN, "job_cpus_given", "cpus", "cpus_given", "", GAUGE,                                                \
          "CPUs available to the job: the least of the node's CPUs, its cpuset and its quota", OWN)                    \
        X(CPU_MEAN, "job_cpus_used", "cpus", "cpus_used", "", GAUGE, "Mean number of CPUs used, over the whole job",   \
          OWN)                                                                                                         \
        X(CPU_MAX, "job_cpus_used_peak", "cpus", "cpus_used_peak", "", GAUGE,                                          \
          "Highest number of CPUs used between two samples", OWN)                                                      \
        X(CPU_RATIO, "job_cpu_utilization", "ratio", "cpu_utilization_ratio", "ratio", GAUGE,                          \
          "CPU utilization: CPU time used of the CPU time available to the job", OWN)                                  \
        X(CPU_SECONDS, "job_cpu_seconds", "s", "cpu_seconds", "seconds", COUNTER, "CPU time used",                     \
          COUNTED(CPU, 1e6, usage_us))                                                                                 \
        X(CPU_USER, "job_cpu_user_seconds", "s", "cpu_user_seconds", "seconds", COUNTER, "CPU time used in user mode", \
          COUNTED(CPU, 1e6, user_us))                                                                                  \
        X(CPU_SYSTEM, "job_cpu_system_seconds", "s", "cpu_system_seconds", "seconds", COUNTER,                         \
          "CPU time used in the kernel", COUNTED(CPU, 1e6, system_us))                                                 \
        X(CPU_UNUSED, "job_cpu_unused_seconds", "s", "cpu_unused_seconds", "seconds", GAUGE,                           \
          "Unused CPU time of the CPUs available to the job", OWN)                                                     \
        X(THROTTLED, "job_cpu_throttled_seconds", "s", "cpu_throttled_seconds", "seconds", COUNTER,                    \
          "Time in which threads of the job waited for its CPU quota, summed over CPUs",                               \
          COUNTED(THROTTLING, 1e6, throttled_us))                                                                      \
        X(THROTTLED_LOCAL, "job_cpu_throttled_local_seconds", "s", "cpu_throttled_local_seconds", "seconds", COUNTER,  \
          "Time in which runnable threads of the job waited for a CPU quota, of its cgroup or of one above, summed "   \
          "over CPUs",                                                                                                 \
          COUNTED(THROTTLING_LOCAL, 1e6, throttled_local_us))                                                          \
        X(THROTTLED_RATIO, "job_cpu_throttled_ratio", "ratio", "cpu_throttled_ratio", "ratio", GAUGE,                  \
          "Share of quota periods in which the CPU quota was exhausted", OWN)                                          \
        X(MEMORY_PEAK, "job_memory_peak_bytes", "bytes", "memory_peak_bytes", "bytes", GAUGE,                          \
          "Peak memory usage, including page cache", OWN)                                                              \
        X(MEMORY_LIMIT, "job_memory_limit_bytes", "bytes", "memory_limit_bytes", "bytes", GAUGE,                       \
          "Memory limit of the job, absent without a limit below the node's memory", OWN)                              \
        X(MEMORY_RATIO, "job_memory_peak_ratio", "ratio", "memory_peak_ratio", "ratio", GAUGE,                         \
          "Peak memory usage as a share of the job's limit, or of the node's memory", OWN)                             \
        X(MEMORY_UNRECLAIMABLE, "job_memory_unreclaimable_peak_bytes", "bytes", "memory_unreclaimable_peak_bytes",     \
          "bytes", GAUGE, "Peak of the memory that cannot be reclaimed: anonymous, shared and the kernel's", OWN)      \
        X(MEMORY_UNRECLAIMABLE_RATIO, "job_memory_unreclaimable_peak_ratio", "ratio",                                  \
          "memory_unreclaimable_peak_ratio", "ratio", GAUGE,                                                           \
          "Peak of the memory that cannot be reclaimed as a share of the job's limit, or of the node's memory", OWN)   \
        X(MEMORY_ANON_PEAK, "job_memory_anon_peak_bytes", "bytes", "memory_anon_peak_bytes", "bytes", GAUGE,           \
          "Highest anonymous memory", OWN)                                                                             \
        X(MEMORY_ANON_MEAN, "job_memory_anon_mean_bytes", "bytes", "memory_anon_mean_bytes", "bytes", GAUGE,           \
          "Mean anonymous memory", OWN)                                                                                \
        X(MEMORY_FILE_PEAK, "job_memory_file_peak_bytes", "bytes", "memory_file_peak_bytes", "bytes", GAUGE,           \
          "Highest page cache, with shared memory", OWN)                                                               \
        X(MEMORY_FILE_MEAN, "job_memory_file_mean_bytes", "bytes", "memory_file_mean_bytes", "bytes", GAUGE,           \
          "Mean page cache, with shared memory", OWN)                                                                  \
        X(MEMORY_KERNEL_PEAK, "job_memory_kernel_peak_bytes", "bytes", "memory_kernel_peak_bytes", "bytes", GAUGE,     \
          "Highest memory of the kernel", OWN)                                                                         \
        X(MEMORY_KERNEL_MEAN, "job_memory_kernel_mean_bytes", "bytes", "memory_kernel_mean_bytes", "bytes", GAUGE,     \
          "Mean memory of the kernel", OWN)                                                                            \
        X(MEMORY_SHMEM_PEAK, "job_memory_shmem_peak_bytes", "bytes", "memory_shmem_peak_bytes", "bytes", GAUGE,        \
          "Highest shared memory and tmpfs", OWN)                                                                      \
        X(MEMORY_SHMEM_MEAN, "job_memory_shmem_mean_bytes", "bytes", "memory_shmem_mean_bytes", "bytes", GAUGE,        \
          "Mean shared memory and tmpfs", OWN)                                                                         \
        X(MEMORY_HIGH, "job_memory_high_events", "1", "memory_high_events", "", COUNTER,                               \
          "Times the job was throttled at memory.high", COUNTED(MEMORY_EVENTS, 1, n_memory_high))                      \
        X(OOM_KILLS, "job_oom_kills", "1", "oom_kills", "", COUNTER,                                                   \
          "Processes of the job killed because memory ran out", COUNTED(MEMORY_EVENTS, 1, n_oom_kill))                 \
        X(READ_BYTES, "job_io_read_bytes", "bytes", "disk_read_bytes", "bytes", COUNTER, "Bytes read from disks",      \
          COUNTED(IO, 1, read_bytes))                                                                                  \
        X(WRITE_BYTES, "job_io_written_bytes", "bytes", "disk_written_bytes", "bytes", COUNTER,                        \
          "Bytes written to disks", COUNTED(IO, 1, write_bytes))                                                       \
        X(READS, "job_io_reads", "1", "io_reads", "", COUNTER, "Read requests of the job, before merging",             \
          COUNTED(IO, 1, reads))                                                                                       \
        X(WRITES, "job_io_writes", "1", "io_writes", "", COUNTER, "Write requests of the job, before merging",         \
          COUNTED(IO, 1, writes))                                                                                      \
        X(PIDS_PEAK, "job_pids_peak", "1", "pids_peak", "", GAUGE, "Largest number of processes and threads", OWN)     \
        X(PSI_CPU_SOME, "job_psi_cpu_some_seconds", "s", "pressure_cpu_waiting_seconds", "seconds", COUNTER,           \
          "Time in which at least one task of the job waited for a CPU", COUNTED(PSI_CPU, 1e6, psi_cpu_some_us))       \
        X(PSI_MEMORY_SOME, "job_psi_memory_some_seconds", "s", "pressure_memory_waiting_seconds", "seconds", COUNTER,  \
          "Time in which at least one task of the job waited for memory",                                              \
          COUNTED(PSI_MEMORY, 1e6, psi_memory_some_us))                                                                \
        X(PSI_MEMORY_FULL, "job_psi_memory_full_seconds", "s", "pressure_memory_stalled_seconds", "seconds", COUNTER,  \
          "Time in which all tasks of the job waited for memory", COUNTED(PSI_MEMORY, 1e6, psi_memory_full_us))        \
        X(PSI_IO_SOME, "job_psi_io_some_seconds", "s", "pressure_io_waiting_seconds", "seconds", COUNTER,              \
          "Time in which at least one task of the job waited for I/O", COUNTED(PSI_IO, 1e6, psi_io_some_us))           \
        X(PSI_IO_FULL, "job_psi_io_full_seconds", "s", "pressure_io_stalled_seconds", "seconds", COUNTER,              \
          "Time in which all tasks of the job waited for I/O", COUNTED(PSI_IO, 1e6, psi_io_full_us))                   \
        X(PSI_IRQ_FULL, "job_psi_irq_full_seconds", "s", "pressure_irq_stalled_seconds", "seconds", COUNTER,           \
          "Time in which interrupts delayed all tasks of the job", COUNTED(PSI_IRQ, 1e6, psi_irq_full_us))            \
        X(ENERGY, "job_energy_joules", "J", "energy_joules", "joules", COUNTER,                                        \
          "Energy of processors and memory: a share of the node's by CPU time", OWN)                                   \
        X(GPU_TIME, "job_gpu_seconds", "s", "gpus_capacity_seconds", "seconds", GAUGE,                                 \
          "Time of the GPUs that the job has", GPUS)                                                                   \
        X(GPU_USED, "job_gpu_used_seconds", "s", "gpus_used_seconds", "seconds", GAUGE,                                \
          "Time of the job's GPUs in which a kernel ran", GPUS)                                                        \
        X(GPU_UNUSED, "job_gpu_unused_seconds", "s", "gpus_unused_seconds", "seconds", GAUGE,                          \
          "Time of the job's GPUs in which no kernel ran", GPUS)                                                       \
        X(GPU_ACTIVE, "job_gpu_sm_active", "ratio", "gpus_sm_active_ratio", "ratio", GAUGE,                            \
          "Activity of the multiprocessors of the job's GPUs over the time in which it was measured", GPUS)            \
        X(GPU_ENERGY, "job_gpu_energy_joules", "J", "gpus_energy_joules", "joules", COUNTER,                           \
          "Energy of the job's GPUs", GPUS)

typedef enum UsageMetric {
#define X(id, ...) USAGE_##id,
        USAGES(X)
#undef X
        N_USAGES,
} UsageMetric;

/* All rows have label "" and scale 1. */
extern const MetricInfo usage_info[N_USAGES];
/* Returns the metric with that key, or -1. */
int usage_find(const char *key);

/* value[i] is valid only if quality[i] is present. */
typedef struct UsageSet {
        double value[N_USAGES];
        uint8_t quality[N_USAGES]; /* Quality */
} UsageSet;

/* NAN if it is absent. */
static inline double usage_value(const UsageSet *set, UsageMetric metric) {
        return quality_is_present(set->quality[metric]) ? set->value[metric] : (double)NAN;
}

/* Parts of a job's memory, in the order of their metrics. */
typedef enum UsageMemory {
        USAGE_MEMORY_ANON,
        USAGE_MEMORY_FILE,
        USAGE_MEMORY_KERNEL,
        USAGE_MEMORY_SHMEM,
        USAGE_MEMORY_ALL, /* that cannot be reclaimed: without files */
        N_USAGE_MEMORIES,
} UsageMemory;

/* Start of the interval for cpu_max. */
typedef struct UsageCpuBase {
        uint64_t boottime_ns, usage_us;
        uint32_t have; /* CGROUP_CPU or nothing */
} UsageCpuBase;

/* Share of the node's energy. */
typedef struct UsageEnergy {
        bool is_metered;         /* the node has meters */
        bool is_absent;          /* they could not be read at the begin */
        uint64_t begin_uj, last_uj; /* sum of the job's shares */
        uint64_t cpu_us;         /* CPU time since the begin for which there are shares */
} UsageEnergy;

typedef struct Usage {
        CgroupSample begin;        /* counters that decreased are adjusted here, so that the difference to `last`
                                    * stays the same */
        CgroupSample last;         /* missing parts keep their previous values */
        double cpu_max;            /* in CPUs: highest mean between two samples at least METER_OBSERVATION_MIN_NS
                                    * apart */
        bool has_cpu_max;
        uint64_t unseen_us;        /* CPU time used by the job before the first sample; not part of rates since then */
        UsageCpuBase cpu_base;
        uint64_t memory_max_bytes; /* highest memory.current seen */
        uint64_t parts_max_bytes[N_USAGE_MEMORIES]; /* highest of each part seen */
        uint64_t parts_kib_ms[USAGE_MEMORY_ALL];     /* each part, summed up over parts_ms */
        uint64_t parts_ms;
        uint64_t pids_max;
        bool is_fresh;             /* the group was created for the job: its memory.peak and events belong to the job */
        uint32_t seen;             /* parts present in any sample so far */
        UsageEnergy energy;
} Usage;

/* CPU time in the job's group that is not the job's: that of the client that runs the job. */
typedef struct ClientCpu {
        uint64_t user_us, system_us;
} ClientCpu;

void usage_begin(Usage *usage, const CgroupSample *sample, bool is_fresh);
/* Excludes CPU time from the totals, at most the CPU time counted so far, and first that before the first sample. */
void usage_exclude(Usage *usage, const ClientCpu *cpu);
/*
 * Excludes pressure accumulated before the job began. Call directly after usage_begin() for a job that has just
 * begun.
 */
void usage_drop_pressure(Usage *usage);
/*
 * Moves the start back by `ns`, to the time when the fresh group was created with its job. Call directly after
 * usage_begin().
 */
void usage_begin_earlier(Usage *usage, uint64_t ns);
/*
 * Adds the next sample. An older sample is ignored. A counter that decreased adds nothing and is counted from its new
 * value.
 */
void usage_advance(Usage *usage, const CgroupSample *sample);
/* Returns the CPU time for which the job has no share of the energy yet. */
uint64_t usage_unshared_cpu_us(const Usage *usage);
/* Notes that the node has meters of energy, and whether they could be read. Only the first call counts. */
void usage_begin_energy(Usage *usage, bool is_read);
/* Adds a share for this CPU time. */
void usage_add_energy(Usage *usage, uint64_t uj);
/* Sets the energy of a phase to that of its job since the phase began. */
void usage_follow_energy(Usage *phase, const Usage *job);

/*
 * Computes the metrics from the first sample to the last. n_node_cpus, node_memory_bytes: size of the node; limits
 * at or above these sizes do not count as limits.
 *
 * Totals are exact when both samples have the part. A part that was in no sample is reported as not enabled; a part
 * missing at the start or the end has an unknown source. The memory peak is the kernel's if that peak belongs to the
 * job: the group was made for the job, or the kernel's peak rose since the start. Otherwise the memory peak is the
 * highest sample. Totals include the job's use before the first sample; metrics per time do not, and are reported as
 * too short when no time elapsed. A usage that never began, or whose last sample is of another boot, is reported as
 * lost.
 */
void usage_metrics(const Usage *usage, uint32_t n_node_cpus, uint64_t node_memory_bytes, UsageSet *ret);

/*
 * Continues with a new cgroup of the same job, for example when a scheduler replaced the cgroup between two steps.
 * `sample` is the first of the new cgroup. All its counts are added, since the cgroup was created for the job. The
 * time between the two cgroups is not covered. An older sample is ignored.
 */
void usage_continue(Usage *usage, const CgroupSample *sample);
/*
 * Marks used amounts as sampled, a lower bound, because the final counters were not read. Allocated amounts stay
 * exact.
 */
void usage_cut(UsageSet *usage);
/* Writes that all metrics are absent for this reason; those of equipment, because there is none. */
void usage_absent(UsageSet *ret, Quality reason);
/* Writes the metrics of a job without its own cgroup: all are absent, with the reason. */
void usage_none(UsageSet *ret);
/*
 * As usage_none(), with the CPU time of the process tree from wait4(2): exact, or sampled if the tree is partial.
 * The allowed CPUs are those of the node.
 */
typedef struct ProcessTree {
        double user_s, system_s;
        bool is_partial; /* processes are missing, or counted in clock ticks */
} ProcessTree;
void usage_of_process_tree(const ProcessTree *tree, double duration_s, uint32_t n_node_cpus, UsageSet *ret);

/* Replaces CPU time that is a lower bound (usage_cut) by that of a process of the job, if this is more: also a lower
 * bound. */
void usage_raise_cpu(UsageSet *usage, const ProcessTree *tree);
/* Subtracts the CPU time of the client from a job's own that was read to the end of its cgroup. */
void usage_exclude_client(UsageSet *usage, const ClientCpu *client);
/* Computes the metrics per time again, for a job of this duration. */
void usage_set_duration(UsageSet *usage, double duration_s);
/* Marks the metrics per time as sampled, because the duration is not known. */
void usage_doubt_duration(UsageSet *usage);

/* Record for checkpoints. */
extern const Record usage_record;
