/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads in the forms of other stores. */
/* tests: client/matrix/results_publish.c */
#include "results_fixture.h"

#include <fcntl.h>

#include "client/cli/command.h"
#include "client/matrix/results_publish.h"
#include "json_server_fixture.h"
#include "util/scoped.h"

#define ID "7b6471e2-103e-43c2-9fda-f62548f2f8ed"

/* Makes a run of one test. */
static void make(ResultsRun *run, const char *declaration) {
        *run = (ResultsRun){};
        results_put("tree/1/settings.yaml", "threads: 4");
        results_put("tree/1/exit_code", "0");
        results_put("tree/1/.uuid", ID);
        results_put("tree/1/log", "rate 2\n");
        results_put("tree/2/settings.yaml", "threads: 5");
        results_put("results.yaml", declaration);
        results_read(&run->matrix, EXIT_DONE);
        run->payloads = calloc(run->matrix.tree.n, sizeof(*run->payloads));
        assert_int_equal(payload_make(&run->matrix.file, &run->matrix.tree.records[0], &run->matrix.values[0],
                                      &run->payloads[0]), 0);
}

static void assert_contains(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' is not in '%s'", part, text);
}

/* Sends the run to a server with one answer. */
static int send_to(const char *status, const char *answer, const char *prometheus, Buffer *said) {
        scoped(json_server_fixture_end) JsonServerFixture server;
        scoped(results_report_run_deinit) ResultsRun run;
        char declaration[512];

        json_server_fixture_begin(&server, status, answer);
        (void)snprintf(declaration, sizeof(declaration),
                       "name: Serving\nvalues: {rate: {file: log, line: 'rate (?<value>.*)'}}\n%s"
                       "export: {enabled: true, instance: '%s/', index_prefix: ci-, prom_index_suffix: -prom}\n",
                       prometheus, server.url);
        make(&run, declaration);
        return results_publish_send(&run, said);
}

static void payloads_are_lines_of_the_bulk_api(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        make(&run, "name: Serving\nprometheus: http://127.0.0.1:9\n"
                   "values:\n  rate: {file: log, line: 'rate (?<value>.*)'}\n  up: {query: up, optional: true}\n"
                   "export: {index: load, prom_index_suffix: -prom}\n");
        results_publish_put_bulk(&run, &out);
        assert_contains(out.text, "{\"index\":{\"_index\":\"load\",\"_id\":\"" ID "\"}}\n{\"metadata\":{");
        assert_contains(out.text, "\"results\":{\"rate\":2,\"up\":null}");
        assert_contains(out.text, "}\n{\"index\":{\"_index\":\"load-prom\",\"_id\":\"" ID "\"}}\n");
        assert_contains(out.text, "\"results\":{\"up\":{\"query\":\"up\",\"value\":null}}}\n");
}

static void payloads_are_runs_of_horreum(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        make(&run, "name: Serving\nvalues: {rate: {file: log, line: 'rate (?<value>.*)'}}\n"
                   "export: {test_name: nightly}\n");
        results_publish_put_horreum(&run, &out);
        assert_contains(out.text, "[{\"testname\":\"nightly\",\"start\":");
        assert_contains(out.text, "\"data\":{\"$schema\":\"urn:Serving:1.0.0\",\"metadata\":{");
        assert_string_equal(out.text + out.n - 3, "}}]");
}

static void a_server_gets_the_index_and_the_payloads(void **state) {
        scoped(buffer_deinit) Buffer said = {};
        scoped(freep) char *requests = NULL;

        (void)state;
        assert_int_equal(send_to("200 OK", "{\"errors\":false,\"items\":[]}", "prometheus: http://127.0.0.1:9\n",
                                 &said), EXIT_DONE);
        assert_contains(said.text, "1 to http://127.0.0.1:");
        requests = file_read_text(AT_FDCWD, "requests", 1 << 20);
        assert_contains(requests, "PUT /ci-serving HTTP/1.1");
        assert_contains(requests, "PUT /ci-serving-prom HTTP/1.1");
        assert_contains(requests, "\"number_of_shards\":4");
        assert_contains(requests, "POST /_bulk?refresh=true HTTP/1.1");
        assert_contains(requests, "{\"index\":{\"_index\":\"ci-serving\",\"_id\":\"" ID "\"}}\n");
}

static void what_a_server_refuses_is_named(void **state) {
        static const struct {
                const char *status, *answer, *text;
        } rows[] = {
                { "200 OK", "{\"errors\":true,\"items\":[{\"index\":{\"error\":{\"reason\":\"limit of fields\"}}}]}",
                  "limit of fields" },
                { "200 OK", "[]", "not one of OpenSearch" },
                { "200 OK", "<html>", "the answer is no JSON" },
                { "401 No", "{\"error\":{\"type\":\"security\",\"reason\":\"who?\"}}", "HTTP status 401: who?" },
                { "400 Bad", "{\"error\":{\"type\":\"resource_already_exists_exception\",\"reason\":\"it exists\"}}",
                  "it exists" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                scoped(buffer_deinit) Buffer said = {};

                assert_int_equal(send_to(rows[i].status, rows[i].answer, "", &said), EXIT_FAILED);
                assert_contains(said.text, rows[i].text);
        }
}

static void a_directory_that_was_processed_is_known(void **state) {
        scoped(results_report_run_deinit) ResultsRun run;

        (void)state;
        make(&run, "name: Serving\nvalues: {}\n");
        assert_false(results_publish_is_replot(&run.matrix.tree));
        results_publish_note(&run.matrix.tree);
        assert_true(results_publish_is_replot(&run.matrix.tree));
}

static void wrong_declarations_are_refused(void **state) {
        static const char *const texts[] = {
                "export: {enabled: true}", "export: {instance: 'localhost:9200'}", "export: {index: Capital}",
                "export: {index_prefix: 'a/b'}", "export: {enable: true}", "export: [1]",
                "export: {enabled: yes please}",
        };

        (void)state;
        results_put("tree/1/settings.yaml", "threads: 4");
        results_put("tree/1/exit_code", "0");
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(test_matrix_deinit) TestMatrix matrix;

                results_put("results.yaml", texts[i]);
                results_read(&matrix, EXIT_FAILED);
        }
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, results_set_up, results_tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                ROW(payloads_are_lines_of_the_bulk_api),
                ROW(payloads_are_runs_of_horreum),
                ROW(a_server_gets_the_index_and_the_payloads),
                ROW(what_a_server_refuses_is_named),
                ROW(a_directory_that_was_processed_is_known),
                ROW(wrong_declarations_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
