/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>


const char *const job_state_names[N_JOB_STATES + 1] = {
        [JOB_RUNNING] = "running",
        [JOB_FINISHED] = "finished",
        [JOB_INTERRUPTED] = "interrupted",
};

const char *job_state_name(JobState state) {
        assert(state < N_JOB_STATES);
        return job_state_names[state];
}

int job_state_find(const char *name) {
        for (size_t i = 0; i < N_JOB_STATES; i++)
                if (strcmp(job_state_names[i], name) == 0)
                        return (int)i;
        return -1;
}

const char *const job_isolation_choices[ISOLATION_FOUND + 1] = {
        [ISOLATION_NONE] = "none",
        [ISOLATION_SCOPE] = "scope",
        [ISOLATION_CGROUP] = "cgroup",
        [ISOLATION_SUBREAPER] = "subreaper",
};
_Static_assert(ISOLATION_FOUND + 1 == N_ISOLATIONS, "the kind of isolation that cannot be requested is the last");

const char *job_isolation_name(Isolation isolation) {
        assert(isolation < N_ISOLATIONS);
        return job_isolation_choices[isolation] ?: "found";
}

int job_isolation_find(const char *name) {
        for (Isolation i = 0; i < N_ISOLATIONS; i++)
                if (strcmp(job_isolation_name(i), name) == 0)
                        return (int)i;
        return -1;
}

void job_info_deinit(JobInfo *info) {
        free(info->labels);
        free(info->cgroup);
        free(info->gpus);
        info->labels = NULL;
        info->cgroup = info->gpus = NULL;
        info->n_labels = 0;
}

void job_rusage_write_json(const JobRusage *rusage, Json *json) {
        json_object_begin(json);
        json_put_double(json, "ru_utime", rusage->ru_utime);
        json_put_double(json, "ru_stime", rusage->ru_stime);
#define X(field) json_put_int(json, "ru_" #field, rusage->ru_##field);
        RUSAGE_COUNTS(X)
#undef X
        json_object_end(json);
}

/* --- late ends -------------------------------------------------------------------------------------------- */

bool job_end_is_unknown(const MetricSet *metrics) {
        return metrics->quality[METRIC_DURATION] == QUALITY_SAMPLED ||
               metrics->quality[METRIC_DURATION] == QUALITY_LOST;
}

static uint64_t limit(uint64_t value, uint64_t min, uint64_t max) {
        return value < min ? min : value > max && max > min ? max : value;
}

/* The process is waited for with its whole tree (subreaper), or with the children that it has waited for: a lower
 * bound. */
static void settle_usage(UsageSet *usage, const JobEnd *end, double duration_s, uint32_t n_node_cpus) {
        const ProcessTree tree = { end->rusage.ru_utime, end->rusage.ru_stime, end->is_rusage_partial };

        usage_exclude_client(usage, &end->client_cpu);
        if (end->has_rusage && usage->quality[USAGE_CPU_SECONDS] == QUALITY_NO_GROUP)
                usage_of_process_tree(&tree, duration_s, n_node_cpus, usage);
        else if (end->has_rusage)
                usage_raise_cpu(usage, &tree);
        usage_set_duration(usage, duration_s);
}

void job_settle_late_end(LateEnd *late, const JobEnd *end, uint64_t now_ms) {
        double duration_s;

        if (!job_end_is_unknown(late->metrics) || end->realtime_ms == 0)
                return;

        late->end_realtime_ms = limit(end->realtime_ms, late->end_realtime_ms, now_ms);
        duration_s = late->end_realtime_ms > late->begin_realtime_ms
                             ? (double)(late->end_realtime_ms - late->begin_realtime_ms) / 1e3 : 0;
        /* what lies behind the last sample was not observed */
        if (quality_is_present(late->metrics->quality[METRIC_UNOBSERVED]) &&
            duration_s > late->metrics->value[METRIC_DURATION])
                late->metrics->value[METRIC_UNOBSERVED] += duration_s - late->metrics->value[METRIC_DURATION];
        late->metrics->value[METRIC_DURATION] = duration_s;
        late->metrics->quality[METRIC_DURATION] = QUALITY_EXACT;
        settle_usage(late->usage, end, duration_s, late->n_node_cpus);
}
