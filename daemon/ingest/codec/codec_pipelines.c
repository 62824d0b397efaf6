/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_decode.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ingest/codec/refuse.h"
#include "pipeline/pipeline_report.h"
#include "pipeline/pipeline_set.h"
#include "proto/perfd.pb-c.h"

#define STAGES "pipeline_report.stages"
#define EVENTS "pipeline_report.events"
#define TIME_MS_MAX (INT64_MAX / 1000000) /* in the year 2262 */

/* --- parts of a stage ----------------------------------------------------------------------------- */

static void take_tasks(const Perfd__V1__PipelineTasks *from, PipelineInterval *ret) {
        ret->sums = (PipelineSums){
                .elapsed_s = from->elapsed,
                .n = (double)from->num_tasks,
                .n_failures = (double)from->num_failures,
                .time_s = from->ave_time,
        };
        ret->percentiles = (PipelinePercentiles){ .p90_s = from->p90_time, .p99_s = from->p99_time };
}

static void take_queue(const Perfd__V1__PipelineQueue *from, PipelineInterval *ret) {
        bool has_readiness = from->occupancy_given_case == PERFD__V1__PIPELINE_QUEUE__OCCUPANCY_GIVEN_OCCUPANCY_RATE;

        ret->buffer_size = from->buffer_size;
        ret->sums = (PipelineSums){
                .elapsed_s = from->elapsed,
                .n = (double)from->num_items,
                .time_s = from->ave_put_time,
                .get_s = from->ave_get_time,
                .ready_s = has_readiness ? from->occupancy_rate : (double)NAN,
        };
        ret->percentiles = (PipelinePercentiles){ from->p90_put_time, from->p99_put_time, from->p90_get_time,
                                                  from->p99_get_time };
}

static int take_part(Decoded *decoded, const Perfd__V1__PipelineStage *from, size_t i, PipelinePart part,
                     PipelineReport *report) {
        PipelineInterval *ret = &report->intervals[report->n_intervals++];
        ImpossibleNumber number;
        char path[64];

        *ret = (PipelineInterval){ .stage = from->stage, .part = part, .end_ms = from->time_ms };
        if (part == PIPELINE_TASKS)
                take_tasks(from->tasks, ret);
        else
                take_queue(from->queue, ret);
        number = pipeline_report_take(ret, pipeline_report_counts_open_periods(report->producer));
        if (!number.name)
                return 0;
        (void)snprintf(path, sizeof(path), "%s.%s", part == PIPELINE_TASKS ? "tasks" : "queue", number.name);
        return refuse_item(&decoded->refusal, STAGES, i, path, "is %g, expected 0 to %g", number.value, number.max);
}

/* --- stages and events ---------------------------------------------------------------------------- */

static int check_label(Decoded *decoded, const Perfd__V1__PipelineStage *from, size_t i) {
        if (!pipeline_report_label_is_valid(from->stage, strlen(from->stage)))
                return refuse_item(&decoded->refusal, STAGES, i, "stage",
                                   "must be " PIPELINE_LABEL_EXPECTED ", such as 0:1:decode[4]");
        if (from->time_ms > TIME_MS_MAX)
                return refuse_item(&decoded->refusal, STAGES, i, "time_ms",
                                   "is after the year 2261: give milliseconds since 1970, or 0 for now");
        if (!from->tasks && !from->queue)
                return refuse_item(&decoded->refusal, STAGES, i, "tasks",
                                   "is missing, as is queue: give at least one of them");
        return 0;
}

static int take_stage(Decoded *decoded, const Perfd__V1__PipelineStage *from, size_t i, PipelineReport *report) {
        int r = check_label(decoded, from, i);

        if (r == 0 && from->tasks)
                r = take_part(decoded, from, i, PIPELINE_TASKS, report);
        if (r == 0 && from->queue)
                r = take_part(decoded, from, i, PIPELINE_QUEUE, report);
        return r;
}

static int take_stages(Decoded *decoded, Arena *arena, const Perfd__V1__PipelineReport *from, PipelineReport *report) {
        int r = 0;

        if (from->n_stages > PIPELINE_REPORT_INTERVALS_MAX / N_PIPELINE_PARTS)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, STAGES,
                              "has %zu items, may have up to %u: send several messages", from->n_stages,
                              PIPELINE_REPORT_INTERVALS_MAX / N_PIPELINE_PARTS);

        report->intervals = arena_alloc(arena, from->n_stages * N_PIPELINE_PARTS * sizeof(*report->intervals));
        if (!report->intervals)
                return refuse_no_room(&decoded->refusal);
        for (size_t i = 0; r == 0 && i < from->n_stages; i++)
                r = take_stage(decoded, from->stages[i], i, report);
        return r;
}

static int take_event(Decoded *decoded, const Perfd__V1__PipelineEvent *from, size_t i, PipelineEvent *ret) {
        const char *reason = from->name[0] == '\0' ? "is empty"
                                                   : refuse_text_reason(from->name, PIPELINE_EVENT_NAME_MAX);

        if (reason)
                return refuse_item(&decoded->refusal, EVENTS, i, "name",
                                   "%s: it is 1 to %u bytes of UTF-8 without control characters", reason,
                                   PIPELINE_EVENT_NAME_MAX);
        if (from->time_ms > TIME_MS_MAX)
                return refuse_item(&decoded->refusal, EVENTS, i, "time_ms",
                                   "is after the year 2261: give milliseconds since 1970, or 0 for now");
        if (!(from->seconds >= 0 && from->seconds <= PIPELINE_SECONDS_MAX))
                return refuse_item(&decoded->refusal, EVENTS, i, "seconds", "is %g, must be seconds from 0 to %.0g",
                                   from->seconds, PIPELINE_SECONDS_MAX);

        *ret = (PipelineEvent){ from->name, from->time_ms, from->seconds };
        return 0;
}

static int take_events(Decoded *decoded, Arena *arena, const Perfd__V1__PipelineReport *from, PipelineReport *report) {
        int r = 0;

        if (from->n_events > PIPELINE_REPORT_EVENTS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, EVENTS,
                              "has %zu items, may have up to %u: send several messages", from->n_events,
                              PIPELINE_REPORT_EVENTS_MAX);

        report->n_events = from->n_events;
        report->events = arena_alloc(arena, from->n_events * sizeof(*report->events));
        if (!report->events)
                return refuse_no_room(&decoded->refusal);
        for (size_t i = 0; r == 0 && i < from->n_events; i++)
                r = take_event(decoded, from->events[i], i, &report->events[i]);
        return r;
}

/* --- reports -------------------------------------------------------------------------------------- */

static int take_description(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from,
                            PipelineReport *report) {
        const char *path = "pipeline_report.description";
        ImpossibleNumber impossible;
        Complaint complaint;
        const Value *value;
        bool unused;
        int r;

        if (from->len == 0)
                return 0;
        if (from->len > PIPELINE_DESCRIPTION_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, path, "has %zu bytes, may have up to %u", from->len,
                              PIPELINE_DESCRIPTION_MAX);
        r = codec_decode_json(decoded, context, from, &value, &unused, "%s", path);
        if (r != 0)
                return r;
        if (indicator_check_object(value, context->limits, &complaint) != 0)
                return refuse(&decoded->refusal, STATUS_INVALID, path, "%s: %s", complaint.path, complaint.text);
        impossible = pipeline_set_check_description(value);
        if (impossible.name)
                return refuse(&decoded->refusal, STATUS_INVALID, path, "%s is %g, expected 0 to %g", impossible.name,
                              impossible.value, impossible.max);

        report->description = json_text((const char *)from->data, from->len);
        return 0;
}

static int check_texts(Decoded *decoded, const Perfd__V1__PipelineReport *from) {
        int r = 0;

        if (from->job[0] != '\0')
                r = refuse_bad_job_id(&decoded->refusal, "pipeline_report.job", from->job);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "pipeline_report.producer", from->producer,
                                    PIPELINE_PRODUCER_MAX);
        return r;
}

int codec_decode_pipeline_report(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__PipelineReport *from = (const Perfd__V1__PipelineReport *)message;
        PipelineReport *report;
        int r;

        assert(message->descriptor == &perfd__v1__pipeline_report__descriptor);
        r = check_texts(decoded, from);
        if (r != 0)
                return r;

        report = arena_alloc(context->arena, sizeof(*report));
        if (!report)
                return refuse_no_room(&decoded->refusal);
        *report = (PipelineReport){ .job = from->job, .is_job_inherited = from->inherited, .producer = from->producer };
        r = take_stages(decoded, context->arena, from, report);
        if (r == 0)
                r = take_events(decoded, context->arena, from, report);
        if (r == 0)
                r = take_description(decoded, context, &from->description, report);
        if (r != 0)
                return r;

        decoded->n_work += (report->n_intervals + report->n_events) * CODEC_WORK_RESULT;
        decoded->request.pipeline_report = report;
        return 0;
}
