/* SPDX-License-Identifier: Apache-2.0 */
#include "job/late_end.h"

bool late_end_is_unknown(const MetricSet *metrics) {
        return metrics->quality[METRIC_DURATION] == QUALITY_SAMPLED;
}

static uint64_t limit(uint64_t value, uint64_t min, uint64_t max) {
        return value < min ? min : value > max && max > min ? max : value;
}

/* The process is waited for with its whole tree (subreaper), or with the children that it has waited for: a lower bound. */
static void settle_usage(UsageSet *usage, const JobEnd *end, double duration_s, uint32_t n_node_cpus) {
        const ProcessTree tree = { end->rusage.ru_utime, end->rusage.ru_stime, end->is_rusage_partial };

        usage_exclude_client(usage, &end->client_cpu);
        if (end->has_rusage && usage->quality[USAGE_CPU_SECONDS] == QUALITY_NO_GROUP)
                usage_of_process_tree(&tree, duration_s, n_node_cpus, usage);
        else if (end->has_rusage)
                usage_raise_cpu(usage, &tree);
        usage_set_duration(usage, duration_s);
}

void late_end_settle(LateEnd *late, const JobEnd *end, uint64_t now_ms) {
        double duration_s;

        if (!late_end_is_unknown(late->metrics) || end->realtime_ms == 0)
                return;

        late->end_realtime_ms = limit(end->realtime_ms, late->end_realtime_ms, now_ms);
        duration_s = late->end_realtime_ms > late->begin_realtime_ms
                             ? (double)(late->end_realtime_ms - late->begin_realtime_ms) / 1e3 : 0;
        late->metrics->value[METRIC_DURATION] = duration_s;
        late->metrics->quality[METRIC_DURATION] = QUALITY_EXACT;
        settle_usage(late->usage, end, duration_s, late->n_node_cpus);
}
