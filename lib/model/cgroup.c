#include "model/cgroup.h"

static const struct {
        const char *name, *reason;
} parts[N_CGROUP_PARTS] = {
        [CGROUP_CPU] = { "cpu", "The kernel keeps no CPU time for this cgroup (no cgroup v2, and no cpuacct controller)." },
        [CGROUP_THROTTLING] = { "throttling", "The cpu controller is not enabled for this cgroup." },
        [CGROUP_CPU_LIMIT] = { "cpu_limit", "The cpu controller is not enabled for this cgroup." },
        [CGROUP_CPUSET] = { "cpuset", "The cpuset controller is not enabled for this cgroup." },
        [CGROUP_MEMORY] = { "memory", "The memory controller is not enabled for this cgroup." },
        [CGROUP_MEMORY_PEAK] = { "memory_peak",
                                 "The memory controller is not enabled for this cgroup, or the kernel is older than 5.19." },
        [CGROUP_MEMORY_LIMIT] = { "memory_limit", "The memory controller is not enabled for this cgroup." },
        [CGROUP_MEMORY_EVENTS] = { "memory_events", "The memory controller is not enabled for this cgroup." },
        [CGROUP_IO] = { "io", "The io controller (blkio in v1) is not enabled for this cgroup." },
        [CGROUP_PIDS] = { "pids", "The pids controller is not enabled for this cgroup." },
        [CGROUP_PSI_CPU] = { "psi_cpu", "Pressure by cgroup needs cgroup v2, and is off in this kernel (psi=1) or this cgroup." },
        [CGROUP_PSI_MEMORY] = { "psi_memory",
                                "Pressure by cgroup needs cgroup v2, and is off in this kernel (psi=1) or this cgroup." },
        [CGROUP_PSI_IO] = { "psi_io", "Pressure by cgroup needs cgroup v2, and is off in this kernel (psi=1) or this cgroup." },
};

const char *cgroup_part_name(CgroupPart part) {
        return parts[part].name;
}

const char *cgroup_part_reason(CgroupPart part) {
        return parts[part].reason;
}
