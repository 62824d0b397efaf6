/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a job in JSON, from a real store and from a snapshot. */
/* tests: daemon/http/jobs/jobs_subject.c */

#include "http/routes.h"
#include "measure/export_samples.h"
#include "measure/timeline.h"
#include "snapshot_fixture.h"
#include "store/jobs/job_rows.h"
#include "store_fixture.h"

typedef struct Fixture {
        Place place;
        Snapshot snapshot; /* with the running job job-0 */
        Buffer body;
        Exchange exchange;
} Fixture;

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 2, .n_jobs = 1 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        place_make(&fixture->place);
        place_open(&fixture->place);
        fixture_fill(&fixture->snapshot, &size);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        snapshot_deinit(&fixture->snapshot);
        place_remove(&fixture->place);
        buffer_deinit(&fixture->body);
        free(fixture);
        return 0;
}

/* Stores the ended job "over", which began at 1 s. */
static void put_job_with(Fixture *fixture, const Buffer *timeline) {
        const JobInfo info = { .id = "over", .uid = 1000, .rank = 3, .node = -1 };
        const StoreJobEnd end = {
                .job = "over", .state = JOB_FINISHED, .end_realtime_ms = 9000, .end = &(JobEnd){}, .timeline = timeline,
        };

        assert_int_equal(store_put(fixture->place.store,
                                   pack_begin_row(&info, 1000, "boot-1", "progress", "meter", cookie_of(1))),
                         0);
        assert_int_equal(outcome_of(fixture->place.store, 1), STORE_DONE);
        assert_int_equal(store_put(fixture->place.store, job_rows_pack_end(&end, cookie_of(2))), 0);
        assert_int_equal(outcome_of(fixture->place.store, 2), STORE_DONE);
}

/* samples: NULL for none. */
static void put_job(Fixture *fixture, const ExportSamples *samples) {
        scoped(buffer_deinit) Buffer bytes = {};

        assert_int_equal(timeline_write(&(Timeline){ .interval_ns = 1 }, &bytes), 0);
        if (samples)
                export_samples_write(samples, &bytes);
        put_job_with(fixture, &bytes);
}

static const char *ask(Fixture *fixture, const char *job, const char *compat) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/api/v1/jobs/%s/perf-report", job);
        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        fixture->exchange.sources.reader = fixture->place.reader;
        assert_int_equal(exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path), 0);
        if (compat)
                assert_int_equal(exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response,
                                                        "compat", compat),
                                 0);
        routes_answer(&fixture->exchange);
        return fixture->body.text;
}

static ExportSample sample_at(uint64_t end_ms, uint32_t ratio) {
        ExportSample sample = { .end_realtime_ms = end_ms };

        for (size_t i = 0; i < N_EXPORT_RATIOS; i++)
                sample.ratios[i] = ratio;
        return sample;
}

static void stored_samples_are_listed_by_field(void **state) {
        Fixture *fixture = *state;
        ExportSample samples[] = { sample_at(2000, EXPORT_RATIO_STEPS / 4), sample_at(3000, EXPORT_RATIO_STEPS) };
        const ExportSamples list = {
                .begin_realtime_ms = 1500, .n_merged = 4, .n = N_ELEMENTS(samples), .samples = samples
        };
        const char *answer;

        put_job(fixture, &list);
        answer = ask(fixture, "over", NULL);
        assert_int_equal(fixture->exchange.response.status, 200);
        assert_non_null(strstr(answer, "{\"job\":\"over\",\"rank\":3,\"begin_ms\":1000,"
                                       "\"samples_begin_ms\":1500,\"n_merged\":4,\"samples\":{"));
        assert_non_null(strstr(answer, "[25.0,100.0]"));
}

static void a_job_without_samples_has_empty_lists(void **state) {
        Fixture *fixture = *state;
        const char *answer;

        put_job(fixture, NULL);
        answer = ask(fixture, "over", "1");
        assert_int_equal(fixture->exchange.response.status, 200);
        assert_non_null(strstr(answer, "\"samples_begin_ms\":null,\"n_merged\":1,\"samples\":{"));
        assert_null(strstr(answer, "[1"));
}

static void a_running_job_is_answered_from_the_snapshot(void **state) {
        Fixture *fixture = *state;
        const char *answer = ask(fixture, "job-0", NULL);

        assert_int_equal(fixture->exchange.response.status, 200);
        assert_non_null(strstr(answer, "\"job\":\"job-0\""));
}

static void errors_are_reported(void **state) {
        Fixture *fixture = *state;

        (void)ask(fixture, "nobody", NULL);
        assert_int_equal(fixture->exchange.response.status, 404);
        put_job_with(fixture, &BYTES("no columns"));
        (void)ask(fixture, "over", "maybe");
        assert_int_equal(fixture->exchange.response.status, 400);
        assert_non_null(strstr(ask(fixture, "over", NULL), "\"samples_begin_ms\":null"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(stored_samples_are_listed_by_field),
                TEST(a_job_without_samples_has_empty_lists),
                TEST(a_running_job_is_answered_from_the_snapshot),
                TEST(errors_are_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
