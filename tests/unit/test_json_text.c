/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON text without building a tree. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "json/json_text.h"

static JsonText text(const char *t) {
        return json_text(t, strlen(t));
}

static void assert_says(JsonText value, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};

        assert_non_null(value.text);
        json_text_decode(value, &out);
        assert_string_equal(out.text ? out.text : "", expected);
        assert_true(json_text_kind(value) != JSON_KIND_STRING ||
                    json_text_is_string(value, expected, strlen(expected)));
}

static void members_are_found_among_any_others(void **state) {
        JsonText object = text(
                " {\"a\":{\"b\":[1,{\"c\":\"}]\\\"\"}],\"rate\":1} , \"rate\" : -1.5e3, \"x\":null,\"\":\"e\"} ");

        (void)state;
        assert_says(json_text_find(object, "rate"), "-1.5e3");
        assert_says(json_text_find(object, "x"), "null");
        assert_says(json_text_find(object, ""), "e");
        assert_says(json_text_find(json_text_find(object, "a"), "rate"), "1");
        assert_null(json_text_find(object, "b").text);
        assert_null(json_text_find(text("[\"rate\",1]"), "rate").text);
        assert_null(json_text_find((JsonText){}, "rate").text);
}

static void members_are_found_by_their_decoded_keys(void **state) {
        JsonText object = text("{\"a\\\"b\":1,\"c\\\\n\":2,\"c\\n\":3,\"\\u00e9\":4,\"\xc3\xa9t\":5}");

        (void)state;
        assert_says(json_text_find(object, "a\"b"), "1");
        assert_null(json_text_find(object, "a\\\"b").text);
        assert_says(json_text_find(object, "c\\n"), "2");
        assert_says(json_text_find(object, "c\n"), "3");
        assert_says(json_text_find(object, "\xc3\xa9"), "4");
        assert_says(json_text_find(object, "\xc3\xa9t"), "5");
}

static void escapes_in_strings_are_decoded(void **state) {
        (void)state;
        assert_says(text("\"a\\n\\t\\\"\\\\\\/\\b\\u00e9\\ud83d\\ude00\""), "a\n\t\"\\/\b\xc3\xa9\xf0\x9f\x98\x80");
        assert_says(text("\"\\ud83d!\""), "\xef\xbf\xbd!");
        assert_false(json_text_is_string(text("\"ab\""), "abc", 3));
        assert_false(json_text_is_string(text("\"abc\""), "ab", 2));
        assert_false(json_text_is_string(text("12"), "12", 2));
}

static void numbers_are_whole_only_when_they_are_written_so(void **state) {
        int64_t integer = 0;
        uint64_t natural = 0;
        double number = 0;

        (void)state;
        assert_true(json_text_int(text("-9223372036854775808"), &integer));
        assert_true(integer == INT64_MIN);
        assert_false(json_text_int(text("9223372036854775808"), &integer));
        assert_false(json_text_int(text("1.0"), &integer));
        assert_true(json_text_uint(text("18446744073709551615"), &natural));
        assert_true(natural == UINT64_MAX);
        assert_false(json_text_uint(text("18446744073709551616"), &natural));
        assert_false(json_text_uint(text("-1"), &natural));
        assert_false(json_text_uint(text("1.0"), &natural));
        assert_true(json_text_double(text("1.0"), &number));
        assert_true(number == 1);
        assert_false(json_text_double(text("1e999"), &number));
        assert_false(json_text_double(text("\"1\""), &number));
        assert_false(json_text_double(text("null"), &number));
}

static void broken_text_ends_early(void **state) {
        static const char *const broken[] = { "{",     "{\"a\"",     "{\"a\":", "{\"a\":}", "{\"a\":\"x}",
                                              "{a:1}", "{\"a\":[1}", "{]}",     "{,}",      "\"",
                                              "" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(broken); i++) {
                JsonWalk walk = json_text_walk(text(broken[i]));
                JsonText key, value;
                size_t n = 0;

                while (json_text_walk_next(&walk, &key, &value))
                        assert_true(++n < 3);
        }
}

static void equal_objects_read_equal_when_sorted(void **state) {
        scoped(buffer_deinit) Buffer out = {}, large = {}, sorted = {};

        (void)state;
        assert_int_equal(json_text_put_sorted(text("{\"b\":1,\"a\":{\"z\":1,\"y\":2},\"ab\":\"x\"}"), &out), 0);
        assert_string_equal(out.text, "{\"a\":{\"z\":1,\"y\":2},\"ab\":\"x\",\"b\":1}");
        buffer_clear(&out);
        assert_int_equal(
                json_text_put_sorted(text("{\"c\":-0.0,\"b\":5.12e2,\"a\":0.5,\"d\":1e300,\"e\":\"1.0\"}"), &out), 0);
        assert_string_equal(out.text, "{\"a\":0.5,\"b\":512,\"c\":0,\"d\":1e300,\"e\":\"1.0\"}");
        buffer_clear(&out);
        assert_int_equal(json_text_put_sorted((JsonText){}, &out), 0);
        assert_string_equal(out.text, "{}");

        buffer_putc(&large, '{');
        for (int i = 999; i >= 100; i--)
                buffer_printf(&large, "\"k%d\":%d%s", i, i, i > 100 ? "," : "}");
        assert_int_equal(json_text_put_sorted(json_text(large.text, large.n), &sorted), 0);
        assert_int_equal(sorted.n, large.n);
        assert_memory_equal(sorted.text, "{\"k100\":100,\"k101\":101,", 23);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members_are_found_among_any_others),
                cmocka_unit_test(members_are_found_by_their_decoded_keys),
                cmocka_unit_test(escapes_in_strings_are_decoded),
                cmocka_unit_test(numbers_are_whole_only_when_they_are_written_so),
                cmocka_unit_test(broken_text_ends_early),
                cmocka_unit_test(equal_objects_read_equal_when_sorted),
        };

        return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
