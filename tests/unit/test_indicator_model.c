/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "document/indicator_model.h"
#include "text/yaml.h"
#include "util/scoped.h"

typedef struct Fixture {
        Arena arena;
        IndicatorModel model;
        Complaint complaint;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        return arena_init(&f->arena, 8U << 20);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static const Value *parse(Fixture *f, const char *text) {
        const Value *value;
        YamlError error;

        if (yaml_read(text, strlen(text), &f->arena, &value, &error) != 0)
                fail_msg("%u:%u: %s", error.line, error.column, error.text);
        return value;
}

static int declare(Fixture *f, const char *text) {
        return indicator_model_from_value(parse(f, text), &f->arena, &f->model, &f->complaint);
}

static void assert_refused(Fixture *f, const char *text, const char *path, const char *words) {
        assert_int_equal(declare(f, text), MODEL_INVALID);
        assert_string_equal(f->complaint.path, path);
        if (!strstr(f->complaint.text, words))
                fail_msg("'%s' does not say '%s'", f->complaint.text, words);
}

static const char matmul[] =
        "name: PiMatmul\n"
        "help: Square matrices, multiplied.\n"
        "parameters:\n"
        "  device: {type: str, index: exact, values: [cpu, gpu], help: where}\n"
        "  matrix_size: {type: int, index: int}\n"
        "  padding: [int, str]\n"
        "  reps: int\n"
        "results:\n"
        "  elapsed: {type: float, unit: ms, direction: lower}\n"
        "  rate: {type: float, unit: GFLOP/s, direction: higher}\n"
        "  extra:\n";

static void a_declaration_says_types_units_indexes_and_directions(void **state) {
        Fixture *f = *state;
        const Property *p;

        assert_int_equal(declare(f, matmul), 0);
        assert_string_equal(f->model.name, "PiMatmul");
        assert_null(f->model.component);
        assert_string_equal(f->model.help, "Square matrices, multiplied.");
        assert_int_equal(f->model.n_properties, 7);
        assert_string_equal(f->model.properties[0].name, "device");
        assert_string_equal(f->model.properties[4].name, "elapsed");

        p = indicator_model_find(&f->model, "device", false);
        assert_int_equal(p->types, PROPERTY_STR);
        assert_int_equal(p->index, INDEX_EXACT);
        assert_int_equal(p->allowed->n_items, 2);
        assert_string_equal(p->help, "where");
        p = indicator_model_find(&f->model, "matrix_size", false);
        assert_int_equal(p->types, PROPERTY_INT);
        assert_int_equal(p->index, INDEX_INT);
        p = indicator_model_find(&f->model, "padding", false);
        assert_int_equal(p->types, PROPERTY_INT | PROPERTY_STR);
        assert_int_equal(p->index, INDEX_NONE);
        p = indicator_model_find(&f->model, "rate", true);
        assert_string_equal(p->unit, "GFLOP/s");
        assert_int_equal(p->direction, DIRECTION_HIGHER);
        p = indicator_model_find(&f->model, "elapsed", true);
        assert_int_equal(p->direction, DIRECTION_LOWER);
        p = indicator_model_find(&f->model, "extra", true);
        assert_int_equal(p->types, 0);
        assert_null(p->unit);
        assert_int_equal(p->direction, DIRECTION_UNKNOWN);
}

static void a_declaration_says_how_a_result_is_shown_and_judged(void **state) {
        Fixture *f = *state;
        const Property *p;

        assert_int_equal(
                declare(f, "name: Serving\n"
                           "settings_version: '1.0'\n"
                           "kpi_name: gpu_memory_max\n"
                           "compare_by: [version, container_image]\n"
                           "ignore: [ocp_version]\n"
                           "sort_by: [model_name]\n"
                           "ignore_entries: {virtual_users: [4, 8], model_name: llama}\n"
                           "parameters: {image: semver, begun: time, urls: {type: map, optional: true}}\n"
                           "results:\n"
                           "  memory: {type: [float, list], unit: MB, direction: none, ignored_for_regression: true,\n"
                           "           format: '{:.2f}', divisor: 1024, divisor_unit: GB}\n"),
                0);
        assert_string_equal(f->model.settings_version, "1.0");
        assert_string_equal(f->model.kpi_name, "gpu_memory_max");
        assert_string_equal(f->model.compare_by->items[1].string, "container_image");
        assert_string_equal(f->model.ignore->items[0].string, "ocp_version");
        assert_string_equal(f->model.sort_by->items[0].string, "model_name");
        assert_int_equal(f->model.ignore_entries->n_members, 2);
        p = indicator_model_find(&f->model, "memory", true);
        assert_int_equal(p->types, PROPERTY_FLOAT | PROPERTY_LIST);
        assert_int_equal(p->direction, DIRECTION_NONE);
        assert_true(p->is_ignored_for_regression);
        assert_string_equal(p->display.format, "{:.2f}");
        assert_true(p->display.divisor == 1024);
        assert_string_equal(p->display.divisor_unit, "GB");
}

static void a_parameter_is_not_found_as_a_result(void **state) {
        Fixture *f = *state;

        assert_int_equal(declare(f, matmul), 0);
        assert_null(indicator_model_find(&f->model, "reps", true));
        assert_null(indicator_model_find(&f->model, "rate", false));
        assert_null(indicator_model_find(&f->model, "rat", true));
        assert_null(indicator_model_find(&f->model, "", true));
}

static void an_indicator_may_have_no_parameters(void **state) {
        Fixture *f = *state;

        assert_int_equal(declare(f, "{name: PiImport, parameters: {}, results: {elapsed: {type: float, unit: s}}}"), 0);
        assert_int_equal(f->model.n_properties, 1);
        assert_int_equal(declare(f, "{name: PiImport, parameters: , results: {elapsed: float}}"), 0);
}

static void errors_of_the_whole_model_are_named(void **state) {
        Fixture *f = *state;

        assert_refused(f, "[1]", "", "is a list, must have name, parameters and results");
        assert_refused(f, "{results: {a: int}}", "name", "missing: say which indicator this is");
        assert_refused(f, "{name: 7, results: {a: int}}", "name", "is an integer, must be a string");
        assert_refused(f, "{name: a b, results: {a: int}}", "name", "'a b' must be 1 to 128 letters");
        assert_refused(f, "{name: \"'; DROP TABLE model\", results: {a: int}}", "name", "letters, digits");
        assert_refused(f, "{name: a, component: '', results: {a: int}}", "component", "must have 1 to 256 bytes");
        assert_refused(f, "{name: a, component: \"x\\ny\", results: {a: int}}", "component",
                       "has control characters: remove them");
        assert_refused(f, "{name: a, help: \"\\x1b[2J\", results: {a: int}}", "help",
                       "has control characters: remove them");
        assert_refused(f, "{name: a, result: {a: int}}", "result",
                       "is unknown: expected one of name, component, help, parameters, results, settings_version");
        assert_refused(f, "{name: '*', results: {a: int}}", "component", "applies to all indicators of one component");
        assert_refused(f, "{name: a}", "results", "missing: declare at least one measured value");
        assert_refused(f, "{name: a, results: {}}", "results", "missing: declare at least one");
        assert_refused(f, "{name: a, results: [elapsed]}", "results", "is a list, must map names to types");
        assert_refused(f, "{name: a, parameters: int, results: {a: int}}", "parameters",
                       "is a string, must map names to types");
}

#define PARAMETER(declaration) "{name: a, parameters: {n: " declaration "}, results: {b: int}}"
#define RESULT(declaration) "{name: a, results: {b: " declaration "}}"

static void errors_of_a_property_are_named(void **state) {
        Fixture *f = *state;

        assert_refused(f, PARAMETER("integer"), "parameters.n", "'integer' is not a type: use str, int, float, bool");
        assert_refused(f, PARAMETER("3"), "parameters.n", "is an integer, must be str, int");
        assert_refused(f, PARAMETER("{type: [int, int]}"), "parameters.n.type", "names int twice");
        assert_refused(f, PARAMETER("{optional: 1}"), "parameters.n.optional", "is an integer, must be true or false");
        assert_refused(f, PARAMETER("{type: []}"), "parameters.n.type", "is an empty list");
        assert_refused(f, PARAMETER("{typ: int}"), "parameters.n.typ",
                       "expected one of type, index, values, optional, help");
        assert_refused(f, PARAMETER("{unit: s}"), "parameters.n.unit", "is unknown");
        assert_refused(f, PARAMETER("{index: hour}"), "parameters.n.index",
                       "'hour' is not one of none, exact, int, float");
        assert_refused(f, PARAMETER("{type: [int, str], index: int}"), "parameters.n.index",
                       "int is for numbers, and the type is str or int: use exact");
        assert_refused(f, RESULT("{type: float, index: float}"), "results.b.index", "applies to parameters");
        assert_refused(f, RESULT("{direction: up}"), "results.b.direction", "'up' is not one of higher, lower, none");
        assert_refused(f, RESULT("{direction: true}"), "results.b.direction",
                       "is a boolean, must be one of higher, lower, none");
        assert_refused(f, RESULT("{unit: 1}"), "results.b.unit", "is an integer, must be a string");
        assert_refused(f, RESULT("{values: [1]}"), "results.b.values", "is unknown");
        assert_refused(f, "{name: a, results: {\"b\\x07\": int}}", "results.b\x07",
                       "has control characters in its name");
        assert_refused(f, "{name: a, parameters: {reps: int}, results: {reps: int}}", "results.reps",
                       "collision: 'reps' is in parameters as well");
}

static void errors_of_what_is_shown_and_judged_are_named(void **state) {
        Fixture *f = *state;

        assert_refused(f, PARAMETER("list"), "parameters.n",
                       "'list' is not a type: use str, int, float, bool, semver, time, map");
        assert_refused(f, RESULT("semver"), "results.b", "'semver' is not a type: use str, int, float, bool, list");
        assert_refused(f, RESULT("{format: '%.2f'}"), "results.b.format", "'%.2f' is not a format: use {:.Nf}");
        assert_refused(f, RESULT("{format: '{:.18f}'}"), "results.b.format", "with N from 0 to 17");
        assert_refused(f, RESULT("{format: '{:.2f}', divisor: 1024}"), "results.b.divisor_unit", "used together");
        assert_refused(f, RESULT("{format: '{:.2f}', divisor_unit: GB}"), "results.b.divisor", "used together");
        assert_refused(f, RESULT("{divisor: 1024, divisor_unit: GB}"), "results.b.format", "missing: say how");
        assert_refused(f, RESULT("{format: '{:.2f}', divisor: 0, divisor_unit: GB}"), "results.b.divisor", "is 0");
        assert_refused(f, "{name: a, results: {b: int}, compare_by: version}", "compare_by",
                       "must be a list of names as in [version]");
        assert_refused(f, "{name: a, results: {b: int}, ignore: [7]}", "ignore[0]", "is an integer, must be a name");
        assert_refused(f, "{name: a, results: {b: int}, sort_by: ['']}", "sort_by[0]",
                       "must be a name of 1 to 256 bytes");
        assert_refused(f, "{name: a, results: {b: int}, ignore_entries: {users: [[4]]}}", "ignore_entries",
                       "'users' must be a string");
        assert_refused(f, "{name: a, results: {b: int}, ignore_entries: [users]}", "ignore_entries",
                       "must map up to 32 names");
        assert_refused(f, "{name: a, results: {b: int}, kpi_name: 9lives}", "kpi_name", "not begin with a digit");
        assert_refused(f, "{name: a, results: {b: int, c: int}, kpi_name: both}", "kpi_name",
                       "is for a model with one result");
        assert_refused(f, "{name: a, results: {b: int}, accepted: {kpi: a.b, until_ms: 1}}", "accepted",
                       "of the name @accepted");
        assert_refused(f, "{name: '@accepted', accepted: {kpi: a.b, until_ms: 1}}", "name", "must be 1 to");
        assert_refused(f, "{name: '@accepted', component: k}", "accepted", "must be an object");
        assert_refused(f, "{name: '@accepted', component: k, accepted: {until_ms: 1}}", "kpi", "missing");
        assert_refused(f, "{name: '@accepted', component: k, accepted: {kpi: a.b}}", "until_ms", "must be the time");
        assert_refused(f, "{name: '@accepted', component: k, accepted: {kpi: a, until_ms: 1, wher: []}}", "wher", "");
        assert_refused(f, "{name: '@accepted', component: k, accepted: {kpi: a, until_ms: 1, where: [a]}}", "where",
                       "KEY=VALUE");
        assert_refused(f, "{name: '@accepted', component: k, accepted: {kpi: a, until_ms: 1, where: a}}", "where",
                       "must be a list");
}

/* Registered models are stored as JSON and read as YAML, where these characters are line breaks or invalid. */
static void a_derived_number_is_checked_when_the_model_is_read(void **state) {
        Fixture *f = *state;

        assert_int_equal(
                declare(f,
                        "{name: a, parameters: {n: int}, results: {b: int, r: {from: b / n, type: float, unit: x}}}"),
                0);
        assert_string_equal(indicator_model_find(&f->model, "r", true)->from, "b / n");
        assert_refused(f, RESULT("{from: 1 +}"), "results.b.from", "column 4: the expression ends");
        assert_refused(f, RESULT("{from: 7}"), "results.b.from", "must be a string");
        assert_refused(f, RESULT("{from: x, type: str}"), "results.b.type", "must be float");
        assert_refused(f, PARAMETER("{from: x}"), "parameters.n.from", "is unknown");
        assert_refused(f, RESULT("{from: 2 * b}"), "results.b.from", "column 5: 'b' is a derived number itself");
        assert_refused(f, "{name: a, results: {b: {from: 1 + c.x}, c: {from: d}, d: int}}", "results.b.from",
                       "column 5: 'c' is a derived");
        assert_refused(f, "{name: a, results: {b: {from: 'mean(@result.c)'}, c: {from: d}}}", "results.b.from",
                       "column 6");
        assert_int_equal(declare(f, "{name: a, parameters: {c: int}, results: {b: {from: '@parameters.c'}}}"), 0);
}

static void a_derived_number_is_not_missing_and_odd_if_given(void **state) {
        static const char model[] = "{name: PiMatmul, results: {x: int, r: {from: 2 * x}}}";
        Fixture *f = *state;
        Indicator indicator = {};
        size_t n_deviations;

        assert_int_equal(declare(f, model), 0);
        indicator.parameters = parse(f, "{}");
        indicator.result = parse(f, "{x: 1}");
        assert_int_equal(indicator_model_judge(&f->model, &indicator, MODEL_STRICT, &n_deviations, &f->complaint), 0);
        indicator.result = parse(f, "{x: 1, r: 2}");
        assert_int_equal(indicator_model_judge(&f->model, &indicator, MODEL_STRICT, &n_deviations, &f->complaint),
                         MODEL_INVALID);
        assert_string_equal(f->complaint.path, "@result.r");
        assert_non_null(strstr(f->complaint.text, "is computed by the model"));
}

static void characters_that_yaml_reads_differently_are_refused(void **state) {
        Fixture *f = *state;

        assert_refused(f, "{name: a, help: \"x\\u2028y\", results: {b: int}}", "help", "has control characters");
        assert_refused(f, "{name: a, component: \"x\\uFEFFy\", results: {b: int}}", "component",
                       "has control characters");
        assert_refused(f, PARAMETER("{values: [\"\\u2029\"]}"), "parameters.n.values[0]", "has control characters");
        assert_int_equal(declare(f, "{name: a, help: \"two\\nlines\\tÜ €\", results: {b: int}}"), 0);
}

static void allowed_values_are_of_the_type_and_given_once(void **state) {
        Fixture *f = *state;

        assert_refused(f, PARAMETER("{type: str, values: [cpu, 7]}"), "parameters.n.values[1]",
                       "is an integer, and the type is str: change one of them");
        assert_refused(f, PARAMETER("{type: int, values: [1, 1.5]}"), "parameters.n.values[1]",
                       "is a number, and the type is int");
        assert_refused(f, PARAMETER("{values: [1, 1.0]}"), "parameters.n.values[1]", "is the same as values[0]");
        assert_refused(f, PARAMETER("{values: [b, a, c, a, b]}"), "parameters.n.values[3]", "is the same as values[1]");
        assert_refused(f, PARAMETER("{values: [[1]]}"), "parameters.n.values[0]", "is a list: only strings");
        assert_refused(f, PARAMETER("{values: cpu}"), "parameters.n.values", "is a string, must be a list");
        assert_refused(f, PARAMETER("{values: []}"), "parameters.n.values", "has 0 items");
        assert_int_equal(declare(f, PARAMETER("{type: float, values: [1, 1.5]}")), 0);
}

static void a_property_given_twice_is_refused_where_a_reader_lets_it_through(void **state) {
        Fixture *f = *state;
        const Value type = { .type = VALUE_STRING, .string = "int" };
        const Member twice[] = { { "a", type }, { "a", type } };
        const Member members[] = {
                { "name", { .type = VALUE_STRING, .string = "x" } },
                { "results", { .type = VALUE_OBJECT, .members = twice, .n_members = 2 } },
        };
        const Value document = { .type = VALUE_OBJECT, .members = members, .n_members = 2 };

        assert_int_equal(indicator_model_from_value(&document, &f->arena, &f->model, &f->complaint), MODEL_INVALID);
        assert_string_equal(f->complaint.path, "results.a");
        assert_non_null(strstr(f->complaint.text, "is given twice"));
}

static void a_model_has_a_limited_number_of_properties(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {};

        buffer_puts(&text, "{name: many, results: {");
        for (unsigned i = 0; i < MODEL_PROPERTIES_MAX; i++)
                buffer_printf(&text, "r%u: int, ", i);
        buffer_puts(&text, "}}");
        assert_int_equal(declare(f, text.text), 0);
        assert_string_equal(indicator_model_find(&f->model, "r255", true)->name, "r255");

        buffer_clear(&text);
        buffer_puts(&text, "{name: many, parameters: {p: int}, results: {");
        for (unsigned i = 0; i < MODEL_PROPERTIES_MAX; i++)
                buffer_printf(&text, "r%u: int, ", i);
        buffer_puts(&text, "}}");
        assert_refused(f, text.text, "", "has 257 parameters and results, may have up to 256");
}

/* --- checking ------------------------------------------------------------------------------------- */

static size_t judge(Fixture *f, const char *parameters, const char *result, ModelPolicy policy, int expected) {
        Indicator indicator = { .name = "PiMatmul", .parameters = parse(f, parameters), .result = parse(f, result) };
        size_t n_deviations = 99;

        f->complaint = (Complaint){};
        assert_int_equal(declare(f, matmul), 0);
        assert_int_equal(indicator_model_judge(&f->model, &indicator, policy, &n_deviations, &f->complaint), expected);
        return n_deviations;
}

static void assert_odd(Fixture *f, const char *parameters, const char *result, const char *path, const char *words) {
        assert_int_equal(judge(f, parameters, result, MODEL_ACCEPT, 0), 1);
        assert_int_equal(judge(f, parameters, result, MODEL_STRICT, MODEL_INVALID), 1);
        assert_string_equal(f->complaint.path, path);
        if (!strstr(f->complaint.text, words))
                fail_msg("'%s' does not say '%s'", f->complaint.text, words);
}

#define GOOD_PARAMETERS "device: cpu, matrix_size: 512, padding: SAME, reps: 50"
#define GOOD_RESULT "{elapsed: 0.75, rate: 354, extra: {nested: [1]}}"

static void a_conforming_result_is_not_odd(void **state) {
        Fixture *f = *state;

        assert_int_equal(judge(f, "{" GOOD_PARAMETERS "}", GOOD_RESULT, MODEL_STRICT, 0), 0);
        assert_int_equal(
                judge(f, "{device: gpu, matrix_size: 512.0, padding: 1, reps: 50}", GOOD_RESULT, MODEL_STRICT, 0), 0);
}

static void a_nonconforming_result_is_counted_or_refused_with_its_key(void **state) {
        Fixture *f = *state;

        assert_odd(f, "{" GOOD_PARAMETERS ", mini_batch: 40}", GOOD_RESULT, "@parameters.mini_batch",
                   "is a parameter that the model of PiMatmul does not declare: declare it, or leave it out");
        assert_odd(f, "{" GOOD_PARAMETERS "}", "{elapsed: 1, rate: 2, extra: 3, speed: 4}", "@result.speed",
                   "is a result that the model");
        assert_odd(f, "{device: tpu, matrix_size: 1, padding: 1, reps: 1}", GOOD_RESULT, "@parameters.device",
                   "is not one of the values");
        assert_odd(f, "{device: cpu, matrix_size: '512', padding: 1, reps: 1}", GOOD_RESULT, "@parameters.matrix_size",
                   "is a string, and the model of PiMatmul declares int");
        assert_odd(f, "{device: cpu, matrix_size: 1.5, padding: 1, reps: 1}", GOOD_RESULT, "@parameters.matrix_size",
                   "is a number, and");
        assert_odd(f, "{device: cpu, matrix_size: 1, padding: 1.5, reps: 1}", GOOD_RESULT, "@parameters.padding",
                   "declares str or int");
        assert_odd(f, "{" GOOD_PARAMETERS "}", "{elapsed: null, rate: 2, extra: 3}", "@result.elapsed", "is null, and");
        assert_odd(f, "{device: cpu, matrix_size: 1, padding: 1}", GOOD_RESULT, "@parameters.reps",
                   "missing: the model of PiMatmul declares it");
}

static void a_result_given_as_parameter_is_odd_in_both_places(void **state) {
        Fixture *f = *state;

        assert_int_equal(
                judge(f, "{" GOOD_PARAMETERS ", rate: 1}", "{elapsed: 1, extra: 1}", MODEL_STRICT, MODEL_INVALID), 2);
        assert_string_equal(f->complaint.path, "@parameters.rate");
}

static void kinds_of_values_are_checked(void **state) {
        static const char model[] =
                "{name: a, parameters: {v: {type: semver, optional: true}, t: time, m: map}, results: {r: [float, "
                "list]}}";
        static const struct {
                const char *parameters, *result;
                size_t n_deviations;
        } cases[] = {
                { "{v: 2.13.0-rc1+2024-09-02, t: '2024-11-11T10:20:30.123456+00:00', m: {CI: x}}", "{r: [1, -1]}", 0 },
                { "{v: null, t: '2024-11-11T10:20:30Z', m: {}}", "{r: -1}", 0 },
                { "{v: '2.13', t: today, m: [1]}", "{r: [x]}", 4 },
                { "{v: 02.13.0, t: null, m: {}}", "{r: []}", 2 },
        };
        Fixture *f = *state;

        assert_int_equal(declare(f, model), 0);
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Indicator indicator = { .name = "a",
                                        .parameters = parse(f, cases[i].parameters),
                                        .result = parse(f, cases[i].result) };
                size_t n_deviations = 99;

                assert_int_equal(
                        indicator_model_judge(&f->model, &indicator, MODEL_ACCEPT, &n_deviations, &f->complaint), 0);
                assert_int_equal(n_deviations, cases[i].n_deviations);
        }
}

static void types_are_spelt_as_they_are_declared(void **state) {
        char text[PROPERTY_TYPES_TEXT_MAX];

        (void)state;
        property_types_text(PROPERTY_STR | PROPERTY_INT | PROPERTY_FLOAT | PROPERTY_BOOL, text);
        assert_string_equal(text, "str or int or float or bool");
        property_types_text(0, text);
        assert_string_equal(text, "any type");
        assert_string_equal(property_index_text(INDEX_EXACT), "exact");
        assert_string_equal(property_direction_text(DIRECTION_LOWER), "lower");
        assert_null(property_direction_text(DIRECTION_UNKNOWN));
        assert_int_equal(property_direction_find("none"), DIRECTION_NONE);
        assert_int_equal(property_direction_find("up"), DIRECTION_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_declaration_says_types_units_indexes_and_directions),
                TEST(a_declaration_says_how_a_result_is_shown_and_judged),
                TEST(a_parameter_is_not_found_as_a_result),
                TEST(an_indicator_may_have_no_parameters),
                TEST(errors_of_the_whole_model_are_named),
                TEST(errors_of_a_property_are_named),
                TEST(errors_of_what_is_shown_and_judged_are_named),
                TEST(a_derived_number_is_checked_when_the_model_is_read),
                TEST(a_derived_number_is_not_missing_and_odd_if_given),
                TEST(characters_that_yaml_reads_differently_are_refused),
                TEST(allowed_values_are_of_the_type_and_given_once),
                TEST(a_property_given_twice_is_refused_where_a_reader_lets_it_through),
                TEST(a_model_has_a_limited_number_of_properties),
                TEST(a_conforming_result_is_not_odd),
                TEST(a_nonconforming_result_is_counted_or_refused_with_its_key),
                TEST(a_result_given_as_parameter_is_odd_in_both_places),
                TEST(kinds_of_values_are_checked),
                TEST(types_are_spelt_as_they_are_declared),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
