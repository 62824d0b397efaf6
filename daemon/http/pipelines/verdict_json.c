/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pipelines/verdict_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/jobs/job_reader.h"
#include "store/pipelines/pipeline_reader.h"
#include "util/array.h"
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

/* Jobs without a cgroup of their own have no numbers. */
static PipelineJob read_job(const FoundJob *job) {
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

/* --- pipelines of a job --------------------------------------------------------------------------- */

/* Both parts of a stage follow each other. */
static int add_part(PipelineSet *set, const PipelineSeriesRow *row, bool is_start_known) {
        PipelineStage *last = set->n > 0 ? &set->stages[set->n - 1] : NULL, stage;
        PipelineSums sums = row->sums;

        if (!pipeline_stage_parse(&stage, row->stage, strlen(row->stage)))
                return 0; /* checked when it was received */
        if (!last || pipeline_stage_compare(last, &stage) != 0 || last->concurrency != stage.concurrency) {
                if (ARRAY_EXTEND(set->stages, set->n) < 0)
                        return -ENOMEM;
                last = &set->stages[set->n++];
                *last = stage;
        }
        pipeline_report_drop_first(&sums, &row->first, row->n_intervals, is_start_known);
        pipeline_report_set_stage(last, (PipelinePart)row->part, &sums, row->n_last);
        if (row->part == PIPELINE_QUEUE)
                last->queue.buffer_size = row->buffer_size;
        return 0;
}

/* Completes the set of a job. begin_ms: of the job. */
static int read_set(Reader *reader, const char *job, uint64_t begin_ms, PipelineSet *set) {
        PipelineSeriesRow row;
        PipelineHeadRow head;
        int r, added = 0;

        r = pipeline_reader_find_head(reader, job, &head);
        if (r != 0)
                return r;
        if (head.first_batch_ms > 0)
                set->job.first_wait_s = head.first_batch_s;
        if (begin_ms > 0 && head.first_batch_ms >= begin_ms)
                set->job.first_batch_s = (double)(head.first_batch_ms - begin_ms) / 1e3 + head.first_batch_s;
        r = pipeline_set_read_description(set, head.description);
        /* Use before the first batch, for example to load a library, is not of the tasks. */
        if (!isnan(set->job.cpus_used) && set->process.tasks_cpus > 0)
                set->job.cpus_used = set->process.tasks_cpus;
        if (r == 0)
                r = pipeline_reader_list(reader, job);
        while (r == 0 && added == 0 && (r = pipeline_reader_next(reader, &row)) == 0)
                added = add_part(set, &row, head.first_batch_ms > 0);
        if (added < 0 || r != READER_END)
                return added < 0 ? added : r;
        if (set->n > 0)
                qsort(set->stages, set->n, sizeof(*set->stages), pipeline_stage_compare);
        return 0;
}

/* Searches the intervals of the tasks for changes within the run. */
static int find_changes(Reader *reader, const char *job, PipelineChanges *ret) {
        const PipelineFilter filter = { .n_max = N_PIPELINE_PARTS * PIPELINE_CHANGES_INTERVALS_MAX + 1 };
        PipelineIntervalRow row;
        int r, added = 0;

        r = pipeline_reader_list_intervals(reader, job, &filter);
        while (r == 0 && added == 0 && !ret->is_cut && (r = pipeline_reader_next_interval(reader, &row)) == 0)
                if (row.part == PIPELINE_TASKS)
                        added = pipeline_changes_add(ret, row.stage, row.end_ms, &row.sums);
        if (added == 0 && !ret->is_cut && r == READER_END)
                added = pipeline_changes_finish(ret);
        ret->is_cut |= r == READER_TIMEOUT; /* the verdict does not need them */
        return added < 0 ? added : r == READER_END || r == READER_TIMEOUT ? 0 : r;
}

/* --- earlier runs --------------------------------------------------------------------------------- */

#define SCANNED_MAX 1000U /* newest jobs */

void verdict_json_deinit(PipelineRuns *runs) {
        pipeline_set_deinit(&runs->set);
        pipeline_changes_deinit(&runs->changes);
        for (size_t i = 0; i < PIPELINE_COMPARISON_RUNS_MAX; i++)
                pipeline_set_deinit(&runs->earlier[i]);
}

/* Lists the earlier runs of a job. */
static int list_earlier(Reader *reader, const JobView *job, PipelineRuns *runs) {
        const uint32_t uid = job->info.uid;
        const int64_t rank = job->info.rank;
        char name[JOB_TEXT_MAX];
        const JobFilter filter = { .name = name, .until_ms = job->begin_realtime_ms };
        JobRow row;
        int r;

        if (!job->info.name[0])
                return 0; /* jobs without a name may run anything, whose stages have common names */
        (void)snprintf(name, sizeof(name), "%s", job->info.name);
        r = job_reader_list(reader, &filter);
        for (size_t n = 0; r == 0 && n < SCANNED_MAX && runs->n_earlier < PIPELINE_COMPARISON_RUNS_MAX; n++) {
                r = job_reader_next(reader, &row);
                if (r == 0 && row.view.info.uid == uid && row.view.info.rank == rank &&
                    strcmp(row.view.info.name, name) == 0)
                        (void)snprintf(runs->jobs[runs->n_earlier++], JOB_ID_MAX, "%s", row.view.info.id);
        }
        return r == READER_END ? 0 : r;
}

int verdict_json_read(Reader *reader, const FoundJob *job, bool has_changes, PipelineRuns *ret) {
        uint64_t begin_ms = job->view->begin_realtime_ms;
        char id[JOB_ID_MAX];
        int r;

        pipeline_set_init(&ret->set);
        ret->set.job = read_job(job);
        ret->has_changes = has_changes;
        (void)snprintf(id, sizeof(id), "%s", job->view->info.id);
        r = list_earlier(reader, job->view, ret);
        if (r == 0)
                r = read_set(reader, id, begin_ms, &ret->set);
        if (r == 0 && has_changes)
                r = find_changes(reader, id, &ret->changes);
        for (size_t i = 0; r == 0 && i < ret->n_earlier; i++) {
                pipeline_set_init(&ret->earlier[i]);
                r = read_set(reader, ret->jobs[i], 0, &ret->earlier[i]);
        }
        return r;
}

/* Compares the pipeline with the one of the same number in the earlier runs, of which a user knows the threads too. */
static void compare(const PipelineRuns *runs, unsigned n_threads, PipelineVerdict *verdict) {
        ComparedRun earlier[PIPELINE_COMPARISON_RUNS_MAX];

        for (size_t i = 0; i < runs->n_earlier; i++) {
                const PipelineSet *set = &runs->earlier[i];
                size_t begin = 0, end;

                while (begin < set->n && set->stages[begin].pipeline != verdict->stages[0].pipeline)
                        begin++;
                for (end = begin; end < set->n && set->stages[end].pipeline == verdict->stages[0].pipeline;)
                        end++;
                earlier[i] = (ComparedRun){ runs->jobs[i], set->n > 0 ? &set->stages[begin] : NULL, end - begin,
                                            n_threads > 0 ? n_threads : set->process.n_threads };
        }
        pipeline_verdict_compare(verdict, earlier, runs->n_earlier);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

void verdict_json_put(Json *json, const PipelineRuns *runs, unsigned n_threads) {
        const PipelineChanges *changes = &runs->changes;
        PipelineVerdict verdict;
        size_t at = 0;

        json_put_array_begin(json, "verdicts");
        while (pipeline_verdict_next(&runs->set, n_threads, &at, &verdict)) {
                compare(runs, n_threads, &verdict);
                json_object_begin(json);
                pipeline_verdict_put(&verdict, json);
                if (runs->has_changes)
                        json_key(json, "changes");
                if (runs->has_changes && changes->is_cut)
                        json_null(json);
                else if (runs->has_changes) {
                        json_array_begin(json);
                        pipeline_changes_put(changes, verdict.stages[0].pipeline, json);
                        json_array_end(json);
                }
                json_object_end(json);
        }
        json_array_end(json);
}
