/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/format/format.c client/format/format_options.c client/format/regex.c lib/document/path.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/command.h"
#include "client/format/format.h"
#include "client/format/regex.h"
#include "document/path.h"
#include "util/scoped.h"

static void a_path_is_read_step_by_step(void **state) {
        static const char path[] = "a.\"b c\"[][2].@x[*]?";
        static const PathStepKind kinds[] = {
                PATH_KEY, PATH_KEY, PATH_ALL, PATH_INDEX, PATH_KEY, PATH_PRODUCT, PATH_END
        };
        static const char *const wrong[] = { "a.", "a[", "a[x]", "a[1", "\"\"", "a.1", "a[**]", "-" };
        const char *p = path;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
                assert_int_equal(path_next(path, &p).kind, kinds[i]);
        assert_string_equal(p, "?");
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
                PathStep step;

                p = wrong[i];
                while ((step = path_next(wrong[i], &p)).kind != PATH_WRONG)
                        assert_int_not_equal(step.kind, PATH_END);
        }
}

/* Reads a text, and returns the documents as JSON, one after the other, or the error. */
static char *read_documents(const FormatOptions *options, const char *text) {
        scoped(format_result_deinit) FormatResult result = {};
        scoped(arena_deinit) Arena arena = {};
        OutputFormat format;
        Buffer out = {};

        assert_int_equal(format_load(options, "i", "c", &format), EXIT_DONE);
        assert_int_equal(arena_init(&arena, format_arena_size(strlen(text))), 0);
        if (format_read(&format, text, strlen(text), &arena, &result) != 0)
                buffer_puts(&out, result.error);
        for (size_t i = 0; i < result.n && !*result.error; i++) {
                value_write_json(value_get(result.documents[i].value, "@parameters"), &(Json){ .out = &out });
                value_write_json(value_get(result.documents[i].value, "@result"), &(Json){ .out = &out });
        }
        format_deinit(&format);
        return buffer_take(&out);
}

static void assert_reads(const FormatOptions *options, const char *text, const char *expected) {
        scoped(freep) char *documents = read_documents(options, text);

        assert_string_equal(documents, expected);
}

static void names_are_those_of_the_nearest_value_around(void **state) {
        static const FormatOptions options = { .each = { { "a[].b[]" }, 1 },
                .parameters = { { "x=x", "k=@key[1]", "i=@key" }, 3 }, .results = { { "v=@.v" }, 1 } };

        (void)state;
        assert_reads(&options,
                     "{\"x\":1,\"a\":{\"p\":{\"x\":2,\"b\":[{\"v\":3},{\"x\":4,\"v\":5}]},\"q\":{\"b\":[{\"v\":6}]}}}",
                     "{\"x\":2,\"k\":\"p\",\"i\":\"0\"}{\"v\":3}{\"x\":4,\"k\":\"p\",\"i\":\"1\"}{\"v\":5}"
                     "{\"x\":1,\"k\":\"q\",\"i\":\"0\"}{\"v\":6}");
        assert_reads(&options, "{\"a\":{\"p\":{\"b\":[{\"v\":3}]}}}", "[p][0]: 'x' is missing");
}

static void a_list_of_samples_counts_by_its_median(void **state) {
        static const FormatOptions options = { .results = { { "m=runs[].s", "n=nested", "e=empty?", "*_x=by[].v" },
                                                            4 } };

        (void)state;
        assert_reads(&options, "{\"runs\":[{\"s\":[4,1]},{},{\"s\":2}],\"nested\":[[1],[[3]],null],\"empty\":[],"
                               "\"by\":{\"p\":{\"v\":7},\"q\":{\"v\":[8,10]}}}",
                     "{}{\"m\":2.0,\"n\":2.0,\"e\":null,\"p_x\":7,\"q_x\":9.0}");
}

static void combinations_of_lists_are_those_of_loops(void **state) {
        static const FormatOptions options = { .each = { { "r[][0][]" }, 1 },
                                               .parameters = { { "p*=[1][*]?" }, 1 },
                                               .results = { { "v=@" }, 1 } };

        (void)state;
        assert_reads(&options, "{\"r\":{\"a\":[[1,2],[[\"x\",\"y\"]]],\"b\":[[3],[]]}}",
                     "{\"p0\":\"x\"}{\"v\":1}{\"p0\":\"y\"}{\"v\":2}{}{\"v\":3}");
        assert_reads(&options, "{\"r\":{\"a\":[[1,2],[[\"x\"]]]}}",
                     "[a][1]: the lists of [*] have fewer combinations than there are elements");
}

static void the_first_path_that_fits_names_the_elements(void **state) {
        static const FormatOptions options = { .each = { { "r[][0][]", "r[].result[]" }, 2 },
                                               .parameters = { { "k=@key?", "k=@key[1]?", "p*=params[*]?" }, 3 },
                                               .results = { { "v=@" }, 1 } };

        (void)state;
        assert_reads(&options, "{\"r\":{\"a\":[[1,2],[]]}}{\"r\":{\"a\":5,\"b\":null,\"c\":6}}",
                     "{\"k\":\"a\"}{\"v\":1}{\"k\":\"a\"}{\"v\":2}{\"k\":\"a\"}{\"v\":5}{\"k\":\"c\"}{\"v\":6}");
        assert_reads(&options,
                     "{\"params\":{\"m\":1},\"r\":{\"a\":5,\"b\":{\"result\":[7,8],\"params\":[[\"x\",\"y\"]]}}}",
                     "{\"k\":\"a\"}{\"v\":5}{\"k\":\"b\",\"p0\":\"x\"}{\"v\":7}{\"k\":\"b\",\"p0\":\"y\"}{\"v\":8}");
        assert_reads(&options, "{\"r\":{\"a\":5,\"b\":{\"other\":1}}}", "[b]: 'r[].result[]' is missing");
}

static void a_result_without_its_condition_is_none(void **state) {
        static const FormatOptions options = { .results = { { "r_x=r.x", "r_y=r.y", "w_x=w.x?" }, 3 },
                                               .results_where = { { "r_*=r.n!=0", "w_x=w.x?!=0" }, 2 } };

        (void)state;
        assert_reads(&options,
                     "[{\"r\":{\"n\":2,\"x\":0,\"y\":5},\"w\":{\"x\":0}},{\"r\":{\"n\":0,\"x\":0},\"w\":{\"x\":3}}]",
                     "{}{\"r_x\":0,\"r_y\":5}{}{\"w_x\":3}");
        assert_reads(&options, "{\"r\":{\"n\":0},\"w\":{}}", "--where leaves out all elements: 1 (r_*=r.n!=0)");
}

static void headings_belong_to_the_lines_below(void **state) {
        static const FormatOptions options = { .headings = { { "^size (?<size>\\d+)" }, 1 },
                .lines = { { "(?<rate>[\\d.]+) MB/s(?: (?<state>\\w+))?", "^no (?<time>\\d+)" }, 2 } };

        (void)state;
        assert_reads(&options, "1 MB/s\nsize 8\n2.5 MB/s ok\nsize 9\nno 4\n3 MB/s, 4 MB/s",
                     "{}{\"rate\":1}{\"state\":\"ok\",\"size\":8}{\"rate\":2.5}{\"size\":9}{\"time\":4}{\"size\":9}{"
                     "\"rate\":3}");
        assert_reads(&options, "nothing\n", "has nothing of this format");
}

static void an_expression_that_takes_too_many_steps_ends(void **state) {
        static const FormatOptions options = { .lines = { { "^(?<v>(a|aa)+)$" }, 1 } };
        char error[REGEX_ERROR_MAX];
        Regex *regex;

        (void)state;
        assert_reads(&options, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
                     "the regular expression cannot be matched: match limit exceeded");
        assert_int_equal(regex_new(&regex, "(?<v>", error), REGEX_WRONG);
        assert_non_null(strstr(error, "missing closing parenthesis at character 6"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_is_read_step_by_step),
                cmocka_unit_test(names_are_those_of_the_nearest_value_around),
                cmocka_unit_test(a_list_of_samples_counts_by_its_median),
                cmocka_unit_test(combinations_of_lists_are_those_of_loops),
                cmocka_unit_test(the_first_path_that_fits_names_the_elements),
                cmocka_unit_test(a_result_without_its_condition_is_none),
                cmocka_unit_test(headings_belong_to_the_lines_below),
                cmocka_unit_test(an_expression_that_takes_too_many_steps_ends),
        };

        return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
