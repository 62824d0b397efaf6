/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_job.h"

#include <math.h>

#define CPUS_SHARE    0.8  /* of the CPUs of the job, or of the one CPU that a lock leaves */
#define WAITED_SHARE  0.6  /* of the CPUs of the job is enough if its tasks wait for a CPU half of the time: the job also starts and ends */
#define WAITED_HALF   0.5
#define ONE_CPU_MAX   1.25
#define TASKS_PER_CPU 1.25 /* fewer tasks do not compete for the CPUs */
#define OTHERS_MIN    0.25 /* of the CPUs of the node: a lower share is usual system activity */
#define NODE_FULL     0.9  /* of the CPUs of the node: waiting tasks take the rest at once */
#define WAITED_MIN    0.1  /* of the time */
#define WAITED_CLEAR  0.25
#define ON_CPU_MIN    0.33 /* of the time of the busy workers: tasks that sleep or wait for I/O gain little from a CPU */

PipelineJob pipeline_job_unknown(void) {
        return (PipelineJob){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0 };
}

/* Returns the stage with more than one worker that has the most running tasks; n: none. */
static size_t find_most_running(const PipelineStage *stages, size_t n) {
        StageAccounting accounting;
        size_t ret = n;
        double most = 1;

        for (size_t i = 0; i < n; i++) {
                if (!pipeline_accounting_of(&stages[i], i > 0 ? &stages[i - 1] : NULL, &accounting) || accounting.concurrency < 2 ||
                    accounting.busy * accounting.concurrency <= most)
                        continue;
                most = accounting.busy * accounting.concurrency;
                ret = i;
        }
        return ret;
}

/*
 * Returns how many of n workers wait for a CPU at a time. The kernel measures the share of the time in which at least one does, for each
 * CPU, and takes the mean: with k workers on a CPU that wait independently, each for a share w, that is 1 - (1 - w)^k.
 */
static double count_waiting(const PipelineJob *job, double n) {
        double n_cpus = fmin(n, fmax(1, job->cpus_given));

        return n * (1 - pow(1 - fmin(job->cpu_waited, 0.999), n_cpus / n));
}

/* Other work on a node with spare CPUs takes nothing from the job, and little from tasks that hardly compute. */
static bool is_host_busy(const PipelineJob *job, double busy_workers) {
        double n = fmax(1, busy_workers); /* a source without workers is one */

        return job->cpus_of_others >= OTHERS_MIN * job->cpus_of_node && job->cpu_waited >= WAITED_MIN &&
               job->cpus_used + job->cpus_of_others >= NODE_FULL * job->cpus_of_node &&
               job->cpus_used + count_waiting(job, n) >= ON_CPU_MIN * n;
}

static void set_limit(PipelineDiagnosis *diagnosis, PipelineLimit limit, size_t stage, PipelineDirection direction,
                      PipelineConfidence confidence, size_t n) {
        diagnosis->limit = limit;
        diagnosis->stage = stage;
        diagnosis->next_stage = n;
        diagnosis->direction = direction;
        diagnosis->confidence = confidence;
}

void pipeline_job_join(const PipelineJob *job, PipelineDiagnosis *diagnosis, const PipelineStage *stages, size_t n) {
        double used = isnan(diagnosis->wait_share) ? 0 : job->cpus_used - (1 - diagnosis->wait_share);
        size_t most = find_most_running(stages, n);
        bool is_used = used >= CPUS_SHARE * job->cpus_given || (used >= WAITED_SHARE * job->cpus_given && job->cpu_waited >= WAITED_HALF);
        bool is_full = is_used && diagnosis->busy_workers > TASKS_PER_CPU * job->cpus_given;
        bool is_locked = used >= CPUS_SHARE && used <= ONE_CPU_MAX && job->cpus_given > ONE_CPU_MAX && diagnosis->busy_workers >= 2;

        if (diagnosis->limit == PIPELINE_LIMIT_CONSUMER)
                return;
        if (is_host_busy(job, diagnosis->busy_workers))
                set_limit(diagnosis, PIPELINE_LIMIT_HOST, n, PIPELINE_DIRECTION_OTHER_HOST,
                          job->cpu_waited >= WAITED_CLEAR ? PIPELINE_CONFIDENCE_MEDIUM : PIPELINE_CONFIDENCE_LOW, n);
        else if (most < n && is_full)
                set_limit(diagnosis, PIPELINE_LIMIT_CPU, most, PIPELINE_DIRECTION_LESS_CONCURRENCY, PIPELINE_CONFIDENCE_MEDIUM, n);
        else if (job->throttled >= PIPELINE_JOB_THROTTLED_MIN && diagnosis->busy_workers > 0)
                set_limit(diagnosis, PIPELINE_LIMIT_CPU, most < n ? most : diagnosis->stage, PIPELINE_DIRECTION_MORE_CPUS,
                          PIPELINE_CONFIDENCE_MEDIUM, n);
        else if (most < n && is_locked)
                set_limit(diagnosis, PIPELINE_LIMIT_LOCK, most, PIPELINE_DIRECTION_LESS_CONCURRENCY, PIPELINE_CONFIDENCE_LOW, n);
}
