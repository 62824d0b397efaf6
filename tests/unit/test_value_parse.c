/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "document/indicator.h"
#include "document/value_parse.h"

#define ARENA_BYTES (1U << 20)

static int set_up(void **state) {
        Arena *arena = calloc(1, sizeof(*arena));

        *state = arena;
        return arena_init(arena, ARENA_BYTES);
}

static int tear_down(void **state) {
        arena_deinit(*state);
        free(*state);
        return 0;
}

static bool is_canonical;
static ValueError error;

/* The text lies at the end of a page, so that a sanitizer sees what is read beyond it. */
static int parse(Arena *arena, const char *text, const Value **ret) {
        char *copy = malloc(strlen(text) ?: 1);
        int r;

        assert_non_null(copy);
        memcpy(copy, text, strlen(text));
        arena_reset(arena);
        r = value_parse(copy, strlen(text), arena, ret, &is_canonical, &error);
        assert_int_equal(arena->n_pushed, 0);
        free(copy);
        return r;
}

static void assert_written(Arena *arena, const char *text, const char *expected) {
        Buffer out = {};
        const Value *value;
        Json json;

        assert_int_equal(parse(arena, text, &value), 0);
        json_init(&json, &out);
        value_write_json(value, &json);
        assert_string_equal(out.text, expected);
        if (is_canonical && strcmp(text, expected) != 0)
                fail_msg("%s counts as canonical, and %s is", text, expected);
        buffer_deinit(&out);
}

static void assert_canonical(Arena *arena, const char *text) {
        assert_written(arena, text, text);
        if (!is_canonical)
                fail_msg("%s is what the writer writes", text);
}

static void assert_malformed(Arena *arena, const char *text, size_t at, const char *words) {
        const Value *value;

        assert_int_equal(parse(arena, text, &value), VALUE_MALFORMED);
        if (error.at != at || !strstr(error.text, words))
                fail_msg("%s: byte %zu, %s", text, error.at, error.text);
}

static void what_the_writer_writes_is_canonical(void **state) {
        assert_canonical(*state, "{}");
        assert_canonical(*state, "{\"a\":[],\"b\":{},\"c\":[1,-2,null,true,false,\"x\"]}");
        assert_canonical(*state, "{\"a\":{\"b\":[{\"c\":[[1],[2,3]]},4]},\"z\":9223372036854775807,\"y\":-9223372036854775808}");
        assert_canonical(*state, "{\"ä\":\"größer\\n\\t\\r\\\\\\\"\"}");
        assert_canonical(*state, "{\"a\":1.5,\"b\":-0.25,\"c\":3.0,\"d\":0.0,\"e\":-0.0,\"f\":10.0,\"g\":0.05}");
        assert_canonical(*state, "{\"a\":91.80921246297657,\"b\":4.94065645841247e-324,\"c\":1.7976931348623157e+308}");
        assert_canonical(*state, "{\"a\":123456789012345.0}");
}

static void other_spellings_are_written_anew(void **state) {
        assert_written(*state, " {\t\"a\" :\n1 ,\r\"b\": [ 1 , 2 ] } ", "{\"a\":1,\"b\":[1,2]}");
        assert_written(*state, "{\"a\":1.50,\"b\":1e2,\"c\":1E-2,\"d\":-0,\"e\":0.00001}",
                       "{\"a\":1.5,\"b\":100.0,\"c\":0.01,\"d\":0,\"e\":1e-05}");
        assert_written(*state, "{\"a\":0.30000000000000004441,\"b\":1.0000000000000001}",
                       "{\"a\":0.30000000000000004,\"b\":1.0}");
        assert_written(*state, "{\"\\u0061\":\"\\/\\b\\f\\u00e4\\ud83d\\ude00\"}", "{\"a\":\"/\\u0008\\u000cä😀\"}");
        assert_written(*state, "{\"a\":\"\x7f\xe2\x80\xae\"}", "{\"a\":\"\\u007f\\u202e\"}");
}

static void what_is_no_json_is_refused_with_its_place(void **state) {
        assert_malformed(*state, "", 0, "an object expected");
        assert_malformed(*state, "[1]", 0, "an object expected");
        assert_malformed(*state, "{", 1, "cut off");
        assert_malformed(*state, "{\"a", 3, "cut off");
        assert_malformed(*state, "{\"a\"", 4, "cut off");
        assert_malformed(*state, "{\"a\":", 5, "cut off");
        assert_malformed(*state, "{\"a\":1", 6, "cut off");
        assert_malformed(*state, "{\"a\":1.5", 8, "cut off");
        assert_malformed(*state, "{\"a\":[1", 7, "cut off");
        assert_malformed(*state, "{\"a\":1 \"b\":2}", 7, "',' or '}' expected");
        assert_malformed(*state, "{\"a\":[1 2]}", 8, "',' or ']' expected");
        assert_malformed(*state, "{\"a\" 1}", 5, "':' expected");
        assert_malformed(*state, "{a:1}", 1, "a key in double quotes");
        assert_malformed(*state, "{\"a\":1,}", 7, "a key in double quotes");
        assert_malformed(*state, "{\"a\":[1,]}", 8, "a value expected");
        assert_malformed(*state, "{\"a\":tru}", 5, "a value expected");
        assert_malformed(*state, "{\"a\":.5}", 5, "a value expected");
        assert_malformed(*state, "{\"a\":01}", 5, "leading zeros");
        assert_malformed(*state, "{\"a\":-}", 6, "a digit expected");
        assert_malformed(*state, "{\"a\":1.}", 7, "a digit expected");
        assert_malformed(*state, "{\"a\":1e+}", 8, "a digit expected");
        assert_malformed(*state, "{\"a\":9223372036854775808}", 23, "beyond 64 bits");
        assert_malformed(*state, "{\"a\":-9223372036854775809}", 24, "beyond 64 bits");
        assert_malformed(*state, "{\"a\":\"\n\"}", 6, "control character");
        assert_malformed(*state, "{\"a\":\"\\x\"}", 7, "invalid escape");
        assert_malformed(*state, "{\"a\":\"\\u12g4\"}", 7, "invalid escape");
        assert_malformed(*state, "{\"a\":\"\\u0000\"}", 7, "may not contain");
        assert_malformed(*state, "{\"a\":\"\\ud800x\"}", 7, "half a character");
        assert_malformed(*state, "{\"a\":\"\\udc00\\ud800\"}", 7, "half a character");
        assert_malformed(*state, "{} {}", 3, "something follows");
}

static void every_beginning_of_a_document_is_cut_off(void **state) {
        static const char text[] = "{\"a\":[1.5e3,-2,\"\\u00e4\\n\",{\"b\":null}],\"c\":true,\"d\":{}}";
        char begin[sizeof(text)];
        const Value *value;

        for (size_t n = 0; n < sizeof(text) - 1; n++) {
                memcpy(begin, text, n);
                begin[n] = '\0';
                assert_int_equal(parse(*state, begin, &value), VALUE_MALFORMED);
        }
        assert_int_equal(parse(*state, text, &value), 0);
}

/* The rules of documents, which name the place, find all of these. */
static void what_is_json_and_breaks_a_rule_is_left_to_the_rules(void **state) {
        static const struct {
                const char *text, *path, *words;
        } cases[] = {
                { "{\"a\":{\"b\":1,\"b\":2}}", "a.b", "is there twice" },
                { "{\"a\":[1e999]}", "a[0]", "is infinite" },
                { "{\"a\":-Infinity}", "a", "is infinite" },
                { "{\"a\":Infinity}", "a", "is infinite" },
                { "{\"a\":NaN}", "a", "is not a number" },
                { "{\"a\":\"\xe9\"}", "a", "UTF-8" },
                { "{\"\":1}", "", "empty key" },
        };
        Complaint complaint;
        const Value *value;

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                assert_int_equal(parse(*state, cases[i].text, &value), 0);
                assert_int_equal(object_check(value, STRING_MAX_BYTES, &complaint), INDICATOR_INVALID);
                assert_string_equal(complaint.path, cases[i].path);
                assert_non_null(strstr(complaint.text, cases[i].words));
        }
}

static void a_document_may_be_nested_only_so_deep(void **state) {
        char text[512] = "{\"a\":";
        const unsigned n_begin = 5;
        Complaint complaint;
        const Value *value;

        for (unsigned n = VALUE_DEPTH_MAX - 1; n < VALUE_DEPTH_MAX + 100; n += 50) {
                memset(text + n_begin, '[', n);
                memcpy(text + n_begin + n, "\"]\\\"\"", 5);
                memset(text + n_begin + n + 5, ']', n);
                memcpy(text + n_begin + 2 * n + 5, "}", 2);
                assert_int_equal(parse(*state, text, &value), 0);
                assert_int_equal(object_check(value, STRING_MAX_BYTES, &complaint), n < VALUE_DEPTH_MAX ? 0 : INDICATOR_INVALID);
        }
        assert_non_null(strstr(complaint.text, "nested deeper than 32"));

        text[strlen(text) - 50] = '\0';
        assert_int_equal(parse(*state, text, &value), VALUE_MALFORMED);
}

static void an_arena_that_is_full_says_so_at_every_size(void **state) {
        static const char text[] = "{\"a\":[1,2,3,{\"b\":[[],[4]]}],\"c\":\"d\"}";
        const Value *value;
        bool has_fitted = false;

        (void)state;
        for (size_t n = 16; n < 2048; n += 16) {
                scoped(arena_deinit) Arena arena = {};
                int r;

                assert_int_equal(arena_init(&arena, n), 0);
                r = value_parse(text, sizeof(text) - 1, &arena, &value, &is_canonical, &error);
                assert_int_equal(arena.n_pushed, 0);
                assert_true(r == (has_fitted ? 0 : VALUE_NO_ROOM) || (r == 0 && !has_fitted));
                has_fitted = r == 0;
        }
        assert_true(has_fitted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(what_the_writer_writes_is_canonical),
                TEST(other_spellings_are_written_anew),
                TEST(what_is_no_json_is_refused_with_its_place),
                TEST(every_beginning_of_a_document_is_cut_off),
                TEST(what_is_json_and_breaks_a_rule_is_left_to_the_rules),
                TEST(a_document_may_be_nested_only_so_deep),
                TEST(an_arena_that_is_full_says_so_at_every_size),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
