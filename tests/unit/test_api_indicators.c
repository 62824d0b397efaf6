/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of the indicators on a real store. */
/* tests: daemon/http/indicators/api_groups.c daemon/http/indicators/api_rank.c daemon/http/indicators/api_batch.c
          daemon/store/indicators/indicator_reader.c */
/* tests: daemon/http/selection/grouping.c */
/* tests: daemon/http/selection/selection.c */
/* tests: daemon/http/indicators/vocabulary.c */
/* tests: daemon/http/pagination.c daemon/http/format/csv.c daemon/http/routes.c */

#include "run_results_fixture.h"

#include "http/routes.h"
#include "http/selection/grouping.h"
#include "store/indicators/model_rows.h"
#include "value/value_parse.h"

#define N_RESULTS 181U /* numbered from 1; every tenth run failed */

typedef struct Fixture {
        Place *place;
        Snapshot snapshot;
        Exchange exchange;
        Buffer body;
} Fixture;

/* Requests "/path?a=b&c=d". Returns the status. */
/* The models of a registration of one. */
#define ONE(model) .models = (const IndicatorModel *const[]){ model }, .n_models = 1

static unsigned ask(Fixture *fixture, const char *request) {
        scoped(freep) char *text = strdup(request);
        char *query = text, *path = strsep(&query, "?");
        int r;

        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        fixture->exchange.sources.reader = fixture->place->reader;
        r = exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path);
        for (char *parameter; r == 0 && (parameter = strsep(&query, "&"));) {
                char *value = parameter, *name = strsep(&value, "=");

                r = exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, name, value);
        }
        if (r == 0)
                routes_answer(&fixture->exchange);
        reader_reset(fixture->place->reader);
        return fixture->exchange.response.status;
}

static void check(Fixture *fixture, const char *request, unsigned status, const char *text) {
        unsigned actual = ask(fixture, request);

        if (actual != status || !strstr(fixture->body.text, text))
                fail_msg("%s: %u, and not %u with '%s': %.600s", request, actual, status, text, fixture->body.text);
}

static size_t count(const Fixture *fixture, const char *text) {
        size_t n = 0;

        for (const char *p = fixture->body.text; (p = strstr(p, text)); p++)
                n++;
        return n;
}

static void put_all(Store *store, const IndicatorModel *model) {
        for (uint64_t n = 1; n < N_RESULTS; n++) {
                RunResults results;

                run_results_make_nth(&results, n, model);
                results.submission.has_batch = n <= 20;
                results.submission.batch_index = (uint32_t)n;
                memset(results.submission.batch, 0xab, sizeof(results.submission.batch));
                assert_int_equal(put_one(store, &results.submission, n), STORE_DONE);
        }
}

static int setup_with(void **state, bool has_model) {
        Fixture *fixture = calloc(1, sizeof(*fixture));
        Property properties[5];
        IndicatorModel model = matmul_model(properties);

        assert_non_null(fixture);
        assert_int_equal(place_setup_volatile((void **)&fixture->place), 0);
        if (has_model) {
                assert_int_equal(
                        store_put(fixture->place->store,
                                  model_rows_pack(&(StoreModels){ ONE(&model), .uid = 1000 }, 1, cookie_of(5000))),
                        0);
                assert_int_equal(outcome_of(fixture->place->store, 5000), STORE_DONE);
        }
        put_all(fixture->place->store, has_model ? &model : NULL);
        *state = fixture;
        return 0;
}

static int setup(void **state) {
        return setup_with(state, false);
}

static int setup_with_model(void **state) {
        return setup_with(state, true);
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(place_teardown((void **)&fixture->place), 0);
        snapshot_deinit(&fixture->snapshot);
        buffer_deinit(&fixture->body);
        free(fixture);
        return 0;
}

#define PATH "/api/v1/indicators/PiMatmul"

static void results_come_in_pages(void **state) {
        Fixture *fixture = *state;

        check(fixture, "/api/v1/indicators", 200, "\"PiMatmul\"");
        check(fixture, PATH "/results?limit=7", 200, "\"next\":\"");
        assert_int_equal(count(fixture, "\"version\":\"2.1\""), 7 * 2);
        check(fixture, PATH "/results?where=matrix_size=512&where=dtype=float32&limit=5", 200, "\"matrix_size\":512");
        check(fixture, "/api/v1/results?name=PiMatmul&component=pytorch&limit=3", 200, "pytorch");
        assert_int_equal(count(fixture, "tensorflow"), 0);
        check(fixture, PATH "/results?job=no-such-job", 200, "\"results\":[]");
        check(fixture, PATH "/results?page=x", 400, "value of 'next' in the previous page");
        check(fixture, PATH "/results?limit=100000", 400, "'limit'");
        check(fixture, "/api/v1/indicators/a%2Fb/results", 400, "indicator name must be");
        check(fixture, PATH "/results?where=x", 400, "KEY=VALUE");
        check(fixture, PATH "/results?where=matrix_size<x", 400, "a number, a version such as");
}

static void statistics_are_of_groups(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/query?group_by=component,matrix_size&stat=n,median:rate,p95:elapsed,max:rate", 200,
              "\"groups\":[");
        assert_int_equal(count(fixture, "\"n_failed\":"), 6);
        assert_true(strstr(fixture->body.text, "pytorch") < strstr(fixture->body.text, "tensorflow"));
        check(fixture, PATH "/query?stat=mean:rate&version=2.1&component=pytorch&since_ms=1&until_ms=100", 200,
              "\"scanned\":");
        check(fixture, PATH "/query?stat=mean:rate,sd:rate&group_by=dtype&format=csv", 200, "float32");
        assert_int_equal(fixture->exchange.response.type, CONTENT_CSV);
        check(fixture, PATH "/query?stat=median:rate&limit=1&group_by=matrix_size", 200, "matrix_size");
        check(fixture, PATH "/query?stat=bogus:rate", 400, "'stat' must be a list");
        check(fixture, PATH "/query?stat=n:rate&stat=n:rate", 400, "more than once");
        check(fixture, PATH "/query?stat=n:rate,n:rate", 400, "twice");
        check(fixture, PATH "/query?group_by=dtype,dtype", 400, "twice");
        check(fixture, PATH "/query?group_by=,", 400, "must be a list");
        check(fixture, PATH "/query?format=xml", 400, "one of json, csv");
}

static void an_unknown_key_is_explained(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/query?stat=median:raet", 400, "did you mean rate?");
        check(fixture, PATH "/query?where=matrix_sise=5", 400, "did you mean matrix_size?");
        check(fixture, PATH "/query?where=rate>1", 400, "which is a result");
        check(fixture, PATH "/query?stat=median:reps", 400, "which is a parameter");
        check(fixture, PATH "/query?where=hardware>2", 400, "is text");
        check(fixture, "/api/v1/indicators/PiMatmull/query", 404, "no results and no model of indicator 'PiMatmull'");
}

static void an_empty_answer_has_a_reason(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/query?where=matrix_size>4096", 200,
              "no result of PiMatmul matches matrix_size>4096; existing keys: component, version, hardware, ");
        check(fixture, PATH "/query?where=component=jax", 200,
              "no result of PiMatmul matches component=jax; existing keys: ");
        check(fixture, PATH "/query?component=jax", 200,
              "no result of PiMatmul matches component=jax; existing keys: ");
        check(fixture, PATH "/query?version=9", 200, "no result of PiMatmul matches version=9; existing keys: ");
        check(fixture, PATH "/query?since_ms=5000000", 200,
              "no result of PiMatmul matches the time range; existing keys: ");
        check(fixture, PATH "/query?where=matrix_size=256&where=matrix_size>256", 200,
              "matches matrix_size=256 and matrix_size>256; existing keys: ");
}

static void alternatives_are_ranked(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/rank?by=component&objective=rate&direction=higher", 200, "\"direction\":\"higher\"");
        assert_non_null(strstr(fixture->body.text, "\"rank\":1"));
        check(fixture,
              PATH "/rank?by=dtype&objective=elapsed&direction=lower&across=parameters,hardware,component,version", 200,
              "\"tied\":");
        check(fixture, PATH "/rank?by=matrix_size&objective=rate&direction=higher&where=dtype=float32&confidence=0.9",
              200, "\"excluded\"");
        check(fixture, PATH "/rank?by=component&objective=raet", 400, "did you mean rate?");
        check(fixture, PATH "/rank?by=component&objective=rate&direction=up", 400, "higher or lower");
        check(fixture, PATH "/rank?by=component&objective=rate&confidence=2", 400, "0.5 to 0.999");
        check(fixture, PATH "/rank?by=component&objective=rate", 400, "direction=higher or");
        check(fixture, PATH "/rank?by=component&objective=rate&direction=lower&component=jax",
               200, "no result of PiMatmul matches component=jax; existing keys: ");
        check(fixture, PATH "/rank?by=component", 400, "objective");
}

static void a_batch_has_a_column_for_each_number(void **state) {
        Fixture *fixture = *state;

        check(fixture, "/api/v1/batches/abababababababababababababababab", 200, "\"rate\"");
        assert_non_null(strstr(fixture->body.text, "\"elapsed\""));
        check(fixture, "/api/v1/batches/00000000000000000000000000000000", 404, "no batch");
        check(fixture, "/api/v1/batches/xyz", 400, "32 hexadecimal digits");
}

static void set_models(IndicatorsSnapshot *snapshot) {
        scoped(shared_text_unrefp) SharedText *head = NULL, *tail = NULL;
        scoped(shared_texts_unrefp) SharedTexts *models = NULL;
        Buffer text = {};

        buffer_puts(&text, "{\"models\":[");
        assert_int_equal(shared_text_new(&head, &text), 0);
        buffer_puts(&text, "]}");
        assert_int_equal(shared_text_new(&tail, &text), 0);
        assert_int_equal(shared_texts_new(&models, 0, head, tail), 0);
        snapshot_indicators_set_models(snapshot, models);
}

static void a_model_declares_units_and_directions(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/query?stat=median:rate&group_by=component", 200, "GFLOP/s");
        check(fixture, PATH "/rank?by=component&objective=rate", 200, "\"direction\":\"higher\"");
        check(fixture, PATH "/rank?by=component&objective=elapsed", 200, "\"direction\":\"lower\"");
        check(fixture, PATH "/results?where=matrix_size=512&limit=5", 200, "\"matrix_size\":512");
        check(fixture, PATH "/query?where=matrix_size>4096", 200,
              "no result of PiMatmul matches matrix_size>4096; existing keys: component, version, hardware, ");
        check(fixture, "/api/v1/batches/abababababababababababababababab", 200, "\"rate\"");
        check(fixture, "/api/v1/models", 503, "out of memory");
        set_models(&fixture->snapshot.indicators);
        check(fixture, "/api/v1/models", 200, "{\"models\":[]}");
}

/* With conditions, the results of a job are read one by one, not with the index of points. */
static void the_results_of_a_job_are_selected(void **state) {
        Fixture *fixture = *state;

        for (uint64_t n = 1000; n < 1006; n++) {
                RunResults results;

                run_results_make(&results, n, n < 1004 ? "jax" : "pytorch", n % 2 == 0 ? "float32" : "float64", 256,
                                 (double)n);
                results.submission.job = n == 1000 ? "train-8" : "train-7";
                assert_int_equal(put_one(fixture->place->store, &results.submission, n), STORE_DONE);
        }

        check(fixture, PATH "/results?job=train-7", 200, "\"next\":null");
        assert_int_equal(count(fixture, "\"id\":"), 5);
        check(fixture, PATH "/results?job=train-7&where=dtype=float64", 200, "\"next\":null");
        assert_int_equal(count(fixture, "\"id\":"), 3);
        assert_int_equal(count(fixture, "\"dtype\":\"float64\""), 3);
        check(fixture, PATH "/results?job=train-7&where=dtype=float32&where=component=jax", 200, "\"time_ms\":1002,");
        assert_int_equal(count(fixture, "\"id\":"), 1);
        check(fixture, PATH "/results?job=train-7&where=dtype=float64&limit=2", 200, "\"time_ms\":1003,");
        assert_int_equal(count(fixture, "\"id\":"), 2);
        assert_null(strstr(fixture->body.text, "\"next\":null"));
        check(fixture, PATH "/results?job=train-8&where=dtype=float64", 200, "\"results\":[]");
        check(fixture, PATH "/results?job=train-7&where=dtyp=float64", 400, "did you mean dtype?");
}

static void a_value_that_the_model_does_not_allow_is_refused(void **state) {
        static const char declaration[] =
                "{\"parameters\":{\"matrix_size\":\"int\",\"dtype\":{\"type\":\"str\",\"values\":"
                "[\"float32\",\"float64\"]}},\"results\":{\"rate\":\"float\"}}";
        Fixture *fixture = *state;
        Property properties[5];
        IndicatorModel model = matmul_model(properties);
        scoped(arena_deinit) Arena arena = {};
        bool is_canonical;
        ValueError error;

        assert_int_equal(arena_init(&arena, 1 << 16), 0);
        assert_int_equal(value_parse(declaration, strlen(declaration), &arena, &model.document, &is_canonical, &error),
                         0);
        assert_int_equal(store_put(fixture->place->store, model_rows_pack(&(StoreModels){ ONE(&model), .uid = 1000 }, 1,
                                                                          cookie_of(5000))), 0);
        assert_int_equal(outcome_of(fixture->place->store, 5000), STORE_DONE);

        check(fixture, PATH "/query?where=dtype=flaot32", 400,
              "'dtype' cannot be 'flaot32': its model declares it as ");
        assert_non_null(strstr(fixture->body.text, "one of float32, float64"));
        check(fixture, PATH "/query?where=dtype!=flaot32", 400, "'dtype' cannot be 'flaot32'");
        check(fixture, PATH "/query?where=matrix_size=abc", 400,
              "'matrix_size' cannot be 'abc': its model declares it as int");
        check(fixture, PATH "/query?where=dtype>5", 400, "< and > compare numbers, versions and times");
        check(fixture, PATH "/results?where=dtype=flaot32", 400, "'dtype' cannot be 'flaot32'");
        check(fixture, PATH "/query?where=dtype=float64", 200,
              "no result of PiMatmul matches dtype=float64; existing keys: ");
        /* stored before the model was registered */
        check(fixture, PATH "/results?where=dtype=512&limit=3", 200, "\"dtype\":\"512\"");
}

static void put_sizes(Store *store, uint64_t from, uint64_t to) {
        scoped(freep) RunResults *results = calloc(to - from, sizeof(*results));
        scoped(freep) Submission *submissions = calloc(to - from, sizeof(*submissions));

        assert_true(results && submissions);
        for (uint64_t n = from; n < to; n++) {
                run_results_make(&results[n - from], n, "jax", "float32", (int64_t)n, 100);
                submissions[n - from] = results[n - from].submission;
        }
        assert_int_equal(store_put(store, result_rows_pack(submissions, to - from, &(Peer){ .uid = 1000 }, 5000,
                                                           cookie_of(from))),
                         0);
        assert_int_equal(outcome_of(store, from), STORE_DONE);
}

static void more_groups_than_fit_are_refused(void **state) {
        Fixture *fixture = *state;
        char limit[32];

        (void)snprintf(limit, sizeof(limit), "than %u groups", GROUPS_MAX);
        for (uint64_t n = 10000; n < 10000 + GROUPS_MAX; n += 500)
                put_sizes(fixture->place->store, n, n + 500);
        check(fixture, PATH "/query?group_by=matrix_size&component=jax&limit=1", 200, "\"groups\":[");
        put_sizes(fixture->place->store, 10000 + GROUPS_MAX, 10000 + GROUPS_MAX + 1);
        check(fixture, PATH "/query?group_by=matrix_size&component=jax&limit=1", 413, limit);
        check(fixture, PATH "/rank?by=matrix_size&component=jax&objective=rate&direction=higher", 413, limit);
        check(fixture, PATH "/query?group_by=dtype&component=jax", 200, "float32");
}

static void a_missing_store_is_reported(void **state) {
        Fixture *fixture = *state;
        const Selection selection = { .filter = { .name = "PiMatmul" } };
        const GroupFields fields = {};
        Grouping *grouping = NULL;
        uint64_t n_scanned;
        Reader *kept = fixture->place->reader;

        assert_int_equal(reader_new(&fixture->place->reader, "/nonexistent/perfd.db", NULL, NS_PER_S), 0);
        check(fixture, "/api/v1/indicators", 503, "the store cannot be read");
        check(fixture, PATH "/query?stat=median:rate", 503, "store");
        check(fixture, PATH "/results", 503, "store");

        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.reader = fixture->place->reader;
        assert_int_equal(grouping_read(&fixture->exchange.sources, &fixture->exchange.response, &selection, &fields,
                                       &grouping, &n_scanned),
                         EXCHANGE_ANSWERED);
        assert_int_equal(fixture->exchange.response.status, 503);
        assert_null(grouping);
        reader_free(fixture->place->reader);
        fixture->place->reader = kept;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(results_come_in_pages, setup, teardown),
                cmocka_unit_test_setup_teardown(statistics_are_of_groups, setup, teardown),
                cmocka_unit_test_setup_teardown(an_unknown_key_is_explained, setup, teardown),
                cmocka_unit_test_setup_teardown(an_empty_answer_has_a_reason, setup, teardown),
                cmocka_unit_test_setup_teardown(alternatives_are_ranked, setup, teardown),
                cmocka_unit_test_setup_teardown(a_batch_has_a_column_for_each_number, setup, teardown),
                cmocka_unit_test_setup_teardown(a_model_declares_units_and_directions, setup_with_model, teardown),
                cmocka_unit_test_setup_teardown(the_results_of_a_job_are_selected, setup, teardown),
                cmocka_unit_test_setup_teardown(a_value_that_the_model_does_not_allow_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(more_groups_than_fit_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_missing_store_is_reported, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
