/* SPDX-License-Identifier: Apache-2.0 */
/* Phases and jobs from a real store in JSON. */
/* tests: daemon/http/jobs/jobs_subject.c daemon/http/jobs/job_lookup.c */

#include <inttypes.h>

#include "http/jobs/phases_json.h"
#include "http/routes.h"
#include "snapshot_fixture.h"
#include "store/jobs/job_rows.h"
#include "store_fixture.h"

typedef struct Fixture {
        Place place;
        Snapshot snapshot; /* with the running job job-0 */
        JobRecord *job;
        Buffer body;
        Exchange exchange;
} Fixture;

static void put_begin(Fixture *fixture) {
        scoped(job_info_deinit) JobInfo info = {};

        assert_int_equal(job_description_info(&fixture->job->info, &info), 0);
        assert_int_equal(store_put(fixture->place.store, pack_begin_row(&info, fixture->job->begin_realtime_ms,
                                                                        "boot-1", "progress", "meter", cookie_of(1))),
                         0);
        assert_int_equal(outcome_of(fixture->place.store, 1), STORE_DONE);
}

static int setup(void **state) {
        const SnapshotSize size = { .n_cpus = 2, .n_jobs = 1 };
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        place_make(&fixture->place);
        place_open(&fixture->place);
        fixture_fill(&fixture->snapshot, &size);
        fixture->job = &fixture->snapshot.jobs.records[0];
        put_begin(fixture);
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

/* Makes phase i, from 100 i to 100 (i + 1) ms after the start of the job, without metrics. */
static PhaseView make_phase(const Fixture *fixture, uint32_t index, const char *name) {
        uint64_t begin_ms = fixture->job->begin_realtime_ms + UINT64_C(100) * index;
        PhaseView phase = { .index = index, .begin_realtime_ms = begin_ms, .end_realtime_ms = begin_ms + 100 };

        (void)snprintf(phase.name, sizeof(phase.name), "%s", name);
        return phase;
}

static void send_phase(Fixture *fixture, const PhaseView *phase) {
        StorePhase row = {
                .job = "job-0", .phase = phase, .progress = "progress", .boot_id = "boot-1", .meter = "meter"
        };

        assert_int_equal(store_put(fixture->place.store, job_rows_pack_phase(&row, cookie_of(3))), 0);
}

static void put_phase(Fixture *fixture, const PhaseView *phase) {
        send_phase(fixture, phase);
        assert_int_equal(outcome_of(fixture->place.store, 3), STORE_DONE);
}

static void put_named(Fixture *fixture, uint32_t index, const char *name) {
        PhaseView phase = make_phase(fixture, index, name);

        put_phase(fixture, &phase);
}

/* Sets the current phase in the snapshot. */
static void set_lasting(Fixture *fixture, uint32_t index, const char *name) {
        PhaseView view = make_phase(fixture, index, name);
        Phase phase = { .index = index, .begin_realtime_ms = view.begin_realtime_ms };

        memcpy(phase.name, view.name, sizeof(phase.name));
        fixture_set_phase(&fixture->snapshot.jobs, 0, &phase);
}

static const char *ask(Fixture *fixture, const char *path, const char *name, const char *value) {
        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        fixture->exchange.sources.reader = fixture->place.reader;
        assert_int_equal(exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path), 0);
        if (name)
                assert_int_equal(
                        exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, name, value), 0);
        routes_answer(&fixture->exchange);
        return fixture->body.text;
}

static const char *ask_job(Fixture *fixture) {
        const char *text = ask(fixture, "/api/v1/jobs/job-0", NULL, NULL);

        assert_int_equal(fixture->exchange.response.status, 200);
        return text;
}

static const char *ask_times(Fixture *fixture) {
        /* Remove all metrics except the times. */
        JobResult *result = &fixture->snapshot.jobs.results[0];

        memset(result->metrics.quality, QUALITY_LOST, sizeof(result->metrics.quality));
        memset(result->usage.quality, QUALITY_LOST, sizeof(result->usage.quality));
        return ask(fixture, "/api/v1/jobs/job-0/metrics", "phases", "1");
}

static size_t count(const char *text, const char *word) {
        size_t n = 0;

        for (const char *p = text; (p = strstr(p, word)); p++)
                n++;
        return n;
}

static void a_job_that_was_never_marked_has_none(void **state) {
        Fixture *fixture = *state;

        assert_non_null(strstr(ask_job(fixture), "\"phases\":[],\"phases_truncated\":false"));
        assert_string_equal(ask_times(fixture), "{\"metrics\":[]}");
}

static void ended_phases_come_in_order_before_the_current_one(void **state) {
        Fixture *fixture = *state;
        PhaseView phase;
        const char *text;

        put_named(fixture, 0, "");
        phase = make_phase(fixture, 1, "load");
        phase.metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        phase.metrics.value[METRIC_DURATION] = 0.125;
        phase.usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        phase.usage.value[USAGE_CPU_SECONDS] = 0.5;
        put_phase(fixture, &phase);
        set_lasting(fixture, 2, "tr\xc3\xa4in \"x\"\\");

        text = strstr(ask_job(fixture), "\"phases\":");
        assert_non_null(text);
        assert_string_equal(text, "\"phases\":[{\"index\":0,\"name\":\"\",\"begin_ms\":1763676000000,\"end_ms\":"
                                  "1763676000100,\"seconds\":0.1,"
                                  "\"metrics\":[]},"
                                  "{\"index\":1,\"name\":\"load\",\"begin_ms\":1763676000100,\"end_ms\":1763676000200,"
                                  "\"seconds\":0.125,"
                                  "\"metrics\":[{\"key\":\"duration_seconds\",\"value\":0.125,\"unit\":\"s\","
                                  "\"quality\":\"exact\","
                                  "\"scope\":\"node\"},"
                                  "{\"key\":\"job_cpu_seconds\",\"value\":0.5,\"unit\":\"s\",\"quality\":\"exact\","
                                  "\"scope\":\"job\"}]},"
                                  "{\"index\":2,\"name\":\"tr\xc3\xa4in "
                                  "\\\"x\\\"\\\\\",\"begin_ms\":1763676000200,\"end_ms\":null,"
                                  "\"seconds\":0.0,\"metrics\":[]}],\"phases_truncated\":false}");
}

static void the_current_phase_grows_with_the_samples(void **state) {
        Fixture *fixture = *state;

        set_lasting(fixture, 0, "train");
        fixture->snapshot.node.realtime_ns = (fixture->job->begin_realtime_ms + 2500) * NS_PER_MS;
        assert_non_null(strstr(ask_job(fixture), "\"end_ms\":null,\"seconds\":2.5,"));
}

static void seconds_measured_by_the_client_take_precedence(void **state) {
        Fixture *fixture = *state;
        PhaseView phase = make_phase(fixture, 0, "load");

        phase.has_wall_seconds = true;
        phase.wall_seconds = 0.0625;
        phase.metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        phase.metrics.value[METRIC_DURATION] = 0.125;
        put_phase(fixture, &phase);
        assert_non_null(strstr(ask_job(fixture), "\"seconds\":0.0625,"));
}

static void a_snapshot_that_lags_does_not_show_a_phase_twice(void **state) {
        Fixture *fixture = *state;
        const char *text;

        put_named(fixture, 0, "load");
        set_lasting(fixture, 0, "load");
        text = ask_job(fixture);
        assert_int_equal(count(text, "\"name\":\"load\""), 1);
        assert_non_null(strstr(text, "\"phases_truncated\":false"));
}

static void phases_beyond_the_limit_are_reported_as_missing(void **state) {
        Fixture *fixture = *state;
        const char *text;

        for (uint32_t i = 0; i <= PHASES_MAX; i++) {
                PhaseView phase = make_phase(fixture, i, "step");

                send_phase(fixture, &phase);
        }
        for (uint32_t i = 0; i <= PHASES_MAX; i++)
                assert_int_equal(outcome_of(fixture->place.store, 3), STORE_DONE);
        set_lasting(fixture, PHASES_MAX + 1, "last");

        text = ask_job(fixture);
        assert_int_equal(count(text, "\"name\":\"step\""), PHASES_MAX);
        assert_int_equal(count(text, "\"name\":\"last\""), 1);
        assert_non_null(strstr(text, "\"phases_truncated\":true"));
        text = ask_times(fixture);
        assert_non_null(strstr(text, "{\"key\":\"step\",\"value\":100.09999999"));
}

static void an_answer_has_a_size_whatever_is_in_the_phases(void **state) {
        Fixture *fixture = *state;
        const char *text;

        for (uint32_t i = 0; i < PHASES_MAX; i++) {
                PhaseView phase = make_phase(fixture, i, "step");

                phase.metrics = fixture->snapshot.jobs.results[0].metrics;
                phase.usage = fixture->snapshot.jobs.results[0].usage;
                send_phase(fixture, &phase);
        }
        for (uint32_t i = 0; i < PHASES_MAX; i++)
                assert_int_equal(outcome_of(fixture->place.store, 3), STORE_DONE);

        text = ask_job(fixture);
        assert_in_range(fixture->body.n, PHASES_BYTES_MAX, PHASES_BYTES_MAX + 65536);
        assert_non_null(strstr(text, "\"phases_truncated\":true"));
}

static void an_unreadable_store_is_reported(void **state) {
        Fixture *fixture = *state;
        const char *text;

        put_named(fixture, 0, "load");
        set_lasting(fixture, 1, "train");
        reader_free(fixture->place.reader);
        assert_int_equal(reader_new(&fixture->place.reader, "/nonexistent/perfd.db", NULL, NS_PER_S), 0);

        text = ask_job(fixture);
        assert_null(strstr(text, "\"load\""));
        assert_non_null(strstr(text, "\"name\":\"train\""));
        assert_non_null(strstr(text, "\"phases_truncated\":true"));
        (void)ask_times(fixture);
        assert_int_equal(fixture->exchange.response.status, 503);
}

static void time_blocks_are_summed_by_name(void **state) {
        Fixture *fixture = *state;
        PhaseView phase;

        put_named(fixture, 0, "");
        put_named(fixture, 1, "load");
        put_named(fixture, 2, "train");
        phase = make_phase(fixture, 3, "load");
        phase.has_wall_seconds = true;
        phase.wall_seconds = 0.4;
        put_phase(fixture, &phase);
        set_lasting(fixture, 4, "train"); /* without seconds so far */

        /* The seconds measured by perfctl time cover the whole block, including its first part. */
        assert_string_equal(ask_times(fixture),
                            "{\"metrics\":[{\"key\":\"load\",\"value\":0.4,\"timestamp\":1763676000000,\"step\":0},"
                            "{\"key\":\"train\",\"value\":0.1,\"timestamp\":1763676000000,\"step\":0}]}");
        assert_string_equal(ask(fixture, "/api/v1/jobs/job-0/metrics", "phases", "0"), "{\"metrics\":[]}");
}

static void a_name_that_is_a_metrics_key_gets_a_prefix(void **state) {
        static const char *const names[] = {
                "duration_seconds", "job_cpu_seconds", "max_t_(mem_percent)", "phase/duration_seconds", "phases",
        };
        static const char *const keys[] = {
                "phase/duration_seconds",
                "phase/job_cpu_seconds",
                "phase/max_t_(mem_percent)",
                "phase/phase/duration_seconds",
                "phases",
        };
        Fixture *fixture = *state;
        const char *p;

        for (uint32_t i = 0; i < N_ELEMENTS(names); i++)
                put_named(fixture, i, names[i]);
        p = ask_times(fixture);
        for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
                char line[128];

                (void)snprintf(line, sizeof(line), "{\"key\":\"%s\",\"value\":0.1,", keys[i]);
                p = strstr(p, line);
                assert_non_null(p);
        }
}

static void the_longest_name_with_its_prefix_is_whole(void **state) {
        Fixture *fixture = *state;
        char name[PHASE_NAME_MAX], key[128];

        memset(name, 'x', sizeof(name) - 1);
        memcpy(name, PHASES_PREFIX, strlen(PHASES_PREFIX));
        name[sizeof(name) - 1] = '\0';
        put_named(fixture, 0, name);
        (void)snprintf(key, sizeof(key), "{\"key\":\"" PHASES_PREFIX "%s\"", name);
        assert_non_null(strstr(ask_times(fixture), key));
}

static void jobs_are_listed_with_their_live_metrics(void **state) {
        Fixture *fixture = *state;

        assert_non_null(strstr(ask(fixture, "/api/v1/jobs", "state", "running"), "\"id\":\"job-0\""));
        assert_non_null(strstr(fixture->body.text, "\"cpu_avg_utilization_pct\":"));
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs", "state", "finished"), "\"jobs\":[]"));
        (void)ask(fixture, "/api/v1/jobs", "state", "gone");
        assert_int_equal(fixture->exchange.response.status, 400);
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs/job-0/samples", NULL, NULL), "\"interval_ms\""));
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs/job-0/metrics", "compat", "1"), "50.5"));
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs/job-0/metrics", "names", "raw"),
                               "\"key\":\"max_t_(cpu_pct_per_cpu_avg)\""));
        (void)ask(fixture, "/api/v1/jobs/job-0/metrics", "names", "short");
        assert_int_equal(fixture->exchange.response.status, 400);
        (void)ask(fixture, "/api/v1/jobs/job-0/metrics", "scope", "cluster");
        assert_int_equal(fixture->exchange.response.status, 400);
        (void)ask(fixture, "/api/v1/jobs/absent", NULL, NULL);
        assert_int_equal(fixture->exchange.response.status, 404);
}

static void put_end(Fixture *fixture, const MetricSet *metrics, const UsageSet *usage) {
        const StoreJobEnd row = {
                .job = "job-0",
                .state = JOB_FINISHED,
                .end_realtime_ms = fixture->job->begin_realtime_ms + 2500,
                .end = &(JobEnd){},
                .metrics = metrics,
                .usage = usage,
        };

        assert_int_equal(store_put(fixture->place.store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_int_equal(outcome_of(fixture->place.store, 2), STORE_DONE);
}

/* The snapshot still contains the job as running. */
static void a_job_that_has_ended_is_answered_from_the_store(void **state) {
        Fixture *fixture = *state;
        MetricSet metrics = {};
        UsageSet usage = {};
        char end[64], value[128];
        uint64_t end_ms = fixture->job->begin_realtime_ms + 2500;

        (void)snprintf(end, sizeof(end), "\"end_ms\":%" PRIu64 ",", end_ms);
        (void)snprintf(value, sizeof(value),
                       "{\"metrics\":[{\"key\":\"duration_seconds\",\"value\":2.5,\"timestamp\":%" PRIu64 ",", end_ms);
        memset(metrics.quality, QUALITY_LOST, sizeof(metrics.quality));
        memset(usage.quality, QUALITY_LOST, sizeof(usage.quality));
        metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        metrics.value[METRIC_DURATION] = 2.5;

        assert_non_null(strstr(ask_job(fixture), "\"state\":\"running\""));
        put_end(fixture, &metrics, &usage);
        assert_non_null(strstr(ask_job(fixture), "\"state\":\"finished\""));
        assert_non_null(strstr(fixture->body.text, end));
        assert_memory_equal(ask(fixture, "/api/v1/jobs/job-0/metrics", NULL, NULL), value, strlen(value));
        assert_int_equal(count(fixture->body.text, "\"key\":"), 1);
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs", "state", "running"), "\"jobs\":[]"));
        assert_non_null(
                strstr(ask(fixture, "/api/v1/jobs", "state", "finished"), "\"metrics\":{\"duration_seconds\":2.5}"));
}

static void an_end_without_metrics_has_none(void **state) {
        Fixture *fixture = *state;
        char begin[96];

        put_end(fixture, NULL, NULL);
        assert_string_equal(ask(fixture, "/api/v1/jobs/job-0/metrics", NULL, NULL), "{\"metrics\":[]}");
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs", "state", "finished"), "\"metrics\":null"));
        assert_non_null(strstr(ask_job(fixture), "\"state\":\"finished\""));
        assert_non_null(strstr(fixture->body.text, "\"metrics\":[],\"absent\":[],\"compat\":[]"));
        (void)snprintf(begin, sizeof(begin), "{\"begin_ms\":%" PRIu64 ",\"interval_ms\":0,\"series\":{",
                       fixture->job->begin_realtime_ms);
        assert_memory_equal(ask(fixture, "/api/v1/jobs/job-0/samples", NULL, NULL), begin, strlen(begin));
}

/* As between a begin request and the completion of its row. */
static void a_job_that_is_not_stored_yet_is_answered_from_the_snapshot(void **state) {
        Fixture *fixture = *state;

        fixture->job->info.id = "job-new";
        assert_non_null(strstr(ask(fixture, "/api/v1/jobs/job-new", NULL, NULL), "\"id\":\"job-new\""));
        assert_non_null(strstr(fixture->body.text, "\"state\":\"running\""));
        (void)ask(fixture, "/api/v1/jobs/job-newer", NULL, NULL);
        assert_int_equal(fixture->exchange.response.status, 404);
        assert_non_null(strstr(fixture->body.text, "no job 'job-newer' on this node"));
        (void)ask(fixture, "/api/v1/jobs/job%20new", NULL, NULL);
        assert_int_equal(fixture->exchange.response.status, 400);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(jobs_are_listed_with_their_live_metrics, setup, teardown),
                cmocka_unit_test_setup_teardown(a_job_that_has_ended_is_answered_from_the_store, setup, teardown),
                cmocka_unit_test_setup_teardown(an_end_without_metrics_has_none, setup, teardown),
                cmocka_unit_test_setup_teardown(a_job_that_is_not_stored_yet_is_answered_from_the_snapshot, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_job_that_was_never_marked_has_none, setup, teardown),
                cmocka_unit_test_setup_teardown(ended_phases_come_in_order_before_the_current_one, setup, teardown),
                cmocka_unit_test_setup_teardown(the_current_phase_grows_with_the_samples, setup, teardown),
                cmocka_unit_test_setup_teardown(seconds_measured_by_the_client_take_precedence, setup, teardown),
                cmocka_unit_test_setup_teardown(a_snapshot_that_lags_does_not_show_a_phase_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(phases_beyond_the_limit_are_reported_as_missing, setup, teardown),
                cmocka_unit_test_setup_teardown(an_answer_has_a_size_whatever_is_in_the_phases, setup, teardown),
                cmocka_unit_test_setup_teardown(an_unreadable_store_is_reported, setup, teardown),
                cmocka_unit_test_setup_teardown(time_blocks_are_summed_by_name, setup, teardown),
                cmocka_unit_test_setup_teardown(a_name_that_is_a_metrics_key_gets_a_prefix, setup, teardown),
                cmocka_unit_test_setup_teardown(the_longest_name_with_its_prefix_is_whole, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
