/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/cgroup_sample.h"

const char *const cgroup_part_names[N_CGROUP_PARTS] = {
        [CGROUP_CPU] = "cpu",
        [CGROUP_THROTTLING] = "throttling",
        [CGROUP_THROTTLING_LOCAL] = "throttling_local",
        [CGROUP_CPU_LIMIT] = "cpu_limit",
        [CGROUP_CPUSET] = "cpuset",
        [CGROUP_MEMORY] = "memory",
        [CGROUP_MEMORY_STAT] = "memory_stat",
        [CGROUP_MEMORY_KERNEL] = "memory_kernel",
        [CGROUP_MEMORY_PEAK] = "memory_peak",
        [CGROUP_MEMORY_LIMIT] = "memory_limit",
        [CGROUP_MEMORY_EVENTS] = "memory_events",
        [CGROUP_IO] = "io",
        [CGROUP_PIDS] = "pids",
        [CGROUP_PSI_CPU] = "psi_cpu",
        [CGROUP_PSI_MEMORY] = "psi_memory",
        [CGROUP_PSI_IO] = "psi_io",
        [CGROUP_PSI_IRQ] = "psi_irq",
};

static const RecordField fields[] = {
        RECORD_VALUE(CgroupSample, boottime_ns),
        RECORD_BITS_OF(CgroupSample, have, N_CGROUP_PARTS, cgroup_part_names),
        RECORD_VALUE(CgroupSample, n_cpus),
#define X(member, ...) RECORD_VALUE(CgroupSample, member),
        CGROUP_VALUES(X)
#undef X
};

const Record cgroup_sample_record = RECORD(CgroupSample, fields);
