/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/cgroup_sample.h"

static const char *const names[N_CGROUP_PARTS] = {
        [CGROUP_CPU] = "cpu",
        [CGROUP_THROTTLING] = "throttling",
        [CGROUP_CPU_LIMIT] = "cpu_limit",
        [CGROUP_CPUSET] = "cpuset",
        [CGROUP_MEMORY] = "memory",
        [CGROUP_MEMORY_PEAK] = "memory_peak",
        [CGROUP_MEMORY_LIMIT] = "memory_limit",
        [CGROUP_MEMORY_EVENTS] = "memory_events",
        [CGROUP_IO] = "io",
        [CGROUP_PIDS] = "pids",
        [CGROUP_PSI_CPU] = "psi_cpu",
        [CGROUP_PSI_MEMORY] = "psi_memory",
        [CGROUP_PSI_IO] = "psi_io",
};

const char *cgroup_part_name(CgroupPart part) {
        return names[part];
}
