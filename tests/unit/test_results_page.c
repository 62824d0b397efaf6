/* SPDX-License-Identifier: Apache-2.0 */
/* Plots and reports of a declaration, and the data of the pages that show them. */
/* tests: client/matrix/results_plots.c client/matrix/results_page.c client/matrix/results_store.c
 * client/report/report_html.c */
#include "results_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/matrix/results_page.h"
#include "client/matrix/results_store.h"
#include "client/report/report_html.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define VALUES                                                                                                         \
        "values: {rate: {file: log, line: 'rate (?<v>.*)'}, all: {file: log, line: '(?<v>[0-9]+)', which: all}}\n"

static void assert_contains(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("'%s' is not in '%s'", part, text ?: "");
}

static void put_test(const char *path, const char *settings, const char *exit_code, const char *log) {
        static const char *const names[] = { "settings.yaml", "exit_code", "log" };
        const char *const texts[] = { settings, exit_code, log };
        char name[64];

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                (void)snprintf(name, sizeof(name), "tree/%s/%s", path, names[i]);
                results_put(name, texts[i]);
        }
}

/* --- declarations --------------------------------------------------------------------------------- */

static void what_is_wrong_is_named(void **state) {
        static const struct {
                const char *text, *path;
        } wrong[] = {
                { "plots: [1]", "plots" },
                { "plots: {a: 1}", "plots.a" },
                { "plots: {a/b: {x: n, y: rate}}", "plots.a/b" },
                { "plots: {index: {x: n, y: rate}}", "plots.index" },
                { "plots: {a: {x: n}}", "plots.a" },
                { "plots: {a: {y: rate}}", "plots.a" },
                { "plots: {a: {x: n, y: rat}}", "plots.a.y" },
                { "plots: {a: {x: n, y: rate, kind: pie}}", "plots.a.kind" },
                { "plots: {a: {x: n, y: rate, colour: n}}", "plots.a.colour" },
                { "plots: {a: {x: n, y: rate, legend: 1}}", "plots.a.legend" },
                { "plots: {a: {x: n, y: rate, facets: [1]}}", "plots.a.facets" },
                { "plots: {a: {x: n, y: rate, filter: n}}", "plots.a.filter" },
                { "plots: {a: {x: n, y: rate, filter: {n: {}}}}", "plots.a.filter" },
                { "plots: {a: {x: n, y: rate, filter: [n]}}", "plots.a.filter" },
                { "plots: {a: {x: n, y: rate, order: {n: 1}}}", "plots.a.order" },
                { "plots: {a: {x: n, y: rate, single: 1}}", "plots.a.single" },
                { "plots: {a: {x: n, y: rate, options: {zero: 1}}}", "plots.a.options.zero" },
                { "plots: {a: {x: n, y: rate, options: {z: 1}}}", "plots.a.options.z" },
                { "reports: 1", "reports" },
                { "reports: {r: []}", "reports.r" },
                { "reports: {r: [heading]}", "reports.r[0]" },
                { "reports: {r: [kpis, {tables: 1}]}", "reports.r[1]" },
                { "reports: {r: [{plot: a}]}", "reports.r[0].plot" },
                { "reports: {r: [{text: 1}]}", "reports.r[0].text" },
                { "reports: {r: [{text: a, more: b}]}", "reports.r[0].more" },
                { "reports: {r: [{kpis: {sort_by: n}}]}", "reports.r[0].kpis.sort_by" },
                { "reports: {r: [{check: 1}]}", "reports.r[0].check" },
                { "reports: {r: [{configuration: 1}]}", "reports.r[0]" },
                { "reports: {r: [{entries: [{entries: [kpis]}]}]}", "reports.r[0].entries[0]" },
                { "reports: {r: [{entries: 1}]}", "reports.r[0].entries" },
                { "plots: {a: {x: n, y: rate}}\nreports: {a: [kpis]}", "reports.a" },
                { "plots: {a: {x: n, y: rate}}\nreports: {r: [{plot: a, x: n}]}", "reports.r[0].x" },
                { "visualize: 1", "visualize" },
                { "visualize: [1]", "visualize[0]" },
                { "visualize: [{id: i}]", "visualize[0]" },
                { "visualize: [{id: i, generate: [r]}]", "visualize[0].generate" },
                { "logs: stderr", "logs" },
        };

        (void)state;
        put_test("1", "n: 1", "0", "rate 1\n");
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                scoped(buffer_deinit) Buffer text = {};
                scoped(test_matrix_deinit) TestMatrix matrix;
                Complaint complaint = {};
                ModelReader reader = { .complaint = &complaint };

                buffer_printf(&text, VALUES "%s\n", wrong[i].text);
                results_put("results.yaml", text.text);
                results_read(&matrix, EXIT_FAILED);
                assert_int_equal(results_plots_check(&reader, matrix.file.root, NULL), MODEL_INVALID);
                assert_string_equal(complaint.path, wrong[i].path);
        }
}

#define REPORTS                                                                                                        \
        "plots: {a: {x: n, y: rate, legend: [m, all], filter: 'n=1:2,m=', order: {n: [2, 1]},\n"                       \
        "            options: {zero: true}}}\n"                                                                        \
        "reports:\n  r: [kpis, check, errors, configuration, {heading: h}, {text: t}, {plot: a, kind: bar}]\n"         \
        "  e: [{entries: [{kpis: {names: ['*']}}, {check: {}}]}]\n"                                                    \
        "visualize: [{id: one, generate: [r]}, {id: two, generate: [r, a]}]\n"

static void reports_are_chosen(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;
        static const struct {
                const char *wanted, *names, *off;
        } rows[] = {
                { NULL, "r a", "; off: e" }, { "one", "r", "; off: e" }, { "e", "e", "; off: r" },
                { "a", "a", "; off: r, e" }, { "two", "r a", "; off: e" },
        };
        const char *unknown = NULL;
        ResultsReports reports;

        (void)state;
        put_test("1", "n: 1", "0", "rate 1\n");
        results_put("results.yaml", VALUES REPORTS);
        results_read(&matrix, EXIT_DONE);
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                scoped(buffer_deinit) Buffer names = {}, off = {};

                assert_int_equal(results_plots_choose(matrix.file.root, &rows[i].wanted, rows[i].wanted ? 1 : 0,
                                                      &reports, &unknown),
                                 0);
                for (size_t k = 0; k < reports.n; k++)
                        buffer_printf(&names, "%s%s", k > 0 ? " " : "", reports.names[k]);
                assert_string_equal(names.text, rows[i].names);
                results_plots_put_off(matrix.file.root, &reports, &off);
                assert_string_equal(off.text, rows[i].off);
                results_plots_reports_deinit(&reports);
        }
        assert_int_equal(results_plots_choose(matrix.file.root, (const char *const[]){ "x" }, 1, &reports, &unknown),
                         1);
        assert_string_equal(unknown, "x");
        results_plots_reports_deinit(&reports);
        assert_true(results_plots_show(matrix.file.root, "rate") && results_plots_show(matrix.file.root, "n"));
        assert_true(results_plots_show(matrix.file.root, "all"));
        assert_false(results_plots_show(matrix.file.root, "absent"));
}

static void without_reports_there_is_one(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;
        const char *unknown = NULL;
        ResultsReports reports;

        (void)state;
        put_test("1", "n: 1", "0", "rate 1\n");
        results_put("results.yaml", VALUES);
        results_read(&matrix, EXIT_DONE);
        for (size_t n = 0; n < 2; n++) {
                assert_int_equal(results_plots_choose(matrix.file.root, (const char *const[]){ "report" }, n, &reports,
                                                      &unknown),
                                 0);
                assert_int_equal(reports.n, 1);
                assert_string_equal(reports.names[0], "report");
                results_plots_reports_deinit(&reports);
        }
}

/* --- pages ---------------------------------------------------------------------------------------- */

static void pages_have_the_tests(void **state) {
        scoped(results_report_run_deinit) ResultsRun run = {};
        scoped(results_plots_reports_deinit) ResultsReports reports;
        scoped(buffer_deinit) Buffer said = {};
        scoped(freep) char *page = NULL, *index = NULL;
        const char *unknown;

        (void)state;
        put_test("1", "{n: 1, run_id: x}", "0", "rate 1\n");
        put_test("2", "n: 2", "3", "");
        results_put("tree/2/stderr", "</script>\xff\n");
        put_test("3", "n: 3", "", "");
        results_put("results.yaml", "name: some\nlogs: ['std*', ../x]\n" VALUES REPORTS);
        results_read(&run.matrix, EXIT_DONE);
        assert_int_equal(results_plots_choose(run.matrix.file.root, NULL, 0, &reports, &unknown), 0);
        assert_int_equal(results_page_write(&run, NULL, &reports, "out/inner", &said), EXIT_DONE);
        assert_string_equal(said.text, ", r.html, a.html");
        page = file_read_text(AT_FDCWD, "out/inner/r.html", 1 << 20);
        index = file_read_text(AT_FDCWD, "out/inner/index.html", 1 << 20);
        assert_contains(page, "<script type=\"application/json\" id=\"data\">{\"report\":\"r\",\"parts\":[\"kpis\",");
        assert_contains(page, "\"settings\":{\"n\":1},\"labels\":{\"run_id\":\"x\"},"
                              "\"values\":{\"rate\":1,\"all\":[1]},\"findings\"");
        assert_contains(page, "\"log\":\"stderr:\\n\\u003c/script>\xef\xbf\xbd\\n\"");
        assert_contains(page, "\"left_out\":[{\"path\":\"3\"");
        assert_contains(page, "\"verdicts\":null,\"history\":[]}}");
        assert_contains(index, "{\"report\":null,\"parts\":null,\"reports\":[\"r\",\"a\"],");
        results_put("file", "");
        assert_int_equal(results_page_write(&run, NULL, &reports, "file/inner", &said), EXIT_FAILED);
}

static void of_a_long_log_the_end_is_taken(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;
        scoped(buffer_deinit) Buffer log = {}, out = {};

        (void)state;
        for (size_t i = 0; i < 2000; i++)
                buffer_printf(&log, "line %zu\n", i);
        put_test("1", "n: 1", "1", "");
        results_put("tree/1/stdout", log.text);
        results_put("tree/1/stderr", "");
        results_put("results.yaml", VALUES);
        results_read(&matrix, EXIT_DONE);
        assert_int_equal(results_page_put_log(&matrix.file, &matrix.tree, &matrix.tree.records[0], &out), 0);
        assert_int_equal(strncmp(out.text, "stdout:\n…\nline 1", strlen("stdout:\n…\nline 1")), 0);
        assert_contains(out.text, "line 1999\n");
        assert_true(out.n < RESULTS_LOG_BYTES_MAX + 32);
}

/* --- history -------------------------------------------------------------------------------------- */

#define ANSWER                                                                                                         \
        "{\"groups\":[{\"key\":{\"release\":\"1.0.0\",\"image\":null},\"n\":2,\"first_ms\":5,\"values\":{"             \
        "\"median:rate\":2.5,\"min:rate\":2,\"max:rate\":3}}]}"

/* Answers one request, and keeps it. */
static void *serve(void *arg) {
        char *request = arg;
        int listening = request[0], fd = accept(listening, NULL, NULL);
        char answer[1024];
        int n = snprintf(answer, sizeof(answer),
                         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" ANSWER,
                         strlen(ANSWER));
        size_t used = 0;

        while (used < 2000 && !(used >= 4 && memcmp(request + used - 4, "\r\n\r\n", 4) == 0)) {
                ssize_t got = read(fd, request + used, 1);

                if (got <= 0)
                        break;
                used += (size_t)got;
        }
        request[used] = '\0';
        (void)!write(fd, answer, (size_t)n);
        (void)close(fd);
        (void)close(listening);
        return NULL;
}

static void the_history_of_a_kpi_is_asked_for(void **state) {
        static const char text[] =
                "{\"model\":{\"name\":\"S\",\"compare_by\":[\"release\",\"image\"]},\"kpi\":{\"kpi\":\"S.rate\","
                "\"labels\":{\"component\":\"c\",\"hardware\":\"h\",\"parameters\":{\"n\":1}}}}";
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
        char request[2048] = "";
        int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        scoped(buffer_deinit) Buffer out = {};
        scoped(arena_deinit) Arena arena = {};
        IndicatorModel model = { .name = "S" };
        GlobalOptions global = { .http_socket = "socket" };
        ResultsCheck check = { .is_judged = true, .tally = { .n_all = 1 } };
        const Value *value;
        ValueError error;
        pthread_t thread;

        (void)state;
        assert_int_equal(value_parse_only(text, strlen(text), &arena, &value, &error), 0);
        model.compare_by = value_get(value_get(value, "model"), "compare_by");
        check.kpis = calloc(1, sizeof(Value));
        check.kpis[0] = *value_get(value, "kpi");
        assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listening, 1), 0);
        request[0] = (char)listening;
        assert_int_equal(pthread_create(&thread, NULL, serve, request), 0);
        assert_int_equal(results_store_write_histories(&check, &model, &global, &(Json){ .out = &out }), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_contains(request, "GET /api/v1/indicators/S/query?limit=1000&stat=median%3Arate%2Cmin%3Arate%2C"
                                 "max%3Arate&group_by=release%2Cimage&component=c&where=%40parameters.n%3D1&"
                                 "where=hardware%3Dh ");
        assert_string_equal(out.text, "[[{\"version\":\"release=1.0.0|image=\",\"n\":2.0,\"first_ms\":5.0,"
                                      "\"median\":2.5,\"min\":2,\"max\":3}]]");

        /* perfd is away */
        buffer_clear(&out);
        assert_int_equal(results_store_write_histories(&check, NULL, &global, &(Json){ .out = &out }), 0);
        assert_string_equal(out.text, "[null]");
        results_store_check_deinit(&check);
}

static void data_cannot_end_their_element(void **state) {
        scoped(buffer_deinit) Buffer data = {}, out = {};

        (void)state;
        buffer_puts(&data, "{\"a\":\"</script><\"}");
        report_html_put("<p>@DATA@</p>", &data, &out);
        assert_string_equal(out.text, "<p>{\"a\":\"\\u003c/script>\\u003c\"}</p>");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, results_set_up, results_tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                ROW(what_is_wrong_is_named),
                ROW(reports_are_chosen),
                ROW(without_reports_there_is_one),
                ROW(pages_have_the_tests),
                ROW(of_a_long_log_the_end_is_taken),
                ROW(the_history_of_a_kpi_is_asked_for),
                ROW(data_cannot_end_their_element),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
