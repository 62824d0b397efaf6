/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/stored_stages.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_report.h"
#include "util/parse.h"

#define GPUS_MAX 1024

/* Member of PipelineSums in each part; NULL: the part does not have it. */
typedef struct SumMember {
        size_t offset;
        const char *keys[N_PIPELINE_PARTS];
} SumMember;

static const SumMember members[] = {
        { offsetof(PipelineSums, elapsed_s), { "elapsed_s", "elapsed_s" } },
        { offsetof(PipelineSums, n), { "num_tasks", "num_items" } },
        { offsetof(PipelineSums, n_failures), { "num_failures", NULL } },
        { offsetof(PipelineSums, time_s), { "success_s", "put_wait_s" } },
        { offsetof(PipelineSums, get_s), { NULL, "get_wait_s" } },
        { offsetof(PipelineSums, ready_s), { NULL, "ready_s" } },
        { offsetof(PipelineSums, judged_s), { NULL, "readiness_measured_s" } },
};

static double number(const Value *object, const char *key) {
        double v = 0;

        return key && value_get_double(object, key, &v) && v > 0 ? v : 0;
}

static PipelineSums read_sums(const Value *from, PipelinePart part) {
        PipelineSums sums = {};

        for (size_t i = 0; i < N_ELEMENTS(members); i++)
                *(double *)(void *)((char *)&sums + members[i].offset) = number(from, members[i].keys[part]);
        return sums;
}

static void read_part(const Value *from, PipelinePart part, PipelineStage *stage) {
        PipelineSums sums = read_sums(from, part), first = read_sums(value_get(from, "first_interval"), part);

        pipeline_report_drop_first(&sums, &first, (uint64_t)number(from, "intervals"));
        pipeline_report_set_stage(stage, part, &sums, number(from, "newest_interval_n"));
}

static bool read_stage(const Value *from, PipelineStage *ret) {
        const Value *tasks = value_get_given(from, "tasks"), *queue = value_get_given(from, "queue");
        const char *label = value_get_string(from, "stage");

        if (!label || !pipeline_stage_parse(ret, label, strlen(label)))
                return false;
        if (tasks)
                read_part(tasks, PIPELINE_TASKS, ret);
        if (queue)
                read_part(queue, PIPELINE_QUEUE, ret);
        return true;
}

static void read_first_batch(const Value *from, StageSet *ret) {
        if (!from)
                return;
        ret->first_batch_ms = number(from, "time_ms");
        ret->job.first_wait_s = number(from, "seconds");
}

int stored_stages_read(const Value *answer, StageSet *ret) {
        const Value *list = value_get(answer, "stages");
        double n_threads = number(value_get_given(answer, "description"), "threads");
        size_t n = list && list->type == VALUE_LIST ? list->n_items : 0;

        *ret = (StageSet){ .n_threads = n_threads <= STAGE_SET_THREADS_MAX ? (unsigned)n_threads : 0,
                           .job = pipeline_diagnosis_unknown_job() };
        read_first_batch(value_get_given(answer, "first_batch"), ret);
        ret->stages = calloc(n + 1, sizeof(*ret->stages));
        if (!ret->stages)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ret->n += read_stage(&list->items[i], &ret->stages[ret->n]);
        return 0;
}

/* Returns a metric of the job; NAN: it is absent. */
static double find_metric(const Value *job, const char *key) {
        const Value *metrics = value_get(job, "metrics");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];
                double v;

                if (strcmp(value_get_string(metric, "key") ?: "", key) == 0)
                        return value_get_double(metric, "value", &v) ? v : NAN;
        }
        return NAN;
}

/* The label `gpus` of the job is the number of its GPUs. */
static unsigned find_gpus(const Value *job) {
        const char *text = value_get_string(value_get(job, "labels"), "gpus");
        uint64_t n;

        return text && parse_u64(text, &n) == 0 && n <= GPUS_MAX ? (unsigned)n : 0;
}

void stored_stages_join_job(StageSet *stages, const Value *job) {
        double duration_s = find_metric(job, "duration_seconds"), cpu_s = 3600 * find_metric(job, "node_cpu_hours");
        double used_s = cpu_s - 3600 * find_metric(job, "node_unused_cpu_hours"), cpus = find_metric(job, "job_cpus_used");

        double begin_ms = number(job, "begin_ms"), first_wait_s = stages->job.first_wait_s;

        stages->has_job = true;
        stages->job = (PipelineJob){
                .cpus_used = cpus,
                .cpus_given = find_metric(job, "job_cpus_given"),
                .cpus_of_node = cpu_s / duration_s,
                .cpus_of_others = used_s / duration_s - cpus,
                .cpu_waited = find_metric(job, "job_psi_cpu_some_seconds") / duration_s,
                .io_stalled = find_metric(job, "job_psi_io_full_seconds") / duration_s,
                .memory_waited = find_metric(job, "job_psi_memory_some_seconds") / duration_s,
                .throttled = find_metric(job, "job_cpu_throttled_ratio"),
                .stolen = find_metric(job, "cpu_steal_seconds") / cpu_s,
                .first_batch_s = begin_ms > 0 && stages->first_batch_ms >= begin_ms ?
                                 (stages->first_batch_ms - begin_ms) / 1e3 + first_wait_s : NAN,
                .first_wait_s = first_wait_s,
                .n_gpus = find_gpus(job),
        };
}
