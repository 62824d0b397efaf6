/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An initial sample, and checks of the resulting metrics. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "measure/usage.h"
#include "util/scoped.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define MIB UINT64_C(1048576)
#define GIB (UINT64_C(1) << 30)
#define ALL ((1U << N_CGROUP_PARTS) - 1)
#define NODE_CPUS 8
#define NODE_MEMORY (64 * GIB)

/* Returns a sample of a group with all parts and no limits, an hour after boot, with earlier use. */
static inline CgroupSample sample_of_all(void) {
        return (CgroupSample){
                .boottime_ns = 3600 * SECOND,
                .have = ALL,
                .usage_us = 7000000, .user_us = 6000000, .system_us = 1000000,
                .n_periods = 50, .n_throttled = 20, .throttled_us = 900000,
                .quota_us = CGROUP_NO_LIMIT, .period_us = 100000,
                .n_cpus = NODE_CPUS,
                .memory_bytes = 100 * MIB, .memory_peak_bytes = 500 * MIB, .memory_limit_bytes = CGROUP_NO_LIMIT,
                .n_memory_high = 3, .n_memory_max = 4, .n_oom = 5, .n_oom_kill = 6,
                .read_bytes = 10 * MIB, .write_bytes = 20 * MIB, .reads = 100, .writes = 200,
                .n_pids = 3,
                .psi_cpu_some_us = 1000, .psi_memory_some_us = 2000, .psi_memory_full_us = 3000,
                .psi_io_some_us = 4000, .psi_io_full_us = 5000,
        };
}

static inline void without(CgroupSample *sample, CgroupPart part) {
        sample->have &= ~(1U << part);
}

static inline UsageSet metrics_of(const Usage *usage) {
        UsageSet set;

        usage_metrics(usage, NODE_CPUS, NODE_MEMORY, &set);
        return set;
}

static inline void assert_usage(const UsageSet *set, UsageMetric metric, double value, Quality quality) {
        assert_int_equal(set->quality[metric], quality);
        assert_true(fabs(set->value[metric] - value) < 1e-9 * (1 + fabs(value)));
}

static inline void assert_absent(const UsageSet *set, UsageMetric metric, Quality why) {
        assert_int_equal(set->quality[metric], why);
        assert_false(quality_is_present(why));
}
