/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline_doubt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"

#define WORKERS_MAX 65536U /* threads of a process */
#define EXCESS_SOME 1.2    /* times what is possible: the parts of a stage may be measured at other times */
#define EXCESS_MANY 2.0
#define ITEMS_FEW   100    /* tasks that may be of the first interval, which is left out */
#define HELD_IN_ORDER 2    /* tasks beside the concurrency whose outcome waits for its turn, and that is given on */

/* input: whose queue the stage takes its items from; NULL: none, or not known. */
static PipelineConfidence doubt_workers(const PipelineStage *stage, const PipelineStage *input,
                                        const PipelineProcess *process, char ret[static PIPELINE_DOUBT_MAX]) {
        unsigned declared = stage->concurrency > 0 ? stage->concurrency : WORKERS_MAX;
        bool is_in_order = stage->order < 64 && (process->in_order >> stage->order & 1);
        unsigned possible = declared + (is_in_order ? HELD_IN_ORDER : 0);
        StageAccounting accounting;
        char workers[TEXT_MAX];
        double most;

        if (!pipeline_diagnosis_account(stage, input, &accounting))
                return PIPELINE_CONFIDENCE_HIGH;
        /* A task that began before the statistics may end in them. */
        most = fmax(stage->tasks.elapsed_s, stage->queue.elapsed_s);
        most = possible * (1 + fmin(1, fmax(0, pipeline_stage_mean_time(stage)) / most));
        if (accounting.workers <= EXCESS_SOME * most)
                return PIPELINE_CONFIDENCE_HIGH;
        text_number(accounting.workers, workers);
        (void)snprintf(ret, PIPELINE_DOUBT_MAX,
                       "the times of %s add up to %s workers, and it has a concurrency of %u%s", stage->name, workers,
                       declared, stage->concurrency > 0 ? "" : " at most");
        return accounting.workers > EXCESS_MANY * most ? PIPELINE_CONFIDENCE_NONE : PIPELINE_CONFIDENCE_LOW;
}

static PipelineConfidence doubt_stage(const PipelineStage *stages, size_t i, const PipelineProcess *process,
                                      char ret[static PIPELINE_DOUBT_MAX]) {
        const PipelineStage *stage = &stages[i], *before = i > 0 ? stage - 1 : NULL;
        bool is_beside = before && before->order == stage->order;
        PipelineConfidence most = doubt_workers(stage, is_beside ? NULL : before, process, ret);

        if (most < PIPELINE_CONFIDENCE_HIGH || !before)
                return most;
        /* The queues of the other stages have the times of both runs, so which is faster is not known. */
        if (is_beside && strcmp(before->name, stage->name) == 0)
                (void)snprintf(ret, PIPELINE_DOUBT_MAX,
                               "the job ran the pipeline with a concurrency of %u and of %u for %s: run each as a job "
                               "of its own, and they are compared",
                               before->concurrency, stage->concurrency, stage->name);
        else if (is_beside && stage->tasks.is_known) /* a stage that divides the items has several queues */
                (void)snprintf(ret, PIPELINE_DOUBT_MAX, "%s and %s have the same position, %u", before->name,
                               stage->name, stage->order);
        else if (before->queue.is_known && /* each item that a generator makes is a task */
                 stage->tasks.n > EXCESS_MANY * fmax(before->queue.n_gets, stage->queue.n_gets) + ITEMS_FEW)
                (void)snprintf(ret, PIPELINE_DOUBT_MAX, "%s ran %.0f tasks, and %s gave it %.0f items", stage->name,
                               stage->tasks.n, before->name, before->queue.n_gets);
        else
                return PIPELINE_CONFIDENCE_HIGH;
        return PIPELINE_CONFIDENCE_LOW;
}

PipelineConfidence pipeline_doubt_find(const PipelineStage *stages, size_t n, const PipelineProcess *process,
                                       const PipelineJob *job, char ret[static PIPELINE_DOUBT_MAX]) {
        const StageQueue *sink = &stages[n - 1].queue;
        double cpus = fmax(process->cpus_used, process->tasks_cpus);
        PipelineConfidence most = PIPELINE_CONFIDENCE_HIGH;
        char waited[TEXT_MAX], elapsed[TEXT_MAX];

        if (cpus > EXCESS_SOME * job->cpus_of_node) {
                (void)snprintf(ret, PIPELINE_DOUBT_MAX, "the process used %.0f CPUs, and the node has %.0f", cpus,
                               job->cpus_of_node);
                return PIPELINE_CONFIDENCE_NONE;
        }
        if (sink->elapsed_s > 0 && sink->get_s > EXCESS_MANY * sink->elapsed_s) {
                text_seconds_brief(sink->get_s, waited);
                text_seconds_brief(sink->elapsed_s, elapsed);
                (void)snprintf(ret, PIPELINE_DOUBT_MAX, "the training loop waited %s for items within %s", waited,
                               elapsed);
                return PIPELINE_CONFIDENCE_NONE;
        }
        for (size_t i = 0; i < n && most > PIPELINE_CONFIDENCE_NONE; i++) {
                char text[PIPELINE_DOUBT_MAX];
                PipelineConfidence of_stage = doubt_stage(stages, i, process, text);

                if (of_stage >= most)
                        continue;
                most = of_stage;
                (void)strcpy(ret, text);
        }
        return most;
}
