/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/indicators/vocabulary.h"

static JsonText text_of(const char *text) {
        return json_text(text, strlen(text));
}

static bool allows(const char *declaration, const char *text) {
        Condition condition;

        assert_int_equal(condition_parse(text, &condition), 0);
        return vocabulary_allows(text_of(declaration), &condition);
}

static void a_value_is_of_a_type_that_is_declared(void **state) {
        static const struct {
                const char *declaration, *condition;
                bool is_allowed;
        } cases[] = {
                { "\"int\"", "n=512", true },        { "\"int\"", "n=512.0", true },       { "\"int\"", "n=5.5", false },
                { "\"int\"", "n=abc", false },       { "\"int\"", "n!=abc", false },       { "\"int\"", "n=", false },
                { "\"int\"", "n>5.5", true },        { "\"float\"", "n=5.5", true },       { "\"float\"", "n=x", false },
                { "\"str\"", "n=512", true },        { "\"str\"", "n<5", false },          { "\"bool\"", "n=true", true },
                { "\"bool\"", "n=1", false },        { "\"bool\"", "n>1", false },         { "[\"int\",\"str\"]", "n=SAME", true },
                { "[\"int\",\"str\"]", "n<5", true }, { "[\"int\",\"bool\"]", "n=SAME", false }, { "null", "n=anything", true },
                { "{}", "n<5", true },               { "{\"type\":\"int\"}", "n=x", false }, { "{\"type\":[\"int\",\"float\"]}", "n=0.5", true },
                { "{\"help\":\"x\"}", "n=x", true },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (allows(cases[i].declaration, cases[i].condition) != cases[i].is_allowed)
                        fail_msg("%s with %s", cases[i].condition, cases[i].declaration);
}

static void a_value_is_one_of_those_that_are_listed(void **state) {
        static const char numbers[] = "{\"type\":\"int\",\"values\":[256,512]}",
                          words[] = "{\"values\":[\"float32\",\"8\",true]}";

        (void)state;
        assert_true(allows(numbers, "n=512.0"));
        assert_false(allows(numbers, "n=513"));
        assert_false(allows(numbers, "n!=513"));
        assert_true(allows(numbers, "n>300"));
        assert_true(allows(words, "n=float32"));
        assert_true(allows(words, "n=8"));
        assert_true(allows(words, "n=true"));
        assert_false(allows(words, "n=flaot32"));
}

static void errors_name_the_expected_value(void **state) {
        static const struct {
                const char *declaration, *text;
        } cases[] = {
                { "\"int\"", "int" },
                { "[\"int\",\"str\"]", "int or str" },
                { "{\"type\":\"int\",\"values\":[256,512]}", "int, one of 256, 512" },
                { "{\"values\":[\"a b\",true]}", "one of a b, true" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                Buffer out = {};

                vocabulary_put_expected(text_of(cases[i].declaration), &out);
                assert_string_equal(out.text, cases[i].text);
                buffer_deinit(&out);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_value_is_of_a_type_that_is_declared),
                cmocka_unit_test(a_value_is_one_of_those_that_are_listed),
                cmocka_unit_test(errors_name_the_expected_value),
        };

        return cmocka_run_group_tests_name("declaration", tests, NULL, NULL);
}
