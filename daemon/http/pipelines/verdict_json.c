/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/verdict_json.h"

#include <math.h>

#include "store/pipelines/pipeline_reader.h"
#include "util/parse.h"

#define GPUS_MAX 1024

static double metric_of(const FoundJob *job, Metric metric) {
        return job->has_metrics && quality_is_present(job->view->metrics.quality[metric])
                       ? job->view->metrics.value[metric] : (double)NAN;
}

static double usage_of(const FoundJob *job, UsageMetric metric) {
        return job->has_metrics && quality_is_present(job->view->usage.quality[metric])
                       ? job->view->usage.value[metric] : (double)NAN;
}

/* The label `gpus` of the job is the number of its GPUs. */
static unsigned find_gpus(const JobDescription *job) {
        const char *text = job_description_label(job, "gpus");
        uint64_t n;

        return text && parse_u64(text, &n) == 0 && n <= GPUS_MAX ? (unsigned)n : 0;
}

PipelineJob verdict_json_read_job(const FoundJob *job) {
        double duration_s = metric_of(job, METRIC_DURATION), cpu_s = metric_of(job, METRIC_CPU_HOURS);
        double used_s = cpu_s - metric_of(job, METRIC_CPU_UNUSED_HOURS), cpus = usage_of(job, USAGE_CPU_MEAN);

        return (PipelineJob){
                .cpus_used = cpus,
                .cpus_given = usage_of(job, USAGE_CPU_GIVEN),
                .cpus_of_node = cpu_s / duration_s,
                .cpus_of_others = used_s / duration_s - cpus,
                .cpu_waited = usage_of(job, USAGE_PSI_CPU_SOME) / duration_s,
                .io_stalled = usage_of(job, USAGE_PSI_IO_FULL) / duration_s,
                .memory_waited = usage_of(job, USAGE_PSI_MEMORY_SOME) / duration_s,
                .throttled = usage_of(job, USAGE_THROTTLED_RATIO),
                .stolen = metric_of(job, METRIC_CPU_STEAL) / cpu_s,
                .first_batch_s = (double)NAN,
                .first_wait_s = (double)NAN,
                .n_gpus = find_gpus(&job->view->info),
        };
}

int verdict_json_find_changes(const Target *target, const Sources *sources, Response *response,
                              PipelineChanges *ret) {
        const PipelineFilter filter = { .n_max = N_PIPELINE_PARTS * PIPELINE_CHANGES_INTERVALS_MAX + 1 };
        PipelineIntervalRow row;
        int r, added = 0;

        r = pipeline_reader_list_intervals(sources->reader, target->argument, &filter);
        while (r == 0 && added == 0 && !ret->is_cut &&
               (r = pipeline_reader_next_interval(sources->reader, &row)) == 0)
                if (row.part == PIPELINE_TASKS)
                        added = pipeline_changes_add(ret, row.stage, row.end_ms, &row.sums);
        if (added == 0 && !ret->is_cut && r == READER_END)
                added = pipeline_changes_finish(ret);
        if (added < 0 || (r != 0 && r != READER_END))
                return exchange_store_error(response, added < 0 ? added : r);
        return 0;
}

void verdict_json_put(Json *json, const PipelineSet *set, unsigned n_threads, const PipelineChanges *changes) {
        PipelineVerdict verdict;
        size_t at = 0;

        json_put_array_begin(json, "verdicts");
        while (pipeline_verdict_next(set, n_threads, &at, &verdict)) {
                json_object_begin(json);
                pipeline_verdict_put(&verdict, json);
                if (changes)
                        json_key(json, "changes");
                if (changes && changes->is_cut)
                        json_null(json);
                else if (changes) {
                        json_array_begin(json);
                        pipeline_changes_put(changes, verdict.stages[0].pipeline, json);
                        json_array_end(json);
                }
                json_object_end(json);
        }
        json_array_end(json);
}
