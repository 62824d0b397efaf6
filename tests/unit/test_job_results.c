/* SPDX-License-Identifier: Apache-2.0 */
/* Results that the store makes when a job ends, and the jobs that a model is about. */
/* tests: daemon/store/indicators/job_results.c daemon/store/pipelines/pipeline_reader.c */
#include "store_fixture.h"

#include "document/indicator_model.h"
#include "measure/metric.h"
#include "store/indicators/job_results.h"
#include "store/indicators/model_rows.h"
#include "store/jobs/job_rows.h"
#include "store/pipelines/pipeline_reader.h"
#include "store/pipelines/pipeline_rows.h"
#include "value/value_parse.h"

#define UID      1000
#define BEGIN_MS UINT64_C(1764000000000)

/* A model in an arena. */
typedef struct Declared {
        Arena arena;
        IndicatorModel model;
} Declared;

static void declare(Declared *ret, const char *text) {
        const Value *document;
        Complaint complaint;
        ValueError error;
        bool unused;

        assert_int_equal(arena_init(&ret->arena, value_parse_arena_size(strlen(text)) + MODEL_ARENA_BYTES), 0);
        assert_int_equal(value_parse(text, strlen(text), &ret->arena, &document, &unused, &error), 0);
        if (indicator_model_from_value(document, &ret->arena, &ret->model, &complaint) != 0)
                fail_msg("%s: %s", complaint.path, complaint.text);
}

static void put_model(Place *place, const char *text, uint32_t uid) {
        Declared declared = {};
        const IndicatorModel *model = &declared.model;

        declare(&declared, text);
        assert_int_equal(
                store_put(place->store, model_rows_pack(&(StoreModels){ &model, 1, uid, uid == 0 }, 1, cookie_of(1))),
                0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
        arena_deinit(&declared.arena);
}

static void begin_job(Place *place, const char *id, const char *name) {
        JobLabel labels[] = { { "gpus", "4" }, { "model", "llama3" }, { "ratio", "0.5" }, { "fast", "true" } };
        JobInfo info = {
                .uid = UID, .gid = UID, .rank = -1, .node = -1, .labels = labels, .n_labels = N_ELEMENTS(labels)
        };

        (void)snprintf(info.id, sizeof(info.id), "%s", id);
        (void)snprintf(info.name, sizeof(info.name), "%s", name);
        assert_int_equal(
                store_put(place->store, pack_begin_row(&info, BEGIN_MS, "boot-1", "progress", "meter", cookie_of(1))),
                0);
        assert_int_equal(outcome_of(place->store, 1), STORE_DONE);
}

/* Ends a job that took 10 s. Returns the number of row sets that the store made of the end. */
static size_t end_job(Place *place, const char *id, JobState state, int exit_status) {
        const JobEnd end = { .has_exit_status = true, .exit_status = exit_status };
        MetricSet metrics = {};
        UsageSet usage = {};
        StoreJobEnd row = {
                .job = id,
                .state = state,
                .end_realtime_ms = BEGIN_MS + 10000,
                .end = &end,
                .metrics = &metrics,
                .usage = &usage,
        };
        size_t n = 0;
        StoreDone done;

        metrics.quality[METRIC_DURATION] = QUALITY_EXACT;
        metrics.value[METRIC_DURATION] = 10;
        metrics.quality[METRIC_CPU_MEAN] = QUALITY_SAMPLED;
        metrics.value[METRIC_CPU_MEAN] = 0.25;
        usage.quality[USAGE_CPU_SECONDS] = QUALITY_EXACT;
        usage.value[USAGE_CPU_SECONDS] = 5;
        assert_int_equal(store_put(place->store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_true(wait_done(place->store, &done, DEADLINE_MS));
        assert_int_equal(done.outcome, STORE_DONE);
        for (const RowSet *made = done.rows->derived; made; made = made->derived)
                n++;
        return n;
}

/* Reads the newest results with a name: their documents joined by blanks, and the exit status of the last. */
static size_t read_results(Place *place, const char *name, Buffer *ret, int64_t *ret_exit_status) {
        const ResultFilter filter = { .name = name };
        ResultRow row;
        size_t n = 0;

        buffer_clear(ret);
        assert_int_equal(result_reader_list(place->reader, &filter), 0);
        for (; result_reader_next(place->reader, &row) == 0; n++) {
                buffer_printf(ret, "%s%s", n > 0 ? " " : "", row.document);
                *ret_exit_status = row.exit_status;
                assert_int_equal(row.uid, UID);
                assert_int_equal(row.time_ms, BEGIN_MS + 10000);
                assert_string_equal(
                        row.run,
                        "{\"labels\":{\"gpus\":\"4\",\"model\":\"llama3\",\"ratio\":\"0.5\",\"fast\":\"true\"}}");
        }
        buffer_puts(ret, "");
        return n;
}

#define TRAINING                                                                                                       \
        "{\"name\":\"training\",\"of\":\"job\",\"match\":{\"name\":\"train-*\"},"                                      \
        "\"parameters\":{\"gpus\":\"int\",\"model\":\"str\",\"ratio\":\"float\",\"fast\":\"bool\",\"absent\":\"str\"}" \
        ","                                                                                                            \
        "\"results\":{\"rate\":{\"from\":\"job_cpu_seconds / "                                                         \
        "duration_seconds\"},\"cpu_avg_utilization_pct\":\"float\"}}"

static void an_end_makes_a_result_of_each_model_that_fits(void **state) {
        scoped(buffer_deinit) Buffer documents = {};
        Place *place = *state;
        int64_t exit_status;

        begin_job(place, "before", "train-1");
        assert_int_equal(end_job(place, "before", JOB_FINISHED, 0), 0);
        put_model(place, TRAINING, 0);
        put_model(place, "{\"name\":\"of_another\",\"of\":\"job\",\"results\":{\"duration_seconds\":\"float\"}}",
                  UID + 1);
        begin_job(place, "a", "train-1");
        begin_job(place, "b", "other");
        begin_job(place, "c", "train-2");
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 3), 1);
        assert_int_equal(end_job(place, "b", JOB_FINISHED, 0), 0);
        assert_int_equal(end_job(place, "c", JOB_INTERRUPTED, 0), 0);
        assert_int_equal(read_results(place, "training", &documents, &exit_status), 1);
        assert_string_equal(
                documents.text,
                "{\"name\":\"training\",\"component\":\"job\","
                "\"@parameters\":{\"gpus\":4,\"model\":\"llama3\",\"ratio\":0.5,\"fast\":true},"
                "\"@result\":{\"cpu_avg_utilization_pct\":25.0,\"duration_seconds\":10.0,\"job_cpu_seconds\":5.0}}");
        assert_int_equal(exit_status, 3);
        assert_int_equal(read_results(place, "of_another", &documents, &exit_status), 0);
}

static void a_further_end_replaces_the_result(void **state) {
        scoped(buffer_deinit) Buffer documents = {};
        Place *place = *state;
        int64_t exit_status;

        put_model(place, TRAINING, 0);
        begin_job(place, "a", "train-1");
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 0), 1);
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 0), 1);
        assert_int_equal(read_results(place, "training", &documents, &exit_status), 1);
}

/* A user who has had a job of the same id, and a model of the same name, keeps nobody from having the result. */
static void results_of_users_have_ids_of_their_own(void **state) {
        scoped(buffer_deinit) Buffer documents = {};
        Place *place = *state;
        int64_t exit_status;

        put_model(place, TRAINING, 0);
        begin_job(place, "a", "train-1");
        change_place(place, "UPDATE job SET uid = 7");
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 0), 1);
        change_place(place, "UPDATE job SET id = 'a.1'");
        begin_job(place, "a", "train-1");
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 0), 1);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result"), 2);
        assert_int_equal(ask_place(place, "SELECT count(*) FROM result WHERE hex(id) LIKE '0000000000000000%'"), 2);
        change_place(place, "DELETE FROM result WHERE uid = 7");
        assert_int_equal(read_results(place, "training", &documents, &exit_status), 1);
}

/* Two pipelines; of the first, four intervals, of which the first is left out. */
static void put_pipelines(Place *place) {
        PipelineInterval intervals[9];
        size_t n = 0;

        for (uint64_t minute = 1; minute <= 4; minute++) {
                intervals[n++] = (PipelineInterval){
                        .stage = "0:1:decode[4]", .part = PIPELINE_TASKS, .end_ms = BEGIN_MS + minute * 1000,
                        .sums = { .elapsed_s = 60, .n = 100, .n_failures = minute == 1 ? 50 : 25, .time_s = 90 },
                };
                intervals[n++] = (PipelineInterval){ .stage = "0:2:sink",
                                                     .part = PIPELINE_QUEUE,
                                                     .end_ms = BEGIN_MS + minute * 1000,
                                                     .sums = { .elapsed_s = 60,
                                                               .n = 75,
                                                               .get_s = minute == 1 ? 59 : 15,
                                                               .ready_s = 45,
                                                               .judged_s = 60 } };
        }
        intervals[n++] = (PipelineInterval){ .stage = "1:1:sink", .part = PIPELINE_QUEUE, .end_ms = BEGIN_MS + 1000,
                                             .sums = { .elapsed_s = 60, .n = 10, .get_s = 30 } };
        const PipelineReport report = {
                .job = "a", .producer = "spdl 0.8.0", .intervals = intervals, .n_intervals = n
        };

        assert_int_equal(store_put(place->store, pipeline_rows_pack(&report, "a", UID, false, BEGIN_MS, cookie_of(3))),
                         0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
}

static void pipelines_are_members_of_the_result(void **state) {
        scoped(buffer_deinit) Buffer documents = {};
        Place *place = *state;
        int64_t exit_status;

        put_model(
                place,
                "{\"name\":\"first\",\"of\":\"job\",\"results\":{\"waited\":{\"from\":\"pipeline.sink.wait_share\"}}}",
                UID);
        put_model(place, "{\"name\":\"all\",\"component\":\"x\",\"of\":\"job\","
                         "\"results\":{\"waited\":{\"from\":\"max(pipelines[].sink.wait_share)\"}}}", UID);
        begin_job(place, "a", "");
        put_pipelines(place);
        assert_int_equal(end_job(place, "a", JOB_FINISHED, 0), 1);
        assert_int_equal(read_results(place, "first", &documents, &exit_status), 1);
        assert_string_equal(
                documents.text,
                "{\"name\":\"first\",\"component\":\"job\",\"@parameters\":{},\"@result\":{\"pipeline\":{"
                "\"decode\":{\"busy_share\":0.5,\"starved_share\":0.0,"
                "\"tasks\":300.0,\"failures\":75.0,\"task_seconds\":1.2,\"failure_share\":0.25},"
                "\"sink\":{\"items\":225.0,\"items_per_second\":1.25,\"get_seconds\":45.0,\"put_seconds\":0.0,"
                "\"readiness\":0.75,\"wait_share\":0.25}}}}");
        assert_int_equal(read_results(place, "all", &documents, &exit_status), 1);
        assert_non_null(strstr(documents.text, "\"component\":\"x\""));
        assert_non_null(strstr(documents.text, "\"wait_share\":0.25}},{\"sink\":{"));
        assert_non_null(strstr(documents.text, "\"wait_share\":0.5}}]"));

        begin_job(place, "b", "");
        assert_int_equal(end_job(place, "b", JOB_FINISHED, 0), 1);
        assert_int_equal(read_results(place, "first", &documents, &exit_status), 2);
        assert_non_null(strstr(documents.text, "\"@result\":{\"pipeline\":{}}"));
}

static void put_stages(Place *place, const char *job, size_t n) {
        PipelineInterval intervals[2 * PIPELINE_NUMBERS_STAGES_MAX + 2] = {};
        char stages[PIPELINE_NUMBERS_STAGES_MAX + 1][48];

        for (size_t i = 0; i < 2 * n; i++) {
                (void)snprintf(stages[i / 2], sizeof(stages[0]), "0:%zu:s%zu[4]", i / 2, i / 2);
                intervals[i] = (PipelineInterval){ .stage = stages[i / 2],
                                                   .part = i % 2 ? PIPELINE_QUEUE : PIPELINE_TASKS,
                                                   .end_ms = BEGIN_MS + 1000,
                                                   .sums = { .elapsed_s = 60, .n = 10, .time_s = 1 } };
        }
        const PipelineReport report = { .job = job, .producer = "", .intervals = intervals, .n_intervals = 2 * n };

        assert_int_equal(store_put(place->store, pipeline_rows_pack(&report, job, UID, false, BEGIN_MS, cookie_of(3))),
                         0);
        assert_int_equal(outcome_of(place->store, 3), STORE_DONE);
}

static void a_job_with_very_many_stages_has_no_numbers_of_them(void **state) {
        scoped(buffer_deinit) Buffer documents = {};
        Place *place = *state;
        int64_t exit_status;

        put_model(place, "{\"name\":\"all\",\"of\":\"job\",\"results\":{\"n\":{\"from\":\"count(pipelines)\"}}}", UID);
        begin_job(place, "many", "");
        put_stages(place, "many", PIPELINE_NUMBERS_STAGES_MAX);
        assert_int_equal(end_job(place, "many", JOB_FINISHED, 0), 1);
        assert_int_equal(read_results(place, "all", &documents, &exit_status), 1);
        assert_non_null(strstr(documents.text, "\"s199\":{"));

        begin_job(place, "more", "");
        put_stages(place, "more", PIPELINE_NUMBERS_STAGES_MAX + 1);
        assert_int_equal(end_job(place, "more", JOB_FINISHED, 0), 1);
        assert_int_equal(read_results(place, "all", &documents, &exit_status), 2);
        assert_non_null(strstr(documents.text, "\"@result\":{\"pipelines\":[]}"));
}

/* --- the jobs that a model is about ---------------------------------------------------------------- */

static const char *find_label(const void *job, const char *key) {
        return strcmp(key, "model") == 0 ? job : NULL;
}

static void a_job_fits_if_its_name_and_labels_do(void **state) {
        static const struct {
                const char *match, *name, *model;
                bool fits;
        } cases[] = {
                { "{}", "", NULL, true },
                { "{\"name\":\"train-*\"}", "train-1", NULL, true },
                { "{\"name\":\"train-*\"}", "eval", NULL, false },
                { "{\"name\":\"train\"}", "train-1", NULL, false },
                { "{\"labels\":{\"model\":\"llama?\"}}", "", "llama3", true },
                { "{\"labels\":{\"model\":\"llama?\"}}", "", "llama", false },
                { "{\"labels\":{\"model\":\"*\"}}", "", NULL, false },
                { "{\"labels\":{\"model\":\"*\",\"other\":\"*\"}}", "", "llama", false },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Declared declared = {};
                char text[256];

                (void)snprintf(text, sizeof(text),
                               "{\"name\":\"x\",\"of\":\"job\",\"match\":%s,\"results\":{\"y\":\"float\"}}",
                               cases[i].match);
                declare(&declared, text);
                assert_int_equal(
                        indicator_model_fits_job(&declared.model.jobs, cases[i].name, find_label, cases[i].model),
                        cases[i].fits);
                arena_deinit(&declared.arena);
        }
        assert_false(indicator_model_fits_job(&(ModelJobs){}, "any", find_label, NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_end_makes_a_result_of_each_model_that_fits, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(a_further_end_replaces_the_result, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(results_of_users_have_ids_of_their_own, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(pipelines_are_members_of_the_result, place_setup_volatile,
                                                place_teardown),
                cmocka_unit_test_setup_teardown(a_job_with_very_many_stages_has_no_numbers_of_them,
                                                place_setup_volatile, place_teardown),
                cmocka_unit_test(a_job_fits_if_its_name_and_labels_do),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
