/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of jobs on a real store. */
/* tests: daemon/http/jobs/jobs_subject.c */

#include "store_fixture.h"

#include "http/routes.h"
#include "store/jobs/job_reader.h"

typedef struct Fixture {
        Place *place;
        Snapshot snapshot;
        Exchange exchange;
        Buffer body;
} Fixture;

typedef struct SampleJob {
        const char *id, *name, *command;
        uint64_t begin_ms, end_ms;
        double cpus, memory; /* < 0: not known */
        int32_t exit_status, signal;
} SampleJob;

static const SampleJob listed[] = {
        { "a", "Train", "./one", 1000, 9000, 2.5, 100e6, 0, 0 },
        { "b", "train-2", "./two --TOKEN", 2000, 3000, 8, -1, 3, 0 },
        { "c", "other", "./three", 3000, 8000, 0.25, 3e9, 137, 9 },
        { "d", "other", "./four", 4000, 4000, -1, 5e6, 0, 0 },
};

static void set_usage(UsageSet *usage, UsageMetric metric, double value) {
        usage->quality[metric] = value < 0 ? QUALITY_LOST : QUALITY_EXACT;
        usage->value[metric] = value < 0 ? 0 : value;
}

static void put_job(Store *store, const SampleJob *job) {
        JobLabel labels[] = { { .key = "project" }, { .key = "id" } };
        JobInfo info = { .rank = -1, .node = -1, .uid = 1000, .labels = labels, .n_labels = 2 };
        JobEnd end = { .has_exit_status = true, .exit_status = job->exit_status, .signal = job->signal };
        UsageSet usage;
        const StoreJobEnd row = { .job = job->id, .state = JOB_FINISHED, .end_realtime_ms = job->end_ms, .end = &end,
                                  .metrics = &(MetricSet){}, .usage = &usage };

        (void)snprintf(labels[0].value, sizeof(labels[0].value), "%s", *job->id < 'c' ? "Web" : "db");
        (void)snprintf(labels[1].value, sizeof(labels[1].value), "%s", job->id);
        (void)snprintf(info.id, sizeof(info.id), "%s", job->id);
        (void)snprintf(info.name, sizeof(info.name), "%s", job->name);
        (void)snprintf(info.user, sizeof(info.user), "user-%s", job->id);
        (void)snprintf(info.command, sizeof(info.command), "%s", job->command);
        usage_none(&usage);
        set_usage(&usage, USAGE_CPU_MEAN, job->cpus);
        set_usage(&usage, USAGE_MEMORY_PEAK, job->memory);
        assert_int_equal(store_put(store, pack_begin_row(&info, job->begin_ms, "boot", "", NULL, cookie_of(1))), 0);
        assert_int_equal(outcome_of(store, 1), STORE_DONE);
        assert_int_equal(store_put(store, job_rows_pack_end(&row, cookie_of(2))), 0);
        assert_int_equal(outcome_of(store, 2), STORE_DONE);
}

static int setup(void **state) {
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        assert_int_equal(place_setup_volatile((void **)&fixture->place), 0);
        for (size_t i = 0; i < N_ELEMENTS(listed); i++)
                put_job(fixture->place->store, &listed[i]);
        *state = fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(place_teardown((void **)&fixture->place), 0);
        snapshot_deinit(&fixture->snapshot);
        buffer_deinit(&fixture->body);
        free(fixture);
        return 0;
}

/* Asks for a list with these parameters. Returns the ids, "cba"; next: name of the next page, "": none. */
static void ask(Fixture *fixture, const char *parameters, bool sees_all, char ret[static 16], char next[static 64]) {
        scoped(freep) char *text = strdup(parameters);
        char *rest = text;
        const char *at;
        size_t n = 0;

        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        fixture->exchange.sources.reader = fixture->place->reader;
        fixture->exchange.target.viewer.sees_all = sees_all;
        assert_int_equal(exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, "/api/v1/jobs"), 0);
        for (char *parameter; (parameter = strsep(&rest, "&")) && *parameter;) {
                char *value = parameter, *name = strsep(&value, "=");

                assert_int_equal(exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, name,
                                                        value), 0);
        }
        (void)routes_answer(&fixture->exchange);
        reader_reset(fixture->place->reader);
        if (fixture->exchange.response.status != 200)
                fail_msg("%s: %s", parameters, fixture->body.text);
        for (at = fixture->body.text; (at = strstr(at, "{\"id\":\"")) && n < 15; at += 7)
                ret[n++] = at[7];
        ret[n] = '\0';
        next[0] = '\0';
        at = strstr(fixture->body.text, "\"next\":\"");
        if (at)
                assert_int_equal(sscanf(at, "\"next\":\"%63[0-9a-f]", next), 1);
}

/* Reads all pages. */
static void expect(Fixture *fixture, const char *parameters, const char *ids) {
        char all[64] = "", page[16], next[64], request[256];
        size_t n_pages = 0;

        (void)snprintf(request, sizeof(request), "%s", parameters);
        do {
                ask(fixture, request, true, page, next);
                (void)strcat(all, page);
                (void)snprintf(request, sizeof(request), "%s&page=%s", parameters, next);
        } while (*next && ++n_pages < 10);
        if (strcmp(all, ids) != 0)
                fail_msg("%s lists %s, and not %s", parameters, all, ids);
}

static void jobs_are_listed_in_the_order_of_a_number(void **state) {
        static const struct { const char *sort, *ids; } rows[] = {
                { "sort=-begin", "dcba" },  { "sort=begin", "abcd" },    { "sort=-duration", "acbd" },
                { "sort=duration", "dbca" }, { "sort=-cpus", "bacd" },    { "sort=cpus", "cabd" },
                { "sort=-memory", "cadb" }, { "sort=memory", "dacb" },
        };
        Fixture *fixture = *state;

        for (size_t i = 0; i < N_ELEMENTS(rows); i++)
                for (unsigned limit = 1; limit <= 5; limit++) {
                        char parameters[64];

                        (void)snprintf(parameters, sizeof(parameters), "%s&limit=%u", rows[i].sort, limit);
                        expect(fixture, parameters, rows[i].ids);
                }
}

static void an_order_keeps_the_conditions(void **state) {
        Fixture *fixture = *state;

        expect(fixture, "sort=-duration&failed=1&limit=1", "cb");
        expect(fixture, "sort=begin&name=other", "cd");
        expect(fixture, "sort=-memory&label=project=Web", "ab");
        expect(fixture, "sort=begin&since_ms=2000&until_ms=4000&limit=1", "bc");
        expect(fixture, "sort=begin&state=running", "");
}

static void texts_of_a_job_are_found_in_any_case(void **state) {
        Fixture *fixture = *state;
        char ids[16], next[64];

        expect(fixture, "search=tRAIN", "ba");
        expect(fixture, "search=USER-c", "c");
        expect(fixture, "search=web", "ba");
        expect(fixture, "search=PROJECT&limit=3", "dcba");
        expect(fixture, "search=token", "b");
        ask(fixture, "search=token", false, ids, next);
        assert_string_equal(ids, ""); /* a stranger does not learn what a command contains */
        ask(fixture, "search=train", false, ids, next);
        assert_string_equal(ids, "ba");
}

static void a_list_says_which_jobs_have_a_pipeline(void **state) {
        Fixture *fixture = *state;

        expect(fixture, "pipeline=1", "");
        expect(fixture, "pipeline=0", "dcba");
        assert_non_null(strstr(fixture->body.text, "\"pipeline\":false,\"metrics\":{"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(jobs_are_listed_in_the_order_of_a_number, setup, teardown),
                cmocka_unit_test_setup_teardown(an_order_keeps_the_conditions, setup, teardown),
                cmocka_unit_test_setup_teardown(texts_of_a_job_are_found_in_any_case, setup, teardown),
                cmocka_unit_test_setup_teardown(a_list_says_which_jobs_have_a_pipeline, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
