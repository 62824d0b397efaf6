/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/protocol.h"

#include <errno.h>
#include <stdlib.h>

#include "client/wire/protocol_frame.h"
#include "util/scoped.h"

static double mean(double sum, double n) {
        return n > 0 ? sum / n : 0;
}

static void tasks_to_wire(const PipelineInterval *from, Perfd__V1__PipelineTasks *ret) {
        perfd__v1__pipeline_tasks__init(ret);
        ret->elapsed = from->sums.elapsed_s;
        ret->num_tasks = (uint64_t)from->sums.n;
        ret->num_failures = (uint64_t)from->sums.n_failures;
        ret->ave_time = mean(from->sums.time_s, from->sums.n - from->sums.n_failures);
        ret->p90_time = from->percentiles.p90_s;
        ret->p99_time = from->percentiles.p99_s;
}

static void queue_to_wire(const PipelineInterval *from, Perfd__V1__PipelineQueue *ret) {
        perfd__v1__pipeline_queue__init(ret);
        ret->elapsed = from->sums.elapsed_s;
        ret->num_items = (uint64_t)from->sums.n;
        ret->ave_put_time = mean(from->sums.time_s, from->sums.n);
        ret->p90_put_time = from->percentiles.p90_s;
        ret->p99_put_time = from->percentiles.p99_s;
        ret->ave_get_time = mean(from->sums.get_s, from->sums.n);
        ret->p90_get_time = from->percentiles.get_p90_s;
        ret->p99_get_time = from->percentiles.get_p99_s;
        ret->buffer_size = from->buffer_size;
        if (from->sums.judged_s > 0) {
                double rate = from->sums.ready_s / from->sums.judged_s;

                ret->occupancy_given_case = PERFD__V1__PIPELINE_QUEUE__OCCUPANCY_GIVEN_OCCUPANCY_RATE;
                ret->occupancy_rate = rate < 1 ? rate : 1;
        }
}

/* A stage with one part, and the messages that it refers to. */
typedef struct WireStage {
        Perfd__V1__PipelineStage stage;
        Perfd__V1__PipelineTasks tasks;
        Perfd__V1__PipelineQueue queue;
} WireStage;

static void interval_to_wire(const PipelineInterval *from, WireStage *ret) {
        perfd__v1__pipeline_stage__init(&ret->stage);
        ret->stage.stage = (char *)from->stage;
        ret->stage.time_ms = from->end_ms;
        if (from->part == PIPELINE_TASKS) {
                tasks_to_wire(from, &ret->tasks);
                ret->stage.tasks = &ret->tasks;
        } else {
                queue_to_wire(from, &ret->queue);
                ret->stage.queue = &ret->queue;
        }
}

static void event_to_wire(const PipelineEvent *from, Perfd__V1__PipelineEvent *ret) {
        perfd__v1__pipeline_event__init(ret);
        ret->name = (char *)from->name;
        ret->time_ms = from->begin_ms;
        ret->seconds = from->seconds;
}

int protocol_encode_pipeline_report(uint64_t sequence, const PipelineReport *report, Buffer *out) {
        Perfd__V1__PipelineReport message = PERFD__V1__PIPELINE_REPORT__INIT;
        scoped(freep) WireStage *stages = calloc(report->n_intervals + 1, sizeof(*stages));
        scoped(freep) Perfd__V1__PipelineEvent *events = calloc(report->n_events + 1, sizeof(*events));
        scoped(freep) Perfd__V1__PipelineStage **stage_list = calloc(report->n_intervals + 1, sizeof(*stage_list));
        scoped(freep) Perfd__V1__PipelineEvent **event_list = calloc(report->n_events + 1, sizeof(*event_list));

        if (!stages || !events || !stage_list || !event_list)
                return -ENOMEM;

        for (size_t i = 0; i < report->n_intervals; i++) {
                interval_to_wire(&report->intervals[i], &stages[i]);
                stage_list[i] = &stages[i].stage;
        }
        for (size_t i = 0; i < report->n_events; i++) {
                event_to_wire(&report->events[i], &events[i]);
                event_list[i] = &events[i];
        }

        message.job = (char *)report->job;
        message.inherited = report->is_job_inherited;
        message.producer = (char *)report->producer;
        message.n_stages = report->n_intervals;
        message.stages = stage_list;
        message.n_events = report->n_events;
        message.events = event_list;
        message.description = (ProtobufCBinaryData){ report->description.n, (uint8_t *)report->description.text };
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_PIPELINE_REPORT, &message, out);
}
