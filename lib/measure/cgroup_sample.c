/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/cgroup_sample.h"

#define X(id, name) name,
const char *const cgroup_part_names[N_CGROUP_PARTS] = { CGROUP_PARTS(X) };
#undef X

#define X(member, ...) RECORD_VALUE(CgroupSample, member),
const Record cgroup_sample_record = RECORD(CgroupSample,
        RECORD_VALUE(CgroupSample, boottime_ns),
        RECORD_BITS_OF(CgroupSample, have, N_CGROUP_PARTS, cgroup_part_names),
        RECORD_VALUE(CgroupSample, n_cpus),
        CGROUP_VALUES(X));
#undef X
