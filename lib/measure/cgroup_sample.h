/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CgroupSample: counters and gauges of one control group at one time
 *
 * Raw kernel values, as in Sample for the node. The parts of a controller that is not enabled are missing from
 * `have`, never zero. The files of cgroup v1 are read into the same fields.
 */

#include <stdbool.h>
#include <stdint.h>

#include "json/record.h"

/* X(id, name): the name in stored texts. One bit each in CgroupSample.have. */
#define CGROUP_PARTS(X)                                                                                           \
        /* usage, user, system: cpu.stat (v2, also without a controller); cpuacct.usage, cpuacct.stat (v1) */     \
        X(CPU, "cpu")                                                                                             \
        X(THROTTLING, "throttling")             /* periods, throttled: cpu.stat (cpu controller) */               \
        X(THROTTLING_LOCAL, "throttling_local") /* cpu.stat.local (v2 with cpu controller, from 6.6) */           \
        X(CPU_LIMIT, "cpu_limit")               /* quota: cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us (v1) */ \
        X(CPUSET, "cpuset")                     /* cpuset.cpus.effective; cpuset.effective_cpus (v1) */           \
        X(MEMORY, "memory")                     /* memory.current; memory.usage_in_bytes (v1) */                  \
        X(MEMORY_PEAK, "memory_peak")           /* memory.peak (from 5.19); memory.max_usage_in_bytes (v1) */     \
        X(MEMORY_LIMIT, "memory_limit")         /* memory.max; memory.limit_in_bytes (v1) */                      \
        X(MEMORY_EVENTS, "memory_events")       /* memory.events; memory.oom_control and memory.failcnt (v1) */   \
        X(IO, "io")                             /* io.stat; blkio.throttle.io_service_bytes, io_serviced (v1) */  \
        X(PIDS, "pids")                         /* pids.current */                                                \
        X(PSI_CPU, "psi_cpu")                   /* cpu.pressure (v2 only) */                                      \
        X(PSI_MEMORY, "psi_memory")                                                                               \
        X(PSI_IO, "psi_io")                                                                                       \
        X(PSI_IRQ, "psi_irq")                   /* irq.pressure (v2, from 6.1 with CONFIG_IRQ_TIME_ACCOUNTING) */ \
        X(MEMORY_STAT, "memory_stat")           /* anon, file, shmem: memory.stat */                              \
        X(MEMORY_KERNEL, "memory_kernel")       /* kernel: memory.stat (v2, from 5.18) */

typedef enum CgroupPart {
#define X(id, name) CGROUP_##id,
        CGROUP_PARTS(X)
#undef X
        N_CGROUP_PARTS,
} CgroupPart;

extern const char *const cgroup_part_names[N_CGROUP_PARTS];

#define CGROUP_NO_LIMIT UINT64_MAX

/*
 * The values of a sample. X(member, part, kind): a COUNTER is used as the difference between two samples, a GAUGE as
 * the value at one sample.
 */
#define CGROUP_VALUES(X)                                                                                     \
        X(usage_us,           CPU,           COUNTER)                                                        \
        X(user_us,            CPU,           COUNTER)                                                        \
        X(system_us,          CPU,           COUNTER)                                                        \
        X(n_periods,          THROTTLING,    COUNTER)                                                        \
        X(n_throttled,        THROTTLING,    COUNTER)                                                        \
        X(throttled_us,       THROTTLING,    COUNTER)                                                        \
        X(throttled_local_us, THROTTLING_LOCAL, COUNTER)                                                     \
        X(quota_us,           CPU_LIMIT,     GAUGE) /* CGROUP_NO_LIMIT if unlimited */                       \
        X(period_us,          CPU_LIMIT,     GAUGE)                                                          \
        X(memory_bytes,       MEMORY,        GAUGE)                                                          \
        X(memory_peak_bytes,  MEMORY_PEAK,   GAUGE)                                                          \
        X(memory_limit_bytes, MEMORY_LIMIT,  GAUGE) /* CGROUP_NO_LIMIT if unlimited */                       \
        X(n_memory_high,      MEMORY_EVENTS, COUNTER) /* events since the cgroup was created */              \
        X(n_memory_max,       MEMORY_EVENTS, COUNTER)                                                        \
        X(n_oom,              MEMORY_EVENTS, COUNTER)                                                        \
        X(n_oom_kill,         MEMORY_EVENTS, COUNTER)                                                        \
        X(read_bytes,         IO,            COUNTER) /* without stacked devices: no I/O is counted twice */ \
        X(write_bytes,        IO,            COUNTER)                                                        \
        X(reads,              IO,            COUNTER)                                                        \
        X(writes,             IO,            COUNTER)                                                        \
        X(n_pids,             PIDS,          GAUGE)                                                          \
        X(psi_cpu_some_us,    PSI_CPU,       COUNTER)                                                        \
        X(psi_memory_some_us, PSI_MEMORY,    COUNTER)                                                        \
        X(psi_memory_full_us, PSI_MEMORY,    COUNTER)                                                        \
        X(psi_io_some_us,     PSI_IO,        COUNTER)                                                        \
        X(psi_io_full_us,     PSI_IO,        COUNTER)                                                        \
        X(psi_irq_full_us,    PSI_IRQ,       COUNTER)                                                        \
        X(anon_bytes,         MEMORY_STAT,   GAUGE)                                                          \
        X(file_bytes,         MEMORY_STAT,   GAUGE) /* page cache, with shmem */                             \
        X(shmem_bytes,        MEMORY_STAT,   GAUGE)                                                          \
        X(memory_stat_ns,     MEMORY_STAT,   GAUGE) /* time of reading of these, which may be older */       \
        X(kernel_bytes,       MEMORY_KERNEL, GAUGE)

typedef struct CgroupSample {
        uint64_t boottime_ns; /* time of reading */
        uint32_t have;        /* bit per CgroupPart */
        uint32_t n_cpus;      /* number of CPUs in the cpuset */
#define X(member, ...) uint64_t member;
        CGROUP_VALUES(X)
#undef X
} CgroupSample;

extern const Record cgroup_sample_record;

static inline bool cgroup_sample_has(const CgroupSample *sample, CgroupPart part) {
        return sample->have & (1U << part);
}
