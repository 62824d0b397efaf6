/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CgroupSample: what the kernel said of one control group at one instant
 *
 * Raw, as Sample is for the node. A controller that is not enabled leaves its parts out of
 * `have`: they are absent with a reason, never zero. cgroup v1's files are read into the same fields.
 */

#include <stdbool.h>
#include <stdint.h>

/* One bit each in CgroupSample.have. */
typedef enum CgroupPart {
        CGROUP_CPU,          /* usage, user, system: cpu.stat (v2, without a controller too); cpuacct.usage, cpuacct.stat (v1) */
        CGROUP_THROTTLING,   /* periods, throttled: cpu.stat (cpu controller) */
        CGROUP_CPU_LIMIT,    /* quota: cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us (v1) */
        CGROUP_CPUSET,       /* CPUs it may use: cpuset.cpus.effective; cpuset.effective_cpus (v1) */
        CGROUP_MEMORY,       /* memory.current; memory.usage_in_bytes (v1) */
        CGROUP_MEMORY_PEAK,  /* memory.peak (from 5.19); memory.max_usage_in_bytes (v1) */
        CGROUP_MEMORY_LIMIT, /* memory.max; memory.limit_in_bytes (v1) */
        CGROUP_MEMORY_EVENTS, /* memory.events; memory.oom_control and memory.failcnt (v1) */
        CGROUP_IO,           /* io.stat; blkio.throttle.io_service_bytes and io_serviced (v1) */
        CGROUP_PIDS,         /* pids.current */
        CGROUP_PSI_CPU,      /* cpu.pressure (v2 only) */
        CGROUP_PSI_MEMORY,
        CGROUP_PSI_IO,
        N_CGROUP_PARTS,
} CgroupPart;

const char *cgroup_part_name(CgroupPart part); /* "cpu", "throttling", "cpu_limit", … */

#define CGROUP_NO_LIMIT UINT64_MAX

typedef struct CgroupSample {
        uint64_t boottime_ns; /* when it was read */
        uint32_t have;        /* bit per CgroupPart */

        uint64_t usage_us, user_us, system_us;
        uint64_t n_periods, n_throttled, throttled_us;
        uint64_t quota_us, period_us; /* quota CGROUP_NO_LIMIT: none */
        uint32_t n_cpus;              /* in the cpuset */
        uint64_t memory_bytes, memory_peak_bytes, memory_limit_bytes; /* limit CGROUP_NO_LIMIT: none */
        uint64_t n_memory_high, n_memory_max, n_oom, n_oom_kill;      /* events since the cgroup was made */
        uint64_t read_bytes, write_bytes, reads, writes;              /* over all devices at the bottom: stacked ones are not added again */
        uint64_t n_pids;
        uint64_t psi_cpu_some_us, psi_memory_some_us, psi_memory_full_us, psi_io_some_us, psi_io_full_us;
} CgroupSample;

static inline bool cgroup_sample_has(const CgroupSample *sample, CgroupPart part) {
        return sample->have & (1U << part);
}
