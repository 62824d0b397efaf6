/* SPDX-License-Identifier: Apache-2.0 */
/* The route that judges KPIs, on a real store. */
/* tests: daemon/http/kpis/judged_kpis.c daemon/http/kpis/kpi_table.c daemon/http/kpis/kpis_subject.c */
/* tests: daemon/http/kpis/accepted_levels.c daemon/http/kpis/run_labels.c */

#include "run_results_fixture.h"

#include <math.h>

#include "http/kpis/judged_kpis.h"
#include "http/kpis/kpi_table.h"
#include "http/routes.h"
#include "store/indicators/model_rows.h"
#include "value/value_parse.h"

typedef struct Fixture {
        Place *place;
        Snapshot snapshot;
        Exchange exchange;
        Buffer body;
} Fixture;

#define PATH "/api/v1/kpis/PiMatmul"
#define VERSIONS 12U
#define RUNS 3U /* of each version */

/* Versions 2.0.0 to 2.11.0; the rate falls by a fifth from 2.10.0 on, the time per rate rises. */
static void put_versions(Store *store) {
        for (uint64_t n = 1; n <= VERSIONS * RUNS; n++) {
                unsigned minor = (unsigned)(n - 1) / RUNS;
                char version[16];
                RunResults results;

                (void)snprintf(version, sizeof(version), "2.%u.0", minor);
                run_results_make(&results, n, "tensorflow", "float32", 512,
                                 (minor < 10 ? 100 : 80) + (double)(n * 7 % 5) / 10);
                results.submission.indicator.version = version;
                results.members[4].value = string_value(version);
                results.submission.has_exit_status = n == 5;
                results.submission.exit_status = n == 5 ? 3 : 0;
                assert_int_equal(put_one(store, &results.submission, n), STORE_DONE);
        }
}

#define MORE_MAX 64

/* Runs of another component that have the label site, a number of their own, and before them n_more equal ones. */
static void put_labelled(Store *store, const char *component, unsigned n_sites, double factor, size_t n_more) {
        for (uint64_t i = 0; i < 24; i++) {
                char site[16], own[16], keys[MORE_MAX][8];
                Member labels[MORE_MAX + 2], members[6];
                RunResults results;

                (void)snprintf(site, sizeof(site), "s%u", (unsigned)i % n_sites);
                (void)snprintf(own, sizeof(own), "%u", (unsigned)i);
                run_results_make(&results, 1000 + (uint64_t)component[0] * 100 + i, component, "float32", 512,
                                 (i % 2 ? factor : 1) * (100 + (double)(i * 7 % 5) / 10));
                for (size_t k = 0; k < n_more; k++) {
                        (void)snprintf(keys[k], sizeof(keys[k]), "a%03u", (unsigned)k % 1000);
                        labels[k] = (Member){ keys[k], string_value("x") };
                }
                labels[n_more] = (Member){ "site", string_value(site) };
                labels[n_more + 1] = (Member){ "own", string_value(own) };
                memcpy(members, results.members, sizeof(results.members));
                members[5] = (Member){ "@labels", { .type = VALUE_OBJECT, .members = labels,
                                                    .n_members = n_more + 2 } };
                results.document.members = members;
                results.document.n_members = 6;
                assert_int_equal(put_one(store, &results.submission, 1000 + i), STORE_DONE);
        }
}

static int setup(void **state) {
        Fixture *fixture = calloc(1, sizeof(*fixture));

        assert_non_null(fixture);
        assert_int_equal(place_setup_volatile((void **)&fixture->place), 0);
        put_versions(fixture->place->store);
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

static void check(Fixture *fixture, const char *request, unsigned status, const char *text) {
        scoped(freep) char *copy = strdup(request);
        char *query = copy, *path = strsep(&query, "?");

        exchange_init(&fixture->exchange, &fixture->body);
        fixture->exchange.sources.snapshot = &fixture->snapshot;
        fixture->exchange.sources.reader = fixture->place->reader;
        assert_int_equal(exchange_set_path(&fixture->exchange.target, &fixture->exchange.response, path), 0);
        for (char *parameter; (parameter = strsep(&query, "&"));) {
                char *value = parameter, *name = strsep(&value, "=");

                assert_int_equal(
                        exchange_add_parameter(&fixture->exchange.target, &fixture->exchange.response, name, value), 0);
        }
        routes_answer(&fixture->exchange);
        reader_reset(fixture->place->reader);
        if (fixture->exchange.response.status != status || !strstr(fixture->body.text, text))
                fail_msg("%s: %u, and not %u with '%s': %.900s", request, fixture->exchange.response.status, status,
                         text, fixture->body.text);
}

static void a_regression_is_told_with_its_version(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH ".rate/regress?direction=higher", 200, "\"kpi\":\"PiMatmul.rate\"");
        check(fixture, PATH ".rate/regress?direction=higher", 200, "\"verdict\":\"regression\"");
        check(fixture, PATH ".rate/regress?direction=higher", 200,
              "\"version\":\"2.11.0\",\"since_version\":\"2.10.0\"");
        check(fixture, PATH ".rate/regress?direction=higher", 200, "\"order\":\"semver\",\"runs\":35,"
        "\"repeats\":35,\"versions\":12");
        check(fixture, PATH ".rate/regress?direction=higher", 200, "\"batched\":0,\"failed\":1,");
        check(fixture, PATH "/regress?objective=elapsed&direction=higher", 200, "\"verdict\":\"improvement\"");
        check(fixture, PATH ".rate/regress", 200, "\"verdict\":\"changed\"");
        check(fixture, PATH ".rate/regress?direction=higher&changes=1", 200,
              "\"changes\":[{\"verdict\":\"regression\",\"version\":\"2.10.0\"");
        check(fixture, PATH ".rate/regress?changes=1", 200, "\"changes\":[{\"verdict\":\"changed\"");
        check(fixture, PATH ".elapsed/regress?direction=higher&changes=1", 200,
              "\"changes\":[{\"verdict\":\"improvement\"");
}

static void later_versions_are_excluded(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH ".rate/regress?direction=higher&current=2.9.0", 200, "\"verdict\":\"no change\"");
        check(fixture, PATH ".rate/regress?direction=higher&current=2.9.0", 200, "\"excluded\":{\"later\":6");
        check(fixture, PATH ".rate/regress?current=7.0.0", 404, "'7.0.0'");
        check(fixture, PATH ".rate/regress?method=relative&order=time&direction=higher", 200,
              "\"method\":\"relative\"");
}

static void histories_are_kept_apart_by_parameters(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH ".rate/regress", 200,
              "\"parameters\":{\"dtype\":\"float32\",\"matrix_size\":512,\"reps\":50}");
        check(fixture, PATH ".rate/regress?ignore=reps,dtype&across=hardware", 200,
              "\"parameters\":{\"matrix_size\":512}");
        check(fixture, PATH ".rate/regress?compare_by=version,reps", 200, "\"version\":\"version=2.11.0|reps=50\"");
        check(fixture, PATH ".rate/regress?compare_by=dtype", 200, "\"order\":\"version\"");
        check(fixture, PATH ".rate/regress?where=matrix_size=7", 200, "\"kpis\":[]");
}

static void a_pattern_selects_kpis_of_all_indicators(void **state) {
        Fixture *fixture = *state;

        check(fixture, "/api/v1/kpis/*/regress", 200, "\"kpis\":[]");
        check(fixture, "/api/v1/kpis/*/regress?objective=rate&direction=higher", 200, "\"kpi\":\"PiMatmul.rate\"");
        check(fixture, "/api/v1/kpis/*/regress?objective=rate&where=nothing=1", 400, "'nothing'");
        check(fixture, "/api/v1/kpis/Qi*/regress", 200, "\"scanned\":0");
        check(fixture, "/api/v1/kpis/rate/regress", 404, "'rate'");
}

static void entries_can_be_excluded(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH ".rate/regress?ignore_entry=reps=4,50", 200, "\"kpis\":[]");
        check(fixture, PATH ".rate/regress?ignore_entry=version=2.11.0,2.10.0&ignore_entry=reps=4", 200,
              "\"version\":\"2.9.0\"");
        check(fixture, PATH ".rate/regress?ignore_entry=reps", 400, "KEY=VALUE");
        check(fixture, PATH ".rate/regress?ignore_entry==4", 400, "KEY=VALUE");
}

static void the_status_of_the_original_is_told(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH ".rate/regress?compat=1&method=hunter", 200, "\"compat\":{\"accepted\":true");
        check(fixture, PATH ".rate/regress?compat=1&method=zscore", 200, "\"description\":\"z-score ");
        check(fixture, PATH ".rate/regress?compat=1&method=zscore", 200, "\"repeated\":23");
        check(fixture, PATH ".rate/regress?compat=2", 400, "'compat'");
}

/* Declares that the level of the results up to a time is accepted, as the registry does. */
static void accept_level(Fixture *fixture, const char *key, const char *level, bool by_admin) {
        scoped(arena_deinit) Arena arena = {};
        scoped(freep) char *text = NULL;
        const IndicatorModel *declared;
        IndicatorModel model;
        const Value *document;
        Complaint complaint;
        bool is_canonical;
        ValueError error;

        assert_true(asprintf(&text, "{\"name\": \"@accepted\", \"component\": \"%s\", \"accepted\": %s}", key, level) >
                    0);
        assert_int_equal(arena_init(&arena, value_parse_arena_size(strlen(text)) + MODEL_ARENA_BYTES), 0);
        assert_int_equal(value_parse(text, strlen(text), &arena, &document, &is_canonical, &error), 0);
        assert_int_equal(indicator_model_from_value(document, &arena, &model, &complaint), 0);
        declared = &model;
        assert_int_equal(
                store_put(fixture->place->store,
                          model_rows_pack(&(StoreModels){ &declared, 1, 1000, by_admin }, 7000, cookie_of(5000))),
                0);
        assert_int_equal(outcome_of(fixture->place->store, 5000), STORE_DONE);
}

static void an_accepted_level_is_told_with_the_verdict(void **state) {
        Fixture *fixture = *state;
        const char *request = PATH ".rate/regress?direction=higher";

        accept_level(fixture, "other", "{\"kpi\": \"PiMatmul.elapsed\", \"until_ms\": 36}", true);
        accept_level(fixture, "own", "{\"kpi\": \"PiMatmul.rate\", \"until_ms\": 36}", false);
        accept_level(fixture, "where", "{\"kpi\": \"Pi*.rate\", \"until_ms\": 36, \"where\": [\"dtype=float64\"]}",
                     true);
        check(fixture, request, 200, "\"verdict\":\"regression\"");
        check(fixture, request, 200, "\"accepted\":0}");
        accept_level(fixture, "where", "{\"kpi\": \"Pi*.rate\", \"until_ms\": 36, \"where\": [\"dtype=float32\", "
                                       "\"component=TensorFlow\"], \"note\": \"exact\"}", true);
        check(fixture, request, 200, "\"accepted\":29}");
        check(fixture, request, 200, "\"accepted\":{\"version\":\"2.11.0\",\"run_ms\":36,\"uid\":1000,\"for_all\":true,"
                                     "\"time_ms\":7000,\"note\":\"exact\"}");
        check(fixture, request, 200, "\"runs\":6,\"repeats\":6,\"versions\":2");
        check(fixture, PATH ".rate/regress?direction=higher&compat=1&method=hunter", 200, "\"accepted\":0}");
        check(fixture, "/api/v1/kpis/accepted", 200,
              "\"where\":[\"dtype=float32\",\"component=TensorFlow\"],\"until_ms\":36,\"uid\":1000");
        if (strstr(fixture->body.text, "\"own\""))
                fail_msg("another user's level is shown: %s", fixture->body.text);
}

static void the_runs_of_a_table_are_limited_by_their_memory(void **state) {
        const KpiRules rules = { .is_across_hardware = true };
        const double numbers[] = { 1.5, (double)NAN };
        PointRow row = { .series = 1, .component = "c", .numbers = numbers };
        scoped(kpi_table_freep) KpiTable *table = NULL;
        scoped(kpi_table_runs_deinit) KpiRuns runs = {};
        size_t n_results = 0, n;
        KpiSeries *series;
        int r;

        (void)state;
        assert_int_equal(kpi_table_new(&table, &rules, 2), 0);
        for (; (r = kpi_table_add(table, &row)) == 0; n_results++)
                row.time_ms = 1764000000000 + (uint64_t)++row.row;
        assert_int_equal(r, KPI_MANY_RUNS);
        assert_in_range(n_results, 160000, 200000);
        series = kpi_table_series(table, &n);
        assert_int_equal(n, 1);
        assert_int_equal(kpi_table_find_runs(table, series, 0, &runs), 0);
        assert_int_equal(runs.n, n_results);
        assert_true(runs.items[1].value == 1.5 && runs.items[1].time_ms == 1764000000001 && runs.items[1].result == 1);
        assert_null(runs.items[1].version);
        assert_int_equal(kpi_table_find_runs(table, series, 1, &runs), 0);
        assert_int_equal(runs.n, 0);
}

/* Labels are the parameters of results, which may be long. */
static void the_labels_of_a_table_are_limited(void **state) {
        const KpiRules rules = { .is_across_hardware = true };
        const double number = 1.5;
        PointRow row = { .component = "c", .numbers = &number };
        scoped(kpi_table_freep) KpiTable *table = NULL;
        scoped(judged_kpis_deinit) JudgedKpis kpis = {};
        char text[40000], parameters[sizeof(text) + 100];
        size_t n_series = 0, n;
        KpiSeries *series;
        int r;

        (void)state;
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        assert_int_equal(kpi_table_new(&table, &rules, 1), 0);
        for (r = 0; r == 0; n_series += r == 0) {
                row.series = (int64_t)n_series + 1;
                (void)snprintf(parameters, sizeof(parameters), "{\"p\":\"%zu%s\"}", n_series, text);
                row.parameters = json_text(parameters, strlen(parameters));
                r = kpi_table_add(table, &row);
        }
        assert_int_equal(r, KPI_MANY_SERIES);
        assert_in_range(n_series, KPI_TABLE_TEXT_MAX / sizeof(text) - 10, KPI_TABLE_TEXT_MAX / sizeof(text));

        /* Each of several numbers has the labels. */
        series = kpi_table_series(table, &n);
        for (n = 0; (r = judged_kpis_add(&kpis, &(JudgedKpi){ .name = "x.y", .labels = series->labels })) == 0; n++)
                assert_true(n < JUDGED_KPIS_MAX);
        assert_int_equal(r, JUDGED_KPIS_FULL);
        assert_in_range(n, JUDGED_KPIS_TEXT_MAX / sizeof(text) - 10, JUDGED_KPIS_TEXT_MAX / sizeof(text));
}

static void what_separates_single_runs_is_written(void **state) {
        const char *const labels[] = { "{\"component\":\"c\",\"parameters\":{\"a\":1,\"seed\":\"x\"}}",
                                       "{\"component\":\"c\",\"parameters\":{\"a\":1,\"seed\":\"y\",\"b\":2}}" };
        scoped(judged_kpis_deinit) JudgedKpis kpis = {};
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        (void)state;
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(judged_kpis_add(&kpis, &(JudgedKpi){ .name = i % 2 ? "k.x" : "k.y",
                                                                     .labels = labels[i / 2], .verdict.n = 1 }), 0);
        judged_kpis_write(&kpis, &json);
        assert_non_null(strstr(out.text, "\"separated_by\":[\"seed\",\"b\"]"));

        /* A history with two runs shows that the runs can be compared. */
        buffer_clear(&out);
        kpis.items[3].verdict.n = 2;
        judged_kpis_write(&kpis, &(Json){ .out = &out });
        assert_non_null(strstr(out.text, "\"separated_by\":[]"));
}

#define NO_MIXTURE "\"accepted\":0}}],\"counts\"" /* the runs vary too much for a verdict */

static void a_label_that_separates_runs_is_told_instead_of_a_verdict(void **state) {
        Fixture *fixture = *state;

        put_labelled(fixture->place->store, "apart", 2, 2, 0);
        put_labelled(fixture->place->store, "many", 20, 2, 0); /* values: a label is not compared */
        put_labelled(fixture->place->store, "same", 2, 1, 0);
        put_labelled(fixture->place->store, "full", 2, 2, MORE_MAX - 1);
        put_labelled(fixture->place->store, "wide", 2, 2, MORE_MAX); /* further labels are not compared */
        check(fixture, PATH ".rate/regress?component=apart", 200, "\"verdict\":\"unknown\"");
        check(fixture, PATH ".rate/regress?component=apart&changes=1", 200, "\"changes\":[]");
        check(fixture, PATH ".rate/regress?component=apart", 200,
              "\"mixture\":{\"label\":\"site\",\"groups\":[{\"value\":\"s0\",\"median\":100.");
        check(fixture, PATH "/regress?objective=elapsed&component=apart", 200, "\"mixture\":{\"label\":\"site\"");
        check(fixture, PATH ".rate/regress?component=apart&where=label.site=s1", 200, "\"verdict\":\"no change\"");
        check(fixture, PATH ".rate/regress?component=apart&ignore=label.site", 200, NO_MIXTURE);
        check(fixture, PATH ".rate/regress?component=apart&compare_by=label.site", 200, "\"versions\":2");
        check(fixture, PATH ".rate/regress?component=many", 200, NO_MIXTURE);
        check(fixture, PATH ".rate/regress?component=same", 200, "\"verdict\":\"no change\"");
        check(fixture, PATH ".rate/regress?component=full", 200, "\"mixture\":{\"label\":\"site\"");
        check(fixture, PATH ".rate/regress?component=wide", 200, NO_MIXTURE);
}

static void wrong_requests_are_refused(void **state) {
        Fixture *fixture = *state;

        check(fixture, PATH "/regress", 400, "Available: ");
        check(fixture, PATH ".ratte/regress", 400, "did you mean rate?");
        check(fixture, PATH ".rate/regress?compare_by=nothing", 400, "'nothing'");
        check(fixture, PATH ".rate/regress?method=guess", 400,
              "must be one of perfd, hunter, stdev, zscore, relative, not 'guess'");
        check(fixture, PATH ".rate/regress?order=up", 400, "semver, version, time, number");
        check(fixture, PATH ".rate/regress?direction=up", 400, "none, lower, higher");
        check(fixture, PATH ".rate/regress?fdr=2", 400, "'fdr'");
        check(fixture, PATH ".rate/regress?across=version", 400, "must be hardware");
        check(fixture, "/api/v1/kpis/Nothing/regress", 404, "'Nothing'");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_regression_is_told_with_its_version, setup, teardown),
                cmocka_unit_test_setup_teardown(later_versions_are_excluded, setup, teardown),
                cmocka_unit_test_setup_teardown(histories_are_kept_apart_by_parameters, setup, teardown),
                cmocka_unit_test_setup_teardown(a_pattern_selects_kpis_of_all_indicators, setup, teardown),
                cmocka_unit_test_setup_teardown(entries_can_be_excluded, setup, teardown),
                cmocka_unit_test_setup_teardown(the_status_of_the_original_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(an_accepted_level_is_told_with_the_verdict, setup, teardown),
                cmocka_unit_test(the_runs_of_a_table_are_limited_by_their_memory),
                cmocka_unit_test(the_labels_of_a_table_are_limited),
                cmocka_unit_test(what_separates_single_runs_is_written),
                cmocka_unit_test_setup_teardown(a_label_that_separates_runs_is_told_instead_of_a_verdict, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(wrong_requests_are_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
