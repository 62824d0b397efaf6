/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/ingest/codec/codec_pipelines.c */
#include "codec_fixture.h"

#include <math.h>

#include "proto/perfd.pb-c.h"

/* A report of one stage with both parts, and what a test changes of it. */
typedef struct Sent {
        Perfd__V1__Request request;
        Perfd__V1__PipelineReport report;
        Perfd__V1__PipelineStage stage, *stages[1];
        Perfd__V1__PipelineTasks tasks;
        Perfd__V1__PipelineQueue queue;
        Perfd__V1__PipelineEvent event, *events[1];
} Sent;

static void sent_init(Sent *sent) {
        perfd__v1__request__init(&sent->request);
        perfd__v1__pipeline_report__init(&sent->report);
        perfd__v1__pipeline_stage__init(&sent->stage);
        perfd__v1__pipeline_tasks__init(&sent->tasks);
        perfd__v1__pipeline_queue__init(&sent->queue);
        perfd__v1__pipeline_event__init(&sent->event);
        sent->request.sequence = 9;
        sent->request.body_case = PERFD__V1__REQUEST__BODY_PIPELINE_REPORT;
        sent->request.pipeline_report = &sent->report;
        sent->report.job = (char *)"train-17";
        sent->report.producer = (char *)"spdl 0.8.0";
        sent->report.n_stages = 1;
        sent->report.stages = sent->stages;
        sent->stages[0] = &sent->stage;
        sent->report.n_events = 1;
        sent->report.events = sent->events;
        sent->events[0] = &sent->event;
        sent->stage.stage = (char *)"0:1:decode[4]";
        sent->stage.time_ms = 1764000060000;
        sent->stage.tasks = &sent->tasks;
        sent->stage.queue = &sent->queue;
        sent->tasks.num_tasks = 10;
        sent->tasks.num_failures = 2;
        sent->tasks.ave_time = 0.5;
        sent->tasks.p99_time = 0.75;
        sent->queue.elapsed = 60;
        sent->queue.num_items = 8;
        sent->queue.ave_put_time = 0.25;
        sent->queue.ave_get_time = 2;
        sent->queue.p90_get_time = 3;
        sent->queue.buffer_size = 2;
        sent->queue.occupancy_given_case = PERFD__V1__PIPELINE_QUEUE__OCCUPANCY_GIVEN_OCCUPANCY_RATE;
        sent->queue.occupancy_rate = 0.5;
        sent->event.name = (char *)"gc";
        sent->event.seconds = 0.125;
}

static Buffer packed(const Sent *sent) {
        Buffer buffer = {};
        size_t n = perfd__v1__request__get_packed_size(&sent->request);

        (void)perfd__v1__request__pack(&sent->request, (uint8_t *)buffer_extend(&buffer, n));
        return buffer;
}

static int decode_sent(Fixture *f, const Sent *sent) {
        Buffer buffer = packed(sent);

        return decode(f, &buffer);
}

static void assert_sent_refused(Fixture *f, const Sent *sent, Status status, const char *path, const char *words) {
        Buffer buffer = packed(sent);

        assert_refused(f, &buffer, status, path, words);
}

static void a_report_has_the_sums_of_its_intervals(void **state) {
        const PipelineReport *report;
        Sent sent;

        sent_init(&sent);
        assert_int_equal(decode_sent(*state, &sent), 0);
        assert_int_equal(((Fixture *)*state)->decoded.request.kind, REQUEST_PIPELINE_REPORT);
        report = ((Fixture *)*state)->decoded.request.pipeline_report;
        assert_string_equal(report->job, "train-17");
        assert_int_equal(report->n_intervals, 2);
        assert_int_equal(report->intervals[0].part, PIPELINE_TASKS);
        assert_string_equal(report->intervals[0].stage, "0:1:decode[4]");
        assert_int_equal(report->intervals[0].end_ms, 1764000060000);
        assert_true(report->intervals[0].sums.n == 10 && report->intervals[0].sums.n_failures == 2);
        assert_true(report->intervals[0].sums.time_s == 4);
        assert_true(report->intervals[0].percentiles.p99_s == 0.75);
        assert_int_equal(report->intervals[1].part, PIPELINE_QUEUE);
        assert_true(report->intervals[1].sums.time_s == 2 && report->intervals[1].sums.get_s == 16);
        assert_true(report->intervals[1].sums.ready_s == 30 && report->intervals[1].sums.judged_s == 60);
        assert_true(report->intervals[1].percentiles.get_p90_s == 3);
        assert_int_equal(report->intervals[1].buffer_size, 2);
        assert_int_equal(report->n_events, 1);
        assert_true(report->events[0].seconds == 0.125);
}

static void readiness_without_items_counts_only_if_the_producer_measures_it(void **state) {
        const struct {
                const char *producer;
                bool is_known;
        } cases[] = {
                { "spdl 0.8.0", true }, { "spdl=1.0", true }, { "spdl 0.7.2", false }, { "spdl 0.6", false }, { "", false },
                { "perfd-torch 1", true },
        };
        Fixture *f = *state;
        Sent sent;

        sent_init(&sent);
        sent.queue.num_items = 0;
        sent.queue.occupancy_rate = 1;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                sent.report.producer = (char *)cases[i].producer;
                assert_int_equal(decode_sent(f, &sent), 0);
                assert_int_equal(f->decoded.request.pipeline_report->intervals[1].sums.judged_s > 0, cases[i].is_known);
        }
}

static void invalid_values_are_refused_with_their_place(void **state) {
        Fixture *f = *state;
        Sent sent;

        sent_init(&sent);
        sent.stage.stage = (char *)"decode";
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].stage", "POSITION:NAME");
        sent.stage.stage = (char *)"1:a\nb";
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].stage", "control characters");
        sent_init(&sent);
        sent.stage.tasks = NULL;
        sent.stage.queue = NULL;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].tasks", "missing");
        sent_init(&sent);
        sent.stage.time_ms = UINT64_MAX;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].time_ms", "2261");
        sent_init(&sent);
        sent.tasks.ave_time = -1;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].tasks.ave_time", "is -1");
        sent_init(&sent);
        sent.tasks.num_failures = 11;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].tasks.num_failures",
                            "is 11, expected 0 to 10");
        sent_init(&sent);
        sent.queue.elapsed = NAN;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].queue.elapsed", "nan");
        sent_init(&sent);
        sent.queue.occupancy_rate = 1.5;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.stages[0].queue.occupancy_rate", "0 to 1");
        sent_init(&sent);
        sent.event.name = (char *)"";
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.events[0].name", "is empty");
        sent_init(&sent);
        sent.event.seconds = INFINITY;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.events[0].seconds", "inf");
        sent_init(&sent);
        sent.event.time_ms = UINT64_MAX;
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.events[0].time_ms", "2261");
        sent_init(&sent);
        sent.report.job = (char *)"a b";
        assert_sent_refused(f, &sent, STATUS_INVALID, "pipeline_report.job", "is not valid");
}

static void a_report_is_bounded(void **state) {
        static Perfd__V1__PipelineStage *stages[PIPELINE_REPORT_INTERVALS_MAX / 2 + 1];
        static Perfd__V1__PipelineEvent *events[PIPELINE_REPORT_EVENTS_MAX + 1];
        Sent sent;

        sent_init(&sent);
        for (size_t i = 0; i < N_ELEMENTS(stages); i++)
                stages[i] = &sent.stage;
        for (size_t i = 0; i < N_ELEMENTS(events); i++)
                events[i] = &sent.event;
        sent.report.stages = stages;
        sent.report.n_stages = N_ELEMENTS(stages) - 1;
        assert_int_equal(decode_sent(*state, &sent), 0);
        sent.report.n_stages = N_ELEMENTS(stages);
        assert_sent_refused(*state, &sent, STATUS_TOO_LARGE, "pipeline_report.stages", "up to 1000");
        sent_init(&sent);
        sent.report.events = events;
        sent.report.n_events = N_ELEMENTS(events);
        assert_sent_refused(*state, &sent, STATUS_TOO_LARGE, "pipeline_report.events", "up to 1000");
}

static void a_description_is_a_valid_object(void **state) {
        static char large[PIPELINE_DESCRIPTION_MAX + 2];
        const struct {
                const char *text;
                Status status;
                const char *words;
        } cases[] = {
                { "{\"threads\":", STATUS_INVALID, "is not valid JSON" },
                { "{\"a\":1,\"a\":2}", STATUS_INVALID, "twice" },
                { large, STATUS_TOO_LARGE, "65536" },
        };
        Fixture *f = *state;
        Sent sent;

        memset(large, ' ', sizeof(large) - 1);
        sent_init(&sent);
        sent.report.description = (ProtobufCBinaryData){ 14, (uint8_t *)(char[]){ "{\"threads\": 4}" } };
        assert_int_equal(decode_sent(f, &sent), 0);
        assert_int_equal(f->decoded.request.pipeline_report->description.n, 14);
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                sent.report.description = (ProtobufCBinaryData){ strlen(cases[i].text), (uint8_t *)cases[i].text };
                assert_int_equal(decode_sent(f, &sent), CODEC_REFUSED);
                assert_int_equal(f->decoded.refusal.status, cases[i].status);
                if (!strstr(f->decoded.refusal.complaint.text, cases[i].words))
                        fail_msg("'%s' does not say '%s'", f->decoded.refusal.complaint.text, cases[i].words);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_report_has_the_sums_of_its_intervals),
                TEST(readiness_without_items_counts_only_if_the_producer_measures_it),
                TEST(invalid_values_are_refused_with_their_place),
                TEST(a_report_is_bounded),
                TEST(a_description_is_a_valid_object),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
