/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the files of a test, by the rules of a declaration. */
/* tests: client/matrix/test_values.c client/matrix/results_file.c client/matrix/log_scan.c
 * client/matrix/parser_step.c client/matrix/test_matrix.c */
#include "results_fixture.h"

#include "util/clock.h"

#include "client/cli/command.h"
#include "client/matrix/log_scan.h"
#include "client/matrix/parser_step.h"
#include "util/scoped.h"

static void put_test(const char *exit_code) {
        results_put("tree/1/settings.yaml", "a: 1");
        results_put("tree/1/exit_code", exit_code);
}

static void assert_values(const TestMatrix *matrix, const char *json) {
        assert_string_equal(matrix->values[0].json, json);
}

static void assert_found(const TestMatrix *matrix, const char *text) {
        const Buffer *all = &matrix->tree.records[0].findings.text;

        if (!all->text || !strstr(all->text, text))
                fail_msg("'%s' is not in '%s'", text, all->text ?: "");
}

static void paths_lead_through_json_and_yaml(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/a.json", "{\"s\":{\"rate\":\"12.5\",\"n\":3.0,\"bad\":\"1,5\"},"
                                     "\"runs\":[{\"t\":1},{},{\"t\":2}]}");
        results_put("tree/1/b.yaml", "s:\n  ok: true\n  at: 2026-11-28T07:00:00Z\n");
        results_put("tree/1/list.json", "[1]");
        results_put("results.yaml", "values:\n"
                                    "  rate: {file: a.json, path: s.rate, type: float, unit: s}\n"
                                    "  text: {file: a.json, path: s.rate}\n"
                                    "  n: {file: a.json, path: s.n, type: int}\n"
                                    "  bad: {file: a.json, path: s.bad, type: float}\n"
                                    "  all: {file: a.json, path: 'runs[].t'}\n"
                                    "  second: {file: a.json, path: 'runs[2].t'}\n"
                                    "  none: {file: a.json, path: s.x}\n"
                                    "  maybe: {file: a.json, path: s.x, optional: true}\n"
                                    "  ok: {file: b.yaml, path: s.ok, type: bool}\n"
                                    "  at: {file: b.yaml, path: s.at, type: time}\n"
                                    "  item: {file: list.json, path: '[0]'}\n"
                                    "start: at\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"rate\":12.5,\"text\":\"12.5\",\"n\":3,\"bad\":null,\"all\":[1,2],\"second\":2,"
                               "\"none\":null,\"maybe\":null,\"ok\":true,\"at\":\"2026-11-28T07:00:00Z\",\"item\":1}");
        assert_found(&matrix, "1/a.json: s.bad: '1,5' is not of the type float");
        assert_found(&matrix, "1/a.json: 's.x' is missing");
        assert_int_equal(test_matrix_count_errors(&matrix), 2);
        assert_true(matrix.values[0].start_ns == UINT64_C(1795849200) * NS_PER_S);
}

static void broken_files_are_named_with_their_lines(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/a.json", "{\n\"a\": 1");
        results_put("tree/1/b.yaml", "a: 1\nb: [");
        results_put_bytes("tree/1/utf16.yaml", "\xff\xfe" "a\0", 4);
        assert_int_equal(mkdir("tree/1/dir", 0777), 0);
        assert_int_equal(symlink("/etc/passwd", "tree/1/out"), 0);
        results_put("results.yaml", "important_files: ['*.json']\n"
                                    "values:\n"
                                    "  a: {file: a.json, path: a}\n"
                                    "  b: {file: b.yaml, path: a}\n"
                                    "  utf16: {file: utf16.yaml, path: a}\n"
                                    "  dir: {file: dir, path: a}\n"
                                    "  out: {file: out, path: a}\n"
                                    "  absent: {file: absent, path: a}\n"
                                    "  glob: {file: '*.txt', path: a}\n");
        results_read(&matrix, EXIT_DONE);
        assert_int_equal(matrix.values[0].n_missing, 7);
        assert_found(&matrix, "1/a.json:2:7: ");
        assert_found(&matrix, "1/b.yaml:3:1: ");
        assert_found(&matrix, "1/utf16.yaml:1: is UTF-16");
        assert_found(&matrix, "1/dir: is no regular file, for the value dir");
        assert_found(&matrix, "1/out: a link leads out");
        assert_found(&matrix, "1/absent: no such file, for the value absent");
        assert_found(&matrix, "1/*.txt: no such file, for the value glob");
        assert_found(&matrix, "warning: 1/b.yaml: is read, and is not among important_files");
}

static void of_several_files_the_last_is_taken(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/000__load[x]/o.json", "{\"a\":1}");
        results_put("tree/1/010__load[x]/o.json", "{\"a\":2}");
        results_put("results.yaml", "artifacts: {load: '*__load*'}\n"
                                    "values: {a: {artifact: load, file: '?.json', path: a}}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"a\":2}");
        assert_found(&matrix, "warning: 1/*__load*: 2 match; the last is taken: 1/010__load[x]");
        assert_int_equal(matrix.tree.records[0].findings.n_errors, 0);
}

static void lines_match_first_last_or_all(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put_bytes("tree/1/log", "loss: 3.5\r\n\xff\0 x\nloss: 2\nepoch one", 33);
        results_put("results.yaml", "values:\n"
                                    "  first: {file: log, line: 'loss: (?<value>[0-9.]+)$'}\n"
                                    "  last: {file: log, line: '(?<x>loss): (?<value>[0-9.]+)', which: last}\n"
                                    "  all: {file: log, line: 'loss: (?<v>[0-9.]+)', which: all, type: float}\n"
                                    "  text: {file: log, line: 'loss: (?<v>[0-9.]+)', type: str}\n"
                                    "  epoch: {file: log, line: 'epoch (?<v>.*)', type: int}\n"
                                    "  epochs: {file: log, line: 'epoch (?<v>.*)', which: all, type: int}\n"
                                    "  none: {file: log, line: 'none (?<v>.*)'}\n"
                                    "  across: {file: log, line: 'loss: 3.5\\s+(?<v>.)', optional: true}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"first\":3.5,\"last\":2,\"all\":[3.5,2],\"text\":\"3.5\",\"epoch\":null,"
                               "\"epochs\":null,\"none\":null,\"across\":null}");
        assert_found(&matrix, "1/log:4: epoch: 'one' is not of the type int");
        assert_found(&matrix, "1/log: epochs: 'one' is not of the type int"); /* as perfctl-results(1) says */
        assert_found(&matrix, "1/log: no line matches, for the value none");
}

static void a_text_of_any_size_is_read_in_blocks(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;
        size_t n = 5 * LOG_SCAN_LINE_MAX / 2;
        scoped(freep) char *text = malloc(n + 64);

        (void)state;
        assert_non_null(text);
        memset(text, 'x', n);
        for (size_t i = 0; i < LOG_SCAN_LINE_MAX / 2; i += 64)
                text[i] = '\n';
        memcpy(text + LOG_SCAN_LINE_MAX / 2, "\nn=1 ", 5);
        memcpy(text + n, " n=2\nn=3\n", 10);
        put_test("0");
        results_put("tree/1/log", text);
        results_put("results.yaml", "values:\n"
                                    "  all: {file: log, line: 'n=(?<v>[0-9])', which: all}\n"
                                    "  long: {file: log, line: '^(x+x+)+(?<v>y)', optional: true}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"all\":[1,3],\"long\":null}");
        assert_found(&matrix, "warning: 1/log: lines of more than 1 MiB, searched in their first MiB only: 1");
}

static void an_expression_that_does_not_end_is_stopped(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/log", "ok\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!\n");
        results_put("results.yaml", "values: {x: {file: log, line: '^(a+)+(?<v>$)'}}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"x\":null}");
        assert_found(&matrix, "1/log:2: ");
        assert_int_equal(matrix.tree.records[0].findings.n_errors, 1);
}

static void columns_are_named_in_the_first_line(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/t.csv", "\na;\"b c\"\n1;2\n3;\n5;\"6\"\n");
        results_put("tree/1/bad.csv", "a,b\n1,\"2\n");
        results_put("results.yaml", "values:\n"
                                    "  all: {file: t.csv, column: b c, which: all}\n"
                                    "  first: {file: t.csv, column: a}\n"
                                    "  last: {file: t.csv, column: b c, which: last, type: int}\n"
                                    "  none: {file: t.csv, column: d}\n"
                                    "  bad: {file: bad.csv, column: b}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"all\":[2,6],\"first\":1,\"last\":6,\"none\":null,\"bad\":null}");
        assert_found(&matrix, "1/t.csv: the column 'd' is missing, or empty");
        assert_found(&matrix, "1/bad.csv:2: a quoted cell has no end");
}

static void the_end_of_a_container_is_read(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/pod.json",
                    "{\"items\":[{\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":"
                    "{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}},"
                    "{\"status\":{\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{}]}}]}");
        results_put("results.yaml", "values:\n"
                                    "  code: {file: pod.json, container: main}\n"
                                    "  why: {file: pod.json, container: '*', take: reason}\n"
                                    "  side: {file: pod.json, container: side}\n"
                                    "  none: {file: pod.json, container: none}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"code\":137,\"why\":\"OOMKilled\",\"side\":null,\"none\":null}");
        assert_found(&matrix, "1/pod.json: the container has not ended");
        assert_found(&matrix, "1/pod.json: has no such container");
}

static void what_a_failed_test_lacks_is_no_error(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;
        scoped(buffer_deinit) Buffer json = {}, table = {};
        Screen screen;

        (void)state;
        put_test("7");
        results_put("tree/2/settings.yaml", "a: 2");
        results_put("results.yaml", "name: serving\nvalues: {a: {file: a.json, path: a, unit: s}}\n");
        results_read(&matrix, EXIT_DONE);
        assert_int_equal(test_matrix_count_errors(&matrix), 0);
        assert_int_equal(matrix.n_failed, 1);
        test_matrix_write_json(&matrix, &(Json){ .out = &json });
        assert_non_null(strstr(json.text, "\"state\":\"failed\",\"exit_code\":7,"));
        assert_non_null(strstr(json.text, "\"left_out\":[{\"path\":\"2\",\"reason\":\"has no exit_code"));
        screen_init(&screen, &table, -1, true);
        assert_int_equal(test_matrix_write_table(&matrix, &screen, false), 0);
        assert_non_null(strstr(table.text, "failed: exit 7"));
        assert_non_null(strstr(table.text, "1 tests of 1 settings, 1 failed; 1 left out"));
}

/* --- the parser of a site ------------------------------------------------------------------------- */

static const char *run_parser(const char *script, uint64_t timeout_ns, Findings *findings, Buffer *out) {
        const Value words[] = { { .type = VALUE_STRING, .string = "sh" },
                                { .type = VALUE_STRING, .string = "-c" },
                                { .type = VALUE_STRING, .string = script } };
        scoped(arena_deinit) Arena arena = {};
        const Value *value;

        buffer_clear(out);
        assert_int_equal(parser_step_run(&(Value){ .type = VALUE_LIST, .items = words, .n_items = 3 }, "/tmp", "t",
                                         timeout_ns, &arena, &value, findings),
                         0);
        if (value)
                value_write_json(value, &(Json){ .out = out });
        return out->text ?: "";
}

static void a_parser_prints_one_object(void **state) {
        static const struct {
                const char *script, *finding;
        } cases[] = {
                { "exit 3", "t: sh exited with 3" },
                { "kill -9 $$", "t: sh was ended by signal 9" },
                { "echo [1]", "t: sh printed no JSON object" },
                { "echo", "t: sh printed no JSON object" },
                { "echo; echo '{\"a\":'", "t: sh:3:1: a: the text is truncated" },
                { "head -c 20000000 /dev/zero", "t: sh printed more than 16 MiB" },
        };
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(findings_deinit) Findings findings = {};

                assert_string_equal(run_parser(cases[i].script, 60 * NS_PER_S, &findings, &out), "");
                assert_non_null(findings.text.text);
                if (!strstr(findings.text.text, cases[i].finding))
                        fail_msg("%s: %s", cases[i].script, findings.text.text);
        }
        assert_string_equal(run_parser("cat; echo '{\"dir\":\"'$0'\"}'", 60 * NS_PER_S, &(Findings){}, &out),
                            "{\"dir\":\"/tmp\"}");
}

static void a_parser_that_does_not_end_is_ended(void **state) {
        scoped(findings_deinit) Findings findings = {};
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        assert_string_equal(run_parser("sleep 1000 & wait", NS_PER_MS, &findings, &out), "");
        assert_non_null(strstr(findings.text.text, "t: sh did not end within parser_timeout"));
        buffer_clear(&findings.text);
        assert_string_equal(run_parser("echo '{}'; exec >&-; sleep 1000", 500 * NS_PER_MS, &findings, &out), "");
        assert_non_null(strstr(findings.text.text, "t: sh did not end within parser_timeout"));
}

static void values_of_the_parser_follow_the_declared_ones(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/a.json", "{\"a\":1}");
        results_put("results.yaml", "parser: [sh, -c, 'cat $0/a.json; :']\nvalues: {b: {file: a.json, path: a}}\n");
        results_read(&matrix, EXIT_DONE);
        assert_values(&matrix, "{\"b\":1,\"a\":1}");
}

/* --- the declaration ------------------------------------------------------------------------------ */

static void a_preset_changes_the_declaration(void **state) {
        static const char *const presets[] = { "other", "more" };
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        put_test("0");
        results_put("tree/1/a.json", "{\"a\":1,\"b\":2}");
        results_put("results.yaml", "values: {x: {file: a.json, path: a}}\n"
                                    "presets:\n"
                                    "  other: {values: {x: {path: b}}}\n"
                                    "  more: {name: n, values: {y: {file: a.json, path: a}}}\n");
        assert_int_equal(test_matrix_read(&matrix, &(TestMatrixOptions){ .directory = "tree",
                                                                         .presets = presets,
                                                                         .n_presets = 2 }),
                         EXIT_DONE);
        assert_values(&matrix, "{\"x\":2,\"y\":1}");
        assert_string_equal(matrix.file.name, "n");
}

static void a_wrong_declaration_is_refused(void **state) {
        static const char *const texts[] = {
                "[]",
                "valuse: {}",
                "values: 1",
                "values: {a: 1}",
                "values: {a: {file: x}}",
                "values: {a: {path: x}}",
                "values: {a: {file: x, path: x, line: '(?<v>x)'}}",
                "values: {a: {file: /x, path: x}}",
                "values: {a: {file: a/../../x, path: x}}",
                "values: {a: {file: x, path: 'a['}}",
                "values: {a: {file: x, path: 'a[*]'}}",
                "values: {a: {file: x, line: x}}",
                "values: {a: {file: x, line: '(?<v>'}}",
                "values: {a: {file: x, path: x, which: some}}",
                "values: {a: {file: x, path: x, artifact: none}}",
                "artifacts: {a: ../x}",
                "important_files: []",
                "parser: ls",
                "parser_timeout: soon",
                "start: none",
                "name: 'a b'",
                "values: &a {}\nname: *a",
        };

        (void)state;
        put_test("0");
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(test_matrix_deinit) TestMatrix matrix;

                results_put("results.yaml", texts[i]);
                results_read(&matrix, EXIT_FAILED);
                assert_null(matrix.values);
        }
}

static void the_declaration_is_not_taken_from_the_results(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix = {}, beside = {}, link = {};
        TestMatrixOptions options = { .directory = "tree", .config = "tree/results.yaml" };

        (void)state;
        put_test("0");
        results_put("tree/results.yaml", "values: {}");
        assert_int_equal(test_matrix_read(&matrix, &options), EXIT_FAILED);
        assert_int_equal(symlink("tree/results.yaml", "link.yaml"), 0);
        options.config = "link.yaml";
        assert_int_equal(test_matrix_read(&link, &options), EXIT_FAILED);
        results_put("beside.yaml", "values: {}");
        options.config = "beside.yaml";
        assert_int_equal(test_matrix_read(&beside, &options), EXIT_DONE);
}

static void a_directory_without_tests_is_an_error(void **state) {
        scoped(test_matrix_deinit) TestMatrix matrix;

        (void)state;
        results_put("results.yaml", "values: {}");
        results_read(&matrix, EXIT_FAILED);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, results_set_up, results_tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                ROW(paths_lead_through_json_and_yaml),
                ROW(broken_files_are_named_with_their_lines),
                ROW(of_several_files_the_last_is_taken),
                ROW(lines_match_first_last_or_all),
                ROW(a_text_of_any_size_is_read_in_blocks),
                ROW(an_expression_that_does_not_end_is_stopped),
                ROW(columns_are_named_in_the_first_line),
                ROW(the_end_of_a_container_is_read),
                ROW(what_a_failed_test_lacks_is_no_error),
                ROW(a_parser_prints_one_object),
                ROW(a_parser_that_does_not_end_is_ended),
                ROW(values_of_the_parser_follow_the_declared_ones),
                ROW(a_preset_changes_the_declaration),
                ROW(a_wrong_declaration_is_refused),
                ROW(the_declaration_is_not_taken_from_the_results),
                ROW(a_directory_without_tests_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
