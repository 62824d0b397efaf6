/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of commands: values are inserted into words, never into the text of a script. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/sweep/placeholder.h"
#include "text/text.h"

#define TEXT_OF_65 65
#define HOSTILE "a'b\"c $(id)\n`id`/../"

static Binding all[] = { { .name = "x", .text = HOSTILE },
                         { .name = "@n", .text = "2" },
                         { .name = "a.b-c", .text = "" } };

static Bindings bindings(void) {
        for (size_t i = 0; i < N_ELEMENTS(all); i++)
                all[i].is_used = false;
        return (Bindings){ .all = all, .n = N_ELEMENTS(all) };
}

static void assert_word(const char *word, const char *filled) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;

        buffer_puts(&out, "");
        assert_int_equal(placeholder_fill(word, &some, &out, &error), 0);
        assert_string_equal(out.text, filled);
}

static void a_value_is_inserted_into_a_word_unchanged(void **state) {
        (void)state;
        assert_word("{x}", HOSTILE);
        assert_word("--n={@n},{@n}", "--n=2,2");
        assert_word("<{a.b-c}>", "<>");
}

static void other_braces_are_left_as_they_are(void **state) {
        (void)state;
        assert_word("{{x}}", "{x}");
        assert_word("${x} $x", "${x} $x");
        assert_word("{\"k\": {\"x\": {@n}}}", "{\"k\": {\"x\": 2}}");
        assert_word("{} { {x {1,2} {a b} x}", "{} { {x {1,2} {a b} x}");
}

static void an_unknown_placeholder_is_refused_with_a_fix(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;

        (void)state;
        assert_int_equal(placeholder_fill("{y}", &some, &out, &error), PLACEHOLDER_WRONG);
        assert_string_equal(error.text, "{y} is not a setting: add it to settings, or write {{y}} for literal text");
        assert_int_equal(placeholder_fill_script("echo {y}", &some, &out, &error), PLACEHOLDER_WRONG);
}

static void used_placeholders_are_found(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;

        (void)state;
        assert_int_equal(placeholder_fill("{@n}", &some, &out, &error), 0);
        assert_false(all[0].is_used);
        assert_true(all[1].is_used);
}

static void assert_script(const char *script, const char *filled) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;

        buffer_puts(&out, "");
        assert_int_equal(placeholder_fill_script(script, &some, &out, &error), 0);
        assert_string_equal(out.text, filled);
}

static void a_script_gets_variables(void **state) {
        (void)state;
        assert_script("f {@n} \"{@n}\"", "perfd_setting_1=2; f \"${perfd_setting_1}\" \"${perfd_setting_1}\"");
        assert_script("f {x}", "perfd_setting_0='a'\\''b\"c $(id)\n`id`/../'; f \"${perfd_setting_0}\"");
        assert_script("f '{{x}}' \\{x} ${x} # it's {x}\n", "f '{x}' \\{x} ${x} # it's {x}\n");
}

static void single_quotes_have_no_values_in_them(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;

        (void)state;
        assert_int_equal(placeholder_fill_script("echo '{x}'", &some, &out, &error), PLACEHOLDER_WRONG);
        assert_non_null(strstr(error.text, "{x} is within single quotes"));
}

static void every_value_is_quoted_for_a_shell(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Bindings some = bindings();
        PlaceholderError error;
        char got[64] = "";
        FILE *pipe;

        (void)state;
        buffer_puts(&out, "exec sh -c ");
        {
                scoped(buffer_deinit) Buffer script = {};

                assert_int_equal(placeholder_fill_script("set -eu; set -- other; f() { printf %s {x}; }; f 1", &some,
                                                         &script, &error),
                                 0);
                text_put_word(&out, script.text);
        }
        pipe = popen(out.text, "r");
        assert_non_null(pipe);
        (void)!fread(got, 1, sizeof(got) - 1, pipe);
        assert_int_equal(pclose(pipe), 0);
        assert_string_equal(got, HOSTILE);
}

static void names_are_short_words(void **state) {
        char name[TEXT_OF_65 + 1];

        (void)state;
        assert_true(placeholder_name_is_valid("x") && placeholder_name_is_valid("@repeat") &&
                    placeholder_name_is_valid("a.b:c-d_e"));
        assert_false(placeholder_name_is_valid("") || placeholder_name_is_valid("@") ||
                     placeholder_name_is_valid("a b") || placeholder_name_is_valid("a/b") ||
                     placeholder_name_is_valid("a@b"));
        memset(name, 'x', TEXT_OF_65);
        name[TEXT_OF_65] = '\0';
        assert_false(placeholder_name_is_valid(name));
        assert_true(placeholder_name_is_valid(name + 1));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_value_is_inserted_into_a_word_unchanged),
                cmocka_unit_test(other_braces_are_left_as_they_are),
                cmocka_unit_test(an_unknown_placeholder_is_refused_with_a_fix),
                cmocka_unit_test(used_placeholders_are_found),
                cmocka_unit_test(a_script_gets_variables),
                cmocka_unit_test(single_quotes_have_no_values_in_them),
                cmocka_unit_test(every_value_is_quoted_for_a_shell),
                cmocka_unit_test(names_are_short_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
