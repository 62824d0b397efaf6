/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/pipelines_subject.h"

#include <stddef.h>

#include "http/metrics.h"

/* A counter of each stage: a member of the sums of one of its parts. */
typedef struct StageCounter {
        PipelinePart part;
        size_t offset;
        const char *name, *unit, *help;
} StageCounter;

#define COUNTER(part, member, name, unit, help) { part, offsetof(PipelineSums, member), name, unit, help }

static const StageCounter counters[] = {
        COUNTER(PIPELINE_TASKS, n, "perfd_job_pipeline_tasks", "", "Tasks of the stage that were completed, including failed tasks"),
        COUNTER(PIPELINE_TASKS, n_failures, "perfd_job_pipeline_task_failures", "", "Tasks of the stage that failed"),
        COUNTER(PIPELINE_TASKS, time_s, "perfd_job_pipeline_task_seconds", "seconds", "Time of the tasks of the stage that succeeded"),
        COUNTER(PIPELINE_QUEUE, n, "perfd_job_pipeline_items", "", "Items that were taken out of the queue of the stage"),
        COUNTER(PIPELINE_QUEUE, time_s, "perfd_job_pipeline_put_wait_seconds", "seconds",
                "Time for which the stage waited to put an item into its queue"),
        COUNTER(PIPELINE_QUEUE, get_s, "perfd_job_pipeline_get_wait_seconds", "seconds",
                "Time for which the next stage waited for an item of the queue"),
        COUNTER(PIPELINE_QUEUE, elapsed_s, "perfd_job_pipeline_queue_seconds", "seconds", "Time in which the queue was measured"),
        COUNTER(PIPELINE_QUEUE, judged_s, "perfd_job_pipeline_readiness_seconds", "seconds",
                "Time in which it was measured whether the queue had an item"),
        COUNTER(PIPELINE_QUEUE, ready_s, "perfd_job_pipeline_ready_seconds", "seconds", "Time in which the queue had an item"),
};

static void put_counter(Exposition *exposition, const PipelinesSnapshot *pipelines, const StageCounter *counter) {
        exposition_family(exposition, counter->name, FAMILY_COUNTER, counter->unit, counter->help);
        for (size_t i = 0; i < pipelines->n; i++) {
                const PipelineTotal *total = &pipelines->totals[i];

                if (total->part != counter->part)
                        continue;
                exposition_sample(exposition);
                exposition_label(exposition, "job", total->job);
                exposition_label(exposition, "pipeline_stage", total->stage);
                exposition_double(exposition, *(const double *)(const void *)((const char *)&total->sums + counter->offset));
        }
}

static int add_stages(Exposition *exposition, const Snapshot *snapshot) {
        const PipelinesSnapshot *pipelines = &snapshot->pipelines;

        for (size_t i = 0; i < N_ELEMENTS(counters); i++)
                put_counter(exposition, pipelines, &counters[i]);
        return 0;
}

static const Scalar scalars[] = {
        SCALAR_COUNTER(PipelinesStats, n_intervals, "perfd_pipeline_intervals", "Intervals of stages of data pipelines that were stored"),
        SCALAR_COUNTER(PipelinesStats, n_repeated, "perfd_pipeline_intervals_repeated",
                       "Intervals that were received again, or after older intervals of their time were merged"),
        SCALAR_COUNTER(PipelinesStats, n_rejected, "perfd_pipeline_intervals_rejected",
                       "Intervals of stages beyond the limit of a job, which are not stored"),
        SCALAR_GAUGE(PipelinesStats, n_left_out, SCALAR_U64, "perfd_pipeline_series_not_exposed", "",
                     "Parts of stages omitted because of the limit on their number; the JSON API has them"),
};

static int add_counts(Exposition *exposition, const Snapshot *snapshot) {
        metrics_scalars(exposition, &snapshot->pipelines.stats, scalars, N_ELEMENTS(scalars));
        return 0;
}

static const Route routes[] = {
        { "/api/v1/jobs/{id}/pipeline",           "",                                    false, true, pipelines_subject_stages },
        { "/api/v1/jobs/{id}/pipeline/intervals", "stage since_ms until_ms limit format page", false, true, pipelines_subject_intervals },
        { "/api/v1/jobs/{id}/pipeline/events",    "since_ms until_ms limit format",      false, true, pipelines_subject_events },
        {},
};

static const Collector collectors[] = {
        { "jobs", false, add_stages, NULL },
        { "self", false, add_counts, NULL },
        {},
};

const Subject pipelines_subject = { routes, collectors };
