/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of tests, their validation, and the files of a run. */
/* tests: client/matrix/payload.c client/matrix/results_report.c client/matrix/results_store.c */
#include "results_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/matrix/results_report.h"
#include "client/matrix/results_store.h"
#include "util/clock.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define MODEL                                                                                                          \
        "model: {name: Serving, parameters: {threads: int}, results: {rate: {type: float, unit: MB/s, direction: "     \
        "higher}, items: int, seconds: {from: items / rate, direction: lower, help: Time}}}\n"
#define VALUES "values: {r: {file: log, line: 'rate (?<v>.*)'}, n: {file: log, line: 'n (?<v>.*)', optional: true}}\n"

/* Makes the payloads of all tests in the tree. */
static void make(ResultsRun *run, const char *declaration) {
        *run = (ResultsRun){};
        results_put("results.yaml", declaration);
        results_read(&run->matrix, EXIT_DONE);
        run->payloads = calloc(run->matrix.tree.n + 1, sizeof(*run->payloads));
        run->items = calloc(run->matrix.tree.n + 1, sizeof(*run->items));
        assert_true(run->payloads && run->items);
        for (size_t i = 0; i < run->matrix.tree.n; i++) {
                if (run->matrix.tree.records[i].left_out)
                        continue;
                assert_int_equal(payload_make(&run->matrix.file, &run->matrix.tree.records[i], &run->matrix.values[i],
                                              &run->payloads[i]),
                                 0);
                if (run->payloads[i].item.indicator.name)
                        run->items[run->n_items++] = run->payloads[i].item;
        }
}

static void put_test(const char *path, const char *settings, const char *exit_code, const char *log) {
        char name[64];

        (void)snprintf(name, sizeof(name), "tree/%s/settings.yaml", path);
        results_put(name, settings);
        (void)snprintf(name, sizeof(name), "tree/%s/exit_code", path);
        results_put(name, exit_code);
        (void)snprintf(name, sizeof(name), "tree/%s/log", path);
        results_put(name, log);
}

static void assert_contains(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("'%s' is not in '%s'", part, text ?: "");
}

static void settings_are_parameters_and_labels(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        put_test("1", "{threads: 4, run_id: x, '@repeat': 1}", "0", "rate 2.5\nn 10\n");
        results_put("tree/1/.uuid", "7b6471e2-103e-43c2-9fda-f62548f2f8ed");
        make(&run, MODEL VALUES "results: {rate: r, items: n / 1}\n");
        assert_true(run.payloads[0].is_valid);
        assert_contains(run.payloads[0].text, "{\"name\":\"Serving\",\"component\":\"kpi\","
                                              "\"@parameters\":{\"threads\":4},"
                                              "\"@result\":{\"rate\":2.5,\"items\":10.0},"
                                              "\"@labels\":{\"@repeat\":1,\"run_id\":\"x\",\"test_path\":\"1\"},"
                                              "\"@timestamp\":\"");
        payload_write_json(&run.payloads[0], &run.matrix.file, &run.matrix.tree.records[0], &run.matrix.values[0],
                           NULL, &(Json){ .out = &out });
        assert_contains(out.text, "{\"metadata\":{\"status\":\"Valid\",\"start\":\"");
        assert_contains(out.text, "\"test_uuid\":\"7b6471e2-103e-43c2-9fda-f62548f2f8ed\",\"urls\":null,"
                                  "\"exit_code\":0,");
        assert_contains(out.text, "\"results\":{\"rate\":2.5,\"items\":10.0},\"kpis\":{\"rate\":{\"unit\":\"MB/s\",");
        assert_contains(out.text, "\"seconds\":{\"unit\":\"\",\"help\":\"Time\",");
        assert_contains(out.text, "\"value\":4.0,\"test_uuid\":\"7b6471e2-103e-43c2-9fda-f62548f2f8ed\","
                                  "\"lower_better\":true,\"threads\":4,\"@repeat\":1,\"run_id\":\"x\"}},"
                                  "\"regression_results\":null}");
}

static void what_differs_from_the_model_is_not_valid(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;

        (void)state;
        put_test("1", "threads: many", "0", "rate 2\nn 1\n");
        put_test("2", "threads: 2", "0", "rate 2\n");
        put_test("3", "{threads: 3, more: 1}", "0", "rate 2\nn 1\n");
        put_test("4", "threads: 4", "0", "rate fast\nn 1\n");
        put_test("5", "threads: 5", "1", "");
        put_test("6", "threads: 6", "0", "rate 0\nn 1\n");
        make(&run, MODEL VALUES "results: {rate: r, items: n}\n");
        assert_int_equal(run.n_items, 6);
        for (size_t i = 0; i < 4; i++)
                assert_false(run.payloads[i].is_valid);
        assert_contains(run.matrix.tree.records[0].findings.text.text, "1: is not valid: @parameters.threads");
        assert_contains(run.matrix.tree.records[1].findings.text.text, "2: is not valid: @result.items");
        assert_contains(run.matrix.tree.records[2].findings.text.text, "3: is not valid: @parameters.more");
        assert_contains(run.matrix.tree.records[3].findings.text.text, "4: is not valid: @result.rate");
        /* a failed test lacks what it lacks */
        assert_true(run.payloads[4].is_valid);
        assert_true(submission_has_failed(&run.payloads[4].item));
        assert_true(run.payloads[5].is_valid);
        assert_contains(run.payloads[5].kpis, "\"value\":null");
}

static void without_results_all_values_are_results(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;

        (void)state;
        put_test("1", "threads: 4", "0", "rate 2\nn 1\n");
        make(&run, "name: plain\n" VALUES);
        assert_true(run.payloads[0].is_valid);
        assert_null(run.payloads[0].kpis);
        assert_contains(run.payloads[0].text, "\"@result\":{\"r\":2,\"n\":1}");
}

static void an_expression_without_a_value_is_null(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;

        (void)state;
        put_test("1", "threads: 4", "0", "rate 0\nn 1\n");
        make(&run, VALUES "results: {x: n / r, per_thread: n / threads}\n");
        assert_contains(run.payloads[0].text, "\"@result\":{\"x\":null,\"per_thread\":0.25}");
        assert_contains(run.matrix.tree.records[0].findings.text.text,
                        "1: the result x has no value: division by zero");
}

static void wrong_models_and_results_are_refused(void **state) {
        static const char *const texts[] = {
                "model: 1",
                "model: absent.yaml",
                "model: {name: 'a b'}",
                "name: x\nmodel: {name: y}",
                "results: {a: 1}",
                "results: {a: 'x +'}",
                "payload: {generates: true}",
                "payload: 1",
                "store: {enabled: maybe}",
        };

        (void)state;
        put_test("1", "threads: 4", "0", "");
        results_put("model.yaml", "name: Serving\nresults: {a: int}\n");
        for (size_t i = 0; i <= N_ELEMENTS(texts); i++) {
                scoped(test_matrix_deinit) TestMatrix matrix;

                results_put("results.yaml", i < N_ELEMENTS(texts) ? texts[i] : "model: model.yaml");
                results_read(&matrix, i < N_ELEMENTS(texts) ? EXIT_FAILED : EXIT_DONE);
                if (i == N_ELEMENTS(texts))
                        assert_string_equal(matrix.file.name, "Serving");
        }
}

/* --- files and perfd ------------------------------------------------------------------------------ */

static char *read_text(const char *path) {
        char *text = file_read_text(AT_FDCWD, path, 1 << 20);

        assert_non_null(text);
        return text;
}

static void a_run_is_described_in_files(void **state) {
        static const char answer[] =
                "[{\"kpi\":\"Serving.rate\",\"labels\":{\"component\":\"kpi\",\"parameters\":{\"threads\":4}},"
                "\"verdict\":\"regression\",\"runs\":3,\"time_ms\":1700000000000,\"relative_change\":-0.2}]";
        const struct timespec times[] = { { 1700000000, 0 }, { 1700000000, 0 } };
        scoped(results_report_run_deinit) ResultsRun run;
        scoped(freep) char *markdown = NULL, *junit = NULL, *summary = NULL, *anchor = NULL, *payload = NULL;
        scoped(arena_deinit) Arena arena = {};
        const Value *kpis;
        ValueError error;

        (void)state;
        put_test("1", "threads: 4", "0", "rate 2\nn 1\n");
        results_put("tree/1/.uuid", "7b6471e2-103e-43c2-9fda-f62548f2f8ed");
        assert_int_equal(utimensat(AT_FDCWD, "tree/1/settings.yaml", times, 0), 0);
        put_test("2", "threads: 5", "3", "");
        put_test("3", "threads: 6", "0", "n 1\n");
        make(&run, MODEL VALUES "results: {rate: r, items: n}\n");
        findings_warn(&run.matrix.tree.findings, "a|b <script>");
        run.steps[run.n_steps++] = (ResultsStep){ .name = "parse" };
        buffer_puts(&run.steps[0].text, "1 test");
        assert_int_equal(value_parse_only(answer, strlen(answer), &arena, &kpis, &error), 0);
        run.check.kpis = calloc(1, sizeof(Value));
        run.check.kpis[0] = kpis->items[0];
        kpi_gate_count(&run.check.tally, run.check.kpis);
        run.check.member = (Member){ "kpis", *kpis };
        run.check.answer = (Value){ .type = VALUE_OBJECT, .members = &run.check.member, .n_members = 1 };
        run.check.is_judged = true;

        assert_int_equal(results_report_write(&run, "report/inner"), EXIT_DONE);
        assert_contains(markdown = read_text("report/inner/summary.md"), "| parse | 1 test |\n");
        assert_contains(markdown, "| Serving.rate | threads=4 | regression");
        assert_contains(markdown, "| warning: a\\|b \\<script\\> |\n");
        junit = read_text("report/inner/junit.xml");
        assert_contains(junit, "\"perfctl kpi check\" tests=\"1\" failures=\"1\"");
        assert_contains(junit, "\"perfctl results\" tests=\"3\" failures=\"1\" errors=\"1\"");
        assert_contains(junit, "classname=\"Serving\" name=\"2\"><failure message=\"exit 3\"/></testcase>");
        assert_contains(junit, "name=\"1\"/>\n");
        assert_contains(junit, "name=\"3\"><error message=\"3/log: no line matches");
        assert_contains(summary = read_text("report/inner/regression_summary.yaml"), "failures: 1\n");

        assert_int_equal(results_report_write_lts(&run, "lts"), EXIT_DONE);
        assert_contains(anchor = read_text("lts/source.lts.yaml"), "index: Serving\n");
        payload = read_text("lts/Serving_7b6471e2-103e-43c2-9fda-f62548f2f8ed.json");
        assert_contains(payload, "\"regression_results\":{\"Serving.rate\":{\"kpi\":\"Serving.rate\"");
        run.check.is_judged = false;
        assert_int_equal(results_report_write(&run, "report/inner"), EXIT_DONE);
        assert_int_equal(access("report/inner/summary.md", F_OK), 0);
        assert_true(access("report/inner/regression_summary.yaml", F_OK) < 0 &&
                    access("report/inner/FAILURE", F_OK) < 0);
        run.check.has_failed = true;
        assert_int_equal(results_report_write(&run, "report/inner"), EXIT_DONE);
        assert_int_equal(access("report/inner/FAILURE", F_OK), 0);
        results_put("file", "");
        assert_int_equal(results_report_write(&run, "file/inner"), EXIT_FAILED);
}

static void exit_codes_are_stored_as_those_of_a_shell(void **state) {
        static const struct {
                const char *code;
                int status;
        } cases[] = { { "3", 3 }, { "-9", 137 }, { "-127", 255 }, { "256", 255 }, { "-2147483648", 255 } };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(results_report_run_deinit) ResultsRun run;

                put_test("1", "threads: 4", cases[i].code, "rate 2\nn 1\n");
                make(&run, MODEL VALUES "results: {rate: r, items: n}\n");
                assert_true(run.payloads[0].item.has_exit_status);
                assert_int_equal(run.payloads[0].item.exit_status, cases[i].status);
        }
}

static void without_perfd_results_go_to_the_spool(void **state) {
        const ResultsFixture *fixture = *state;
        char spool[64], socket[64];
        scoped(results_report_run_deinit) ResultsRun run;
        scoped(buffer_deinit) Buffer said = {};
        GlobalOptions global = {};

        (void)snprintf(spool, sizeof(spool), "%s/spool", fixture->root);
        (void)snprintf(socket, sizeof(socket), "%s/absent", fixture->root);
        global.http_socket = socket;
        put_test("1", "threads: 4", "0", "rate 2\nn 1\n");
        make(&run, MODEL VALUES "results: {rate: r, items: n}\n");
        assert_int_equal(results_store(&(ResultsStoreOptions){ socket, spool, NS_PER_MS }, run.matrix.file.model,
                                       &run.matrix.tree, run.items, run.n_items, &said),
                         EXIT_UNREACHABLE);
        assert_contains(said.text, "1 kept in the spool");
        results_put("file", "");
        (void)snprintf(spool, sizeof(spool), "%s/file", fixture->root);
        assert_int_equal(results_store(&(ResultsStoreOptions){ socket, spool, NS_PER_MS }, NULL, &run.matrix.tree,
                                       run.items, run.n_items, &said),
                         EXIT_FAILED);
        assert_int_equal(results_store_check(&run.check, &global, run.items, run.n_items), EXIT_UNREACHABLE);
        assert_false(run.check.is_judged);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, results_set_up, results_tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                ROW(settings_are_parameters_and_labels),
                ROW(what_differs_from_the_model_is_not_valid),
                ROW(without_results_all_values_are_results),
                ROW(an_expression_without_a_value_is_null),
                ROW(wrong_models_and_results_are_refused),
                ROW(a_run_is_described_in_files),
                ROW(exit_codes_are_stored_as_those_of_a_shell),
                ROW(without_perfd_results_go_to_the_spool),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
