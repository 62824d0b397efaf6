/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/pages/template.h"

static void check(const char *page, const char *text) {
        scoped(buffer_deinit) Buffer out = {};
        scoped(template_deinit) Template words = {};

        buffer_puts(template_word(&words, "a"), "A");
        buffer_puts(template_word(&words, "ab"), "{{");
        buffer_puts(template_word(&words, "ab"), "a}}");
        (void)template_word(&words, "empty");
        template_write(&out, page, &words, "-");
        assert_string_equal(out.text, text);
}

static void words_stand_in_the_place_of_their_names(void **state) {
        (void)state;
        check("<p>{{a}}{{a}}</p>", "<p>AA</p>");
        check("no words", "no words");
        check("{{empty}}.", "-.");
        check("{{unknown}}.", "-.");
        check("{{}}{{ a }}.", "--.");
}

static void inserted_values_are_not_expanded_again(void **state) {
        (void)state;
        check("{{ab}}", "{{a}}");
}

static void a_truncated_page_ends_there(void **state) {
        (void)state;
        check("x{{a", "x");
        check("x{{a}", "x");
}

static void a_word_that_could_not_be_built_spoils_the_page(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Template words = { .words = { { .name = "a", .html.failed = true } }, .n = 1 };

        (void)state;
        template_write(&out, "<p>{{a}}</p>", &words, "");
        assert_true(buffer_error(&out) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_stand_in_the_place_of_their_names),
                cmocka_unit_test(inserted_values_are_not_expanded_again),
                cmocka_unit_test(a_truncated_page_ends_there),
                cmocka_unit_test(a_word_that_could_not_be_built_spoils_the_page),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
