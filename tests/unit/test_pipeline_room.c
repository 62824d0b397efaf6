/* SPDX-License-Identifier: Apache-2.0 */
/* tests: daemon/pipelines/pipeline_room.c daemon/http/pipelines/pipelines_subject.c daemon/snapshot/snapshot.c */
#include "fake_adjtimex.h"
#include "room_fixture.h"

#include "http/pipelines/pipelines_subject.h"
#include "pipelines/pipeline_room.h"
#include "snapshot/snapshot.h"

static PipelineInterval interval_of(const char *stage, PipelinePart part, uint64_t end_ms) {
        return (PipelineInterval){
                .stage = stage, .part = part, .end_ms = end_ms, .sums = { .elapsed_s = 1, .n = 10, .time_s = 5 }
        };
}

/* Sends intervals as the peer, and returns the status of the answer. */
static Status report(Fixture *f, PipelineRoom *room, const char *job, PipelineInterval *intervals, size_t n) {
        const PipelineReport sent = { .job = job, .producer = "", .intervals = intervals, .n_intervals = n };
        const Request request = { .kind = REQUEST_PIPELINE_REPORT, .peer = f->peer, .pipeline_report = &sent };
        const Ticket ticket = { .connection = f->connection, .generation = 1, .number = ++f->n_requests };
        StoreDone done;
        int r;

        r = pipeline_room_kinds[0].place(room, &request, ticket, &f->answer);
        assert_true(r == 0 || r == DESK_PENDING);
        if (r == DESK_PENDING) {
                assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
                assert_ptr_equal(done.cookie.kind, &pipeline_room_kinds[0]);
                assert_int_equal(pipeline_room_kinds[0].complete(room, &done, &f->answer), 0);
        }
        return f->answer.status;
}

static void says(const char *text, const char *words) {
        if (!text || !strstr(text, words))
                fail_msg("%s does not say %s", text ? text : "nothing", words);
}

static void a_report_is_for_a_job_that_the_sender_may_act_for(void **state) {
        PipelineInterval interval = interval_of("0:1:a", PIPELINE_TASKS, 1000);
        Fixture *f = *state;
        PipelineRoom room;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(report(f, &room, "", &interval, 1), STATUS_NOT_FOUND);
        says(f->answer.complaint.text, "--job");
        assert_int_equal(report(f, &room, "never", &interval, 1), STATUS_NOT_FOUND);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        assert_int_equal(report(f, &room, "a", &interval, 1), STATUS_OK);
        assert_int_equal(report(f, &room, "a", &interval, 1), STATUS_DUPLICATE);
        says(f->answer.complaint.text, "1 intervals were stored before");
        f->peer.uid = 1001;
        assert_int_equal(report(f, &room, "a", &interval, 1), STATUS_DENIED);

        /* After its end, the store knows the owner; the last interval often comes then. */
        f->peer.uid = 1000;
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        interval.end_ms = 2000;
        assert_int_equal(report(f, &room, "a", &interval, 1), STATUS_OK);
        f->peer.uid = 1001;
        interval.end_ms = 3000;
        assert_int_equal(report(f, &room, "a", &interval, 1), STATUS_DENIED);
        assert_int_equal(room.stats.n_intervals, 2);
        assert_int_equal(room.stats.n_repeated, 1);
        pipeline_room_deinit(&room);
}

static void a_process_in_a_job_reports_for_it(void **state) {
        PipelineInterval interval = interval_of("0:1:a", PIPELINE_TASKS, 1000);
        Fixture *f = *state;
        PipelineRoom room;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(begin_in_42(f, "slurm-42"), STATUS_OK);
        f->peer.pid = PID_IN_42;
        f->connection++;
        assert_int_equal(report(f, &room, "", &interval, 1), STATUS_OK);
        assert_int_equal(
                ask_place(&f->place,
                          "SELECT count(*) FROM pipeline_series JOIN job ON job.row = job WHERE id = 'slurm-42'"),
                1);
        pipeline_room_deinit(&room);
}

static void a_failed_store_is_told(void **state) {
        PipelineInterval interval = interval_of("0:1:a", PIPELINE_TASKS, 1000);
        const PipelineReport sent = { .job = "a", .producer = "", .intervals = &interval, .n_intervals = 1 };
        const Request request = { .kind = REQUEST_PIPELINE_REPORT, .peer = { .uid = 0 }, .pipeline_report = &sent };
        Fixture *f = *state;
        PipelineRoom room;
        StoreDone done;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(pipeline_room_kinds[0].place(&room, &request, (Ticket){ .generation = 1 }, &f->answer),
                         DESK_PENDING);
        assert_true(wait_done(f->place.store, &done, DEADLINE_MS));
        done.outcome = STORE_FAILED;
        assert_int_equal(pipeline_room_kinds[0].complete(&room, &done, &f->answer), 0);
        assert_int_equal(f->answer.status, STATUS_UNAVAILABLE);
        pipeline_room_deinit(&room);
}

static void running_jobs_are_in_the_metrics_with_their_totals(void **state) {
        PipelineInterval intervals[] = { interval_of("0:1:a", PIPELINE_TASKS, 1000),
                                         interval_of("0:1:a", PIPELINE_QUEUE, 1000) };
        scoped(buffer_deinit) Buffer out = {};
        Snapshot snapshot = {};
        Exposition exposition;
        Fixture *f = *state;
        PipelineRoom room;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        for (uint64_t end_ms = 1000; end_ms <= 3000; end_ms += 1000) {
                intervals[0].end_ms = intervals[1].end_ms = end_ms;
                assert_int_equal(report(f, &room, "a", intervals, 2), STATUS_OK);
        }
        assert_int_equal(pipeline_room_publish(&room, &snapshot.pipelines), 0);
        exposition_init(&exposition, &out, false);
        pipelines_subject.collectors[0].collect(&exposition, &snapshot);
        pipelines_subject.collectors[1].collect(&exposition, &snapshot);
        says(out.text, "perfd_job_pipeline_tasks_total{job=\"a\",pipeline_stage=\"0:1:a\"} 30\n");
        says(out.text, "perfd_job_pipeline_task_seconds_total{job=\"a\",pipeline_stage=\"0:1:a\"} 15\n");
        says(out.text, "perfd_job_pipeline_items_total{job=\"a\",pipeline_stage=\"0:1:a\"} 30\n");
        says(out.text, "perfd_pipeline_intervals_total 6\n");

        /* A job that is over leaves them. */
        assert_int_equal(end_job(f, "a"), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot.pipelines), 0);
        assert_int_equal(snapshot.pipelines.n, 2);
        jobs_forget_finished(&f->jobs.jobs, UINT64_MAX, 0, 0);
        assert_int_equal(pipeline_room_publish(&room, &snapshot.pipelines), 0);
        assert_int_equal(snapshot.pipelines.n, 0);
        snapshot_deinit(&snapshot);
        pipeline_room_deinit(&room);
}

static size_t count_of(const PipelinesSnapshot *snapshot, const char *job) {
        size_t n = 0;

        for (size_t i = 0; i < snapshot->n; i++)
                n += strcmp(snapshot->totals[i].job, job) == 0;
        return n;
}

static void a_bounded_number_of_stages_is_shared_by_users(void **state) {
        static PipelineInterval intervals[LIVE_SERIES_MAX + 5];
        static char labels[N_ELEMENTS(intervals)][16];
        PipelinesSnapshot snapshot = {};
        Fixture *f = *state;
        PipelineRoom room;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        for (size_t i = 0; i < N_ELEMENTS(intervals); i++) {
                (void)snprintf(labels[i], sizeof(labels[i]), "%03zu:s", i);
                intervals[i] = interval_of(labels[i], PIPELINE_TASKS, 1000);
        }
        assert_int_equal(report(f, &room, "a", intervals, N_ELEMENTS(intervals)), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot), 0);
        assert_int_equal(snapshot.n, LIVE_SERIES_MAX);
        assert_int_equal(snapshot.stats.n_not_exposed, 5);

        /* Another user gets places of the user with the most, who cannot take them back. */
        f->peer.uid = 1001;
        f->connection++;
        assert_int_equal(begin_job(f, "b"), STATUS_OK);
        assert_int_equal(report(f, &room, "b", intervals, 2), STATUS_OK);
        f->peer.uid = 1000;
        f->connection++;
        for (size_t i = 0; i < N_ELEMENTS(intervals); i++)
                intervals[i].end_ms = 2000;
        assert_int_equal(report(f, &room, "a", intervals, N_ELEMENTS(intervals)), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot), 0);
        assert_int_equal(count_of(&snapshot, "b"), 2);
        assert_int_equal(count_of(&snapshot, "a"), LIVE_SERIES_MAX - 2);
        assert_int_equal(snapshot.stats.n_not_exposed, 7);

        /* With as many as the first user, the other takes no more. */
        f->peer.uid = 1001;
        f->connection++;
        assert_int_equal(report(f, &room, "b", intervals, N_ELEMENTS(intervals)), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot), 0);
        assert_int_equal(count_of(&snapshot, "b"), LIVE_SERIES_MAX / 2);
        assert_int_equal(count_of(&snapshot, "a"), LIVE_SERIES_MAX / 2);
        assert_int_equal(snapshot.stats.n_not_exposed, 2 * (LIVE_SERIES_MAX / 2 + 5));

        snapshot_pipelines_deinit(&snapshot);
        pipeline_room_deinit(&room);
}

static size_t n_with_long_labels(const PipelinesSnapshot *snapshot, const char *job) {
        assert_in_range(strlen(snapshot->totals[0].stage), PIPELINE_LABEL_MAX - 1, PIPELINE_LABEL_MAX);
        return count_of(snapshot, job);
}

/* Long labels take the place of more than one short label: the text of all is limited, and users share it. */
static void the_text_of_stages_is_shared_by_users(void **state) {
        static PipelineInterval intervals[LIVE_SERIES_MAX];
        static char labels[N_ELEMENTS(intervals)][PIPELINE_LABEL_MAX];
        const size_t n_fitting = LIVE_TEXT_MAX / (PIPELINE_LABEL_MAX - 1 + 1);
        PipelinesSnapshot snapshot = {};
        Fixture *f = *state;
        PipelineRoom room;

        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        for (size_t i = 0; i < N_ELEMENTS(intervals); i++) {
                (void)snprintf(labels[i], sizeof(labels[i]), "%03zu:%0*d", i, (int)PIPELINE_LABEL_MAX - 5, 0);
                intervals[i] = interval_of(labels[i], PIPELINE_TASKS, 1000);
        }
        assert_int_equal(report(f, &room, "a", intervals, N_ELEMENTS(intervals)), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot), 0);
        assert_int_equal(n_with_long_labels(&snapshot, "a"), n_fitting);
        assert_int_equal(snapshot.stats.n_not_exposed, LIVE_SERIES_MAX - n_fitting);

        f->peer.uid = 1001;
        f->connection++;
        assert_int_equal(begin_job(f, "b"), STATUS_OK);
        assert_int_equal(report(f, &room, "b", intervals, N_ELEMENTS(intervals)), STATUS_OK);
        assert_int_equal(pipeline_room_publish(&room, &snapshot), 0);
        assert_int_equal(n_with_long_labels(&snapshot, "b"), n_fitting / 2);
        assert_int_equal(count_of(&snapshot, "a"), n_fitting - n_fitting / 2);

        snapshot_pipelines_deinit(&snapshot);
        pipeline_room_deinit(&room);
}

static void a_time_far_ahead_is_not_believed(void **state) {
        const uint64_t now_ms = clock_realtime_ns() / NS_PER_MS, ahead_ms = now_ms + UINT64_C(2) * 3600 * 1000;
        PipelineInterval intervals[] = { interval_of("0:1:a", PIPELINE_TASKS, 1000),
                                         interval_of("0:1:a", PIPELINE_QUEUE, 1000),
                                         interval_of("0:2:b", PIPELINE_TASKS, ahead_ms) };
        PipelineEvent event = { "gc", ahead_ms, 1 };
        const PipelineReport sent = { .job = "a", .producer = "", .events = &event, .n_events = 1 };
        Fixture *f = *state;
        const Request request = { .kind = REQUEST_PIPELINE_REPORT, .peer = f->peer, .pipeline_report = &sent };
        PipelineRoom room;

        intervals[1].stage = intervals[0].stage;
        pipeline_room_init(&room, f->place.store, &f->jobs.identity, &f->jobs.jobs);
        assert_int_equal(begin_job(f, "a"), STATUS_OK);
        fake_adjtimex(EPERM);
        assert_int_equal(report(f, &room, "a", intervals, 3), STATUS_OK);
        assert_int_equal(ask_place(&f->place, "SELECT count(*) FROM pipeline_series"), 3);
        assert_in_range(ask_place(&f->place, "SELECT max(end_ms) FROM pipeline_series"), now_ms, now_ms + 3600 * 1000);

        fake_adjtimex(0);
        intervals[2].end_ms = ahead_ms;
        assert_int_equal(report(f, &room, "a", intervals, 3), STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "pipeline_report.stages[1].time_ms");
        says(f->answer.complaint.text, "more than an hour ahead of this node's synchronised clock");
        assert_int_equal(pipeline_room_kinds[0].place(
                                 &room, &request, (Ticket){ .connection = f->connection, .generation = 1 }, &f->answer),
                         0);
        assert_int_equal(f->answer.status, STATUS_INVALID);
        assert_string_equal(f->answer.complaint.path, "pipeline_report.events[0].time_ms");
        intervals[2].end_ms = now_ms + 1800 * 1000;
        assert_int_equal(report(f, &room, "a", intervals, 3), STATUS_OK);
        pipeline_room_deinit(&room);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                ROOM_TEST(a_report_is_for_a_job_that_the_sender_may_act_for),
                ROOM_TEST(a_process_in_a_job_reports_for_it),
                ROOM_TEST(a_failed_store_is_told),
                ROOM_TEST(running_jobs_are_in_the_metrics_with_their_totals),
                ROOM_TEST(a_time_far_ahead_is_not_believed),
                ROOM_TEST(a_bounded_number_of_stages_is_shared_by_users),
                ROOM_TEST(the_text_of_stages_is_shared_by_users),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
