/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/yaml.h"
#include "util/buffer.h"
#include "util/scoped.h"

/* Converts a text to JSON, or to "LINE:COLUMN: reason" if the text is rejected. */
static char *read_as_json(const char *text, size_t n) {
        scoped(arena_deinit) Arena arena = {};
        Buffer out = {};
        const Value *value;
        YamlError error;
        Json json = { .out = &out };
        int r;

        assert_int_equal(arena_init(&arena, yaml_arena_size(n)), 0);
        r = yaml_read(text, n, &arena, &value, &error);
        if (r == 0) {
                value_write_json(value, &json);
        } else {
                assert_int_equal(r, YAML_MALFORMED);
                buffer_printf(&out, "%u:%u: %s", error.line, error.column, error.text);
        }
        return buffer_take(&out);
}

static void assert_reads(const char *text, const char *expected) {
        scoped(freep) char *json = read_as_json(text, strlen(text));

        assert_string_equal(json, expected);
}

static void assert_refuses(const char *text, const char *place, const char *why) {
        scoped(freep) char *message = read_as_json(text, strlen(text));

        assert_true(strncmp(message, place, strlen(place)) == 0);
        assert_non_null(strstr(message, why));
}

static void lists_and_mappings_keep_their_order(void **state) {
        (void)state;
        assert_reads("b: [1, x]\na:\n  - y: ~\n  - {}\n", "{\"b\":[1,\"x\"],\"a\":[{\"y\":null},{}]}");
        assert_reads("[]", "[]");
        assert_reads("", "null");
        assert_reads("# nothing\n---\n", "null");
}

static void plain_scalars_follow_the_core_schema(void **state) {
        (void)state;
        assert_reads("[null, ~, true, False, 12, -7, +3, 0x1F, 0o17, 1.5, .5, 1., -2e3]",
                     "[null,null,true,false,12,-7,3,31,15,1.5,0.5,1.0,-2000.0]");
        /* "no", versions, times and dates remain strings. */
        assert_reads("[no, yes, on, off, 1.2.3, 12:30, 2026-11-21, 0x, 1e, '-', 08x]",
                     "[\"no\",\"yes\",\"on\",\"off\",\"1.2.3\",\"12:30\",\"2026-11-21\",\"0x\",\"1e\",\"-\",\"08x\"]");
}

static void quoted_words_are_strings(void **state) {
        (void)state;
        assert_reads("['12', \"true\", \"a\\nb\", '']", "[\"12\",\"true\",\"a\\nb\",\"\"]");
        assert_reads("text: |\n  one\n  two\n", "{\"text\":\"one\\ntwo\\n\"}");
        assert_reads("text: >\n  one\n  two\n", "{\"text\":\"one two\\n\"}");
}

static void integers_keep_64_bits_or_are_refused(void **state) {
        (void)state;
        assert_reads("[18446744073709551615, 9223372036854775808, -9223372036854775808]",
                     "[18446744073709551615,9223372036854775808,-9223372036854775808]");
        assert_refuses("a: 18446744073709551616", "1:4", "64 bits");
}

static void json_is_read_alike(void **state) {
        (void)state;
        assert_reads("{\"@parameters\": {\"n\": 1}, \"@result\": {\"rate\": 2.5e0}}",
                     "{\"@parameters\":{\"n\":1},\"@result\":{\"rate\":2.5}}");
}

static void constructs_that_would_be_changed_are_refused(void **state) {
        (void)state;
        assert_refuses("a: 1\nb: 2\na: 3\n", "3:1", "'a' is given twice");
        assert_refuses("a: &x [1]\nb: *x\n", "2:4", "alias");
        assert_refuses("a: !!python/object x\n", "1:4", "tag");
        assert_refuses("a: 1\n---\nb: 2\n", "2:1", "second document");
        assert_refuses("[.nan]", "1:2", "null");
        assert_refuses("[1e999]", "1:2", "the number 1e999 is beyond 1.7976931348623157e308: quote it");
        assert_refuses("? [a]\n: b\n", "1:3", "key");
        assert_refuses("\"a\\0b\"", "1:1", "NUL");
}

static void mistakes_have_their_place(void **state) {
        (void)state;
        assert_refuses("a:\n\t- b\n", "2:1", "indent with spaces instead of tabs");
        assert_refuses("a: [1, 2\nb: 3\n", "2:", "a comma or the closing bracket is missing before it");
        assert_refuses("a: \"x\n", "2:1", "a quote is not closed");
        assert_refuses("a: @x\n", "1:4", "quote words that begin with @");
        assert_refuses("a: b: c\n", "1:", "quote text that has ': ' in it");
        assert_refuses("a: \"C:\\q\"\n", "1:", "write a backslash as two");
        assert_refuses("{\"a\": 1} b\n", "1:", "text after a complete value");
        assert_refuses("a: [\n", "2:1", "a value is missing before it");
}

static void invalid_bytes_are_reported_with_their_position(void **state) {
        (void)state;
        assert_refuses("a: 1\nb\xc3\xa4: \xff\n", "2:5", "not UTF-8: save the file as UTF-8");
        assert_refuses("a: 1\nb: \x1b[2J\n", "2:4", "control characters are not allowed: remove it");
        assert_refuses("\xff\xfe" "a\0:\0", "1:1", "not UTF-8: save the file as UTF-8");
}

static void depth_has_a_limit(void **state) {
        char text[2 * (VALUE_DEPTH_MAX + 2) + 1] = "";

        (void)state;
        memset(text, '[', VALUE_DEPTH_MAX + 2);
        memset(text + VALUE_DEPTH_MAX + 2, ']', VALUE_DEPTH_MAX + 2);
        assert_refuses(text, "1:", "nested deeper");
}

/* The densest possible texts. */
static void the_arena_is_large_enough(void **state) {
        static const char *const pieces[] = { "[],", "{},", "a,", "'',", "{a: b},", "1,", "{? a},", "~,", "-1," };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(pieces); i++) {
                scoped(buffer_deinit) Buffer text = {};
                scoped(freep) char *json = NULL;

                buffer_putc(&text, '[');
                for (unsigned k = 0; k < 20000; k++)
                        buffer_puts(&text, pieces[i]);
                buffer_putc(&text, ']');
                json = read_as_json(text.text, text.n);
                assert_int_equal(json[0], '[');
        }
}

static void assert_located(const char *text, const char *path, unsigned line, unsigned column) {
        unsigned l, c;

        yaml_locate(text, strlen(text), path, &l, &c);
        if (l != line || c != column)
                fail_msg("%s is at %u:%u", path, l, c);
}

static void the_place_of_a_member_can_be_found_again(void **state) {
        static const char text[] =
                "name: a\n"
                "parameters:\n"
                "  n: {type: int,\n"
                "      values: [1, two]}\n"
                "results:\n"
                "  - {rate: x}\n"
                "  - {rate: y}\n";

        (void)state;
        assert_located(text, "", 1, 1);
        assert_located(text, "name", 1, 1);
        assert_located(text, "parameters.n", 3, 3);
        assert_located(text, "parameters.n.type", 3, 7);
        assert_located(text, "parameters.n.values[1]", 4, 19);
        assert_located(text, "results[1].rate", 7, 6);
        /* If the path does not exist, its longest existing prefix is located. */
        assert_located(text, "parameters.n.index", 3, 3);
        assert_located(text, "parameters.name", 2, 1);
        assert_located(text, "results[7]", 5, 1);
        assert_located(text, "nothing", 1, 1);
        assert_located("{a: [", "a", 1, 2);
        assert_located("\xff", "a", 1, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lists_and_mappings_keep_their_order),
                cmocka_unit_test(plain_scalars_follow_the_core_schema),
                cmocka_unit_test(quoted_words_are_strings),
                cmocka_unit_test(integers_keep_64_bits_or_are_refused),
                cmocka_unit_test(json_is_read_alike),
                cmocka_unit_test(constructs_that_would_be_changed_are_refused),
                cmocka_unit_test(mistakes_have_their_place),
                cmocka_unit_test(invalid_bytes_are_reported_with_their_position),
                cmocka_unit_test(depth_has_a_limit),
                cmocka_unit_test(the_arena_is_large_enough),
                cmocka_unit_test(the_place_of_a_member_can_be_found_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
