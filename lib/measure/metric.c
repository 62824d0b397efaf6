/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/metric.h"

#include <assert.h>
#include <string.h>

const MetricInfo metric_info[N_METRICS] = {
#define X(id, metric_key, metric_key_unit, metric_scale, metric_family, metric_unit, metric_type, metric_label,        \
          metric_help, derivation)                                                                                     \
        [METRIC_##id] = {                                                                                              \
                .key = metric_key,                                                                                     \
                .key_unit = metric_key_unit,                                                                           \
                .scale = metric_scale,                                                                                 \
                .family = metric_family,                                                                               \
                .unit = metric_unit,                                                                                   \
                .type = METRIC_TYPE_##metric_type,                                                                     \
                .label = metric_label,                                                                                 \
                .help = metric_help,                                                                                   \
        },
        METRICS(X)
#undef X
#define X(id, source, decimals, metric_key, metric_key_unit, metric_family, metric_unit, metric_help) \
        [METRIC_##id] = {                                                                              \
                .key = metric_key,                                                                     \
                .key_unit = metric_key_unit,                                                           \
                .scale = 1,                                                                            \
                .family = metric_family,                                                               \
                .unit = metric_unit,                                                                   \
                .type = METRIC_TYPE_COUNTER,                                                           \
                .label = "",                                                                           \
                .help = metric_help,                                                                   \
        },
        KERNEL_COUNTERS(X)
#undef X
};

static const struct {
        const char *name;
        const char *reason;
} qualities[N_QUALITIES] = {
        [QUALITY_UNKNOWN_SOURCE] = { "absent", "Not readable at the start or the end." },
        [QUALITY_TOO_SHORT] = { "absent", "Shorter than one sample." },
        [QUALITY_LOST] = { "absent", "Unknown after a reboot or a lost checkpoint." },
        [QUALITY_NO_GROUP] = { "absent", "The job has no cgroup of its own." },
        [QUALITY_NOT_ENABLED] = { "absent", "The controller is not enabled in its cgroup." },
        [QUALITY_NO_LIMIT] = { "absent", "No limit below the node's memory." },
        [QUALITY_NO_EQUIPMENT] = { "absent", "The node has no such equipment." },
        [QUALITY_SAMPLED] = { "sampled", NULL },
        [QUALITY_EXACT] = { "exact", NULL },
};

const char *metric_raw_key(Metric metric) {
        static const char *const raw_keys[N_METRICS] = {
                [METRIC_CPU_MAX] = "max_t_(cpu_pct_per_cpu_avg)",
                [METRIC_CPU_MIN_MAX] = "max_t_(cpu_pct_per_cpu_min)",
                [METRIC_CPU_MAX_MAX] = "max_t_(cpu_pct_per_cpu_max)",
                [METRIC_MEM_MAX] = "max_t_(mem_percent)",
        };

        assert(metric < N_METRICS);
        return raw_keys[metric] ?: metric_info[metric].key;
}

bool metric_is_of_cpu_readings(Metric metric) {
        assert(metric < N_METRICS);
        return strncmp(metric_info[metric].family, "cpu_over_threshold_", 19) == 0 ||
               strcmp(metric_info[metric].family, "cpu_utilization_peak_ratio") == 0;
}

int metric_find(const char *key) {
        for (Metric metric = 0; metric < N_METRICS; metric++)
                if (strcmp(metric_info[metric].key, key) == 0)
                        return (int)metric;
        return -1;
}

const char *metric_quality_name(Quality quality) {
        assert(quality < N_QUALITIES);
        return qualities[quality].name;
}

const char *metric_quality_reason(Quality quality) {
        assert(quality < N_QUALITIES);
        return qualities[quality].reason;
}
