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

/* One bit each in CgroupSample.have. */
typedef enum CgroupPart {
        CGROUP_CPU,          /* usage, user, system: cpu.stat (v2, present without a controller as well);
                              * cpuacct.usage, cpuacct.stat (v1) */
        CGROUP_THROTTLING,   /* periods, throttled: cpu.stat (cpu controller) */
        CGROUP_THROTTLING_LOCAL, /* cpu.stat.local (v2 with cpu controller, from 6.6) */
        CGROUP_CPU_LIMIT,    /* quota: cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us (v1) */
        CGROUP_CPUSET,       /* number of allowed CPUs: cpuset.cpus.effective; cpuset.effective_cpus (v1) */
        CGROUP_MEMORY,       /* memory.current; memory.usage_in_bytes (v1) */
        CGROUP_MEMORY_PEAK,  /* memory.peak (from 5.19); memory.max_usage_in_bytes (v1) */
        CGROUP_MEMORY_LIMIT, /* memory.max; memory.limit_in_bytes (v1) */
        CGROUP_MEMORY_EVENTS, /* memory.events; memory.oom_control and memory.failcnt (v1) */
        CGROUP_IO,           /* io.stat; blkio.throttle.io_service_bytes and io_serviced (v1) */
        CGROUP_PIDS,         /* pids.current */
        CGROUP_PSI_CPU,      /* cpu.pressure (v2 only) */
        CGROUP_PSI_MEMORY,
        CGROUP_PSI_IO,
        CGROUP_PSI_IRQ,      /* irq.pressure (v2, from 6.1 with CONFIG_IRQ_TIME_ACCOUNTING) */
        CGROUP_MEMORY_STAT,  /* anon, file, shmem: memory.stat */
        CGROUP_MEMORY_KERNEL, /* kernel: memory.stat (v2, from 5.18) */
        N_CGROUP_PARTS,
} CgroupPart;

extern const char *const cgroup_part_names[N_CGROUP_PARTS]; /* "cpu", "throttling", "cpu_limit", … */

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
