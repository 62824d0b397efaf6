/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "document/indicator.h"
#include "value/value_parse.h"

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

/* Places the text at the end of a page, so that a sanitizer detects reads beyond it. */
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
        Json json = { .out = &out };

        assert_int_equal(parse(arena, text, &value), 0);
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

static void text_of_the_writer_is_canonical(void **state) {
        assert_canonical(*state, "{}");
        assert_canonical(*state, "{\"a\":[],\"b\":{},\"c\":[1,-2,null,true,false,\"x\"]}");
        assert_canonical(*state, "{\"a\":{\"b\":[{\"c\":[[1],[2,3]]},4]},\"z\":9223372036854775807,"
                                 "\"x\":9223372036854775808,\"w\":18446744073709551615,\"y\":-9223372036854775808}");
        assert_canonical(*state, "{\"ä\":\"größer\\n\\t\\r\\\\\\\"\"}");
        assert_canonical(*state, "{\"a\":1.5,\"b\":-0.25,\"c\":3.0,\"d\":0.0,\"e\":-0.0,\"f\":10.0,\"g\":0.05}");
        assert_canonical(*state, "{\"a\":91.80921246297657,\"b\":5e-324,\"c\":1.7976931348623157e+308}");
        assert_canonical(*state, "{\"a\":123456789012345.0}");
}

static void other_forms_are_rewritten(void **state) {
        assert_written(*state, " {\t\"a\" :\n1 ,\r\"b\": [ 1 , 2 ] } ", "{\"a\":1,\"b\":[1,2]}");
        assert_written(*state, "{\"a\":1.50,\"b\":1e2,\"c\":1E-2,\"d\":-0,\"e\":0.00001}",
                       "{\"a\":1.5,\"b\":100.0,\"c\":0.01,\"d\":0,\"e\":1e-05}");
        assert_written(*state, "{\"a\":0.30000000000000004441,\"b\":1.0000000000000001}",
                       "{\"a\":0.30000000000000004,\"b\":1.0}");
        assert_written(*state, "{\"\\u0061\":\"\\/\\b\\f\\u00e4\\ud83d\\ude00\"}", "{\"a\":\"/\\u0008\\u000cä😀\"}");
        assert_written(*state, "{\"a\":\"\x7f\xe2\x80\xae\"}", "{\"a\":\"\\u007f\\u202e\"}");
}

static void invalid_json_is_refused_with_its_position(void **state) {
        assert_malformed(*state, "", 0, "expected an object");
        assert_malformed(*state, "[1]", 0, "expected an object");
        assert_malformed(*state, "{", 1, "truncated");
        assert_malformed(*state, "{\"a", 3, "truncated");
        assert_malformed(*state, "{\"a\"", 4, "truncated");
        assert_malformed(*state, "{\"a\":", 5, "truncated");
        assert_malformed(*state, "{\"a\":1", 6, "truncated");
        assert_malformed(*state, "{\"a\":1.5", 8, "truncated");
        assert_malformed(*state, "{\"a\":[1", 7, "truncated");
        assert_malformed(*state, "{\"a\":1 \"b\":2}", 7, "expected ',' or '}'");
        assert_malformed(*state, "{\"a\":[1 2]}", 8, "expected ',' or ']'");
        assert_malformed(*state, "{\"a\" 1}", 5, "expected ':'");
        assert_malformed(*state, "{a:1}", 1, "a key in double quotes");
        assert_malformed(*state, "{\"a\":1,}", 7, "a key in double quotes");
        assert_malformed(*state, "{\"a\":[1,]}", 8, "expected a value");
        assert_malformed(*state, "{\"a\":tru}", 5, "expected a value");
        assert_malformed(*state, "{\"a\":.5}", 5, "expected a value");
        assert_malformed(*state, "{\"a\":01}", 5, "leading zeros");
        assert_malformed(*state, "{\"a\":-}", 6, "expected a digit");
        assert_malformed(*state, "{\"a\":1.}", 7, "expected a digit");
        assert_malformed(*state, "{\"a\":1e+}", 8, "expected a digit");
        assert_malformed(*state, "{\"a\":18446744073709551616}", 24, "beyond 64 bits");
        assert_malformed(*state, "{\"a\":-9223372036854775809}", 24, "beyond 64 bits");
        assert_malformed(*state, "{\"a\":\"\n\"}", 6, "control character");
        assert_malformed(*state, "{\"a\":\"\\x\"}", 7, "invalid escape");
        assert_malformed(*state, "{\"a\":\"\\u12g4\"}", 7, "invalid escape");
        assert_malformed(*state, "{\"a\":\"\\u0000\"}", 7, "may not contain");
        assert_malformed(*state, "{\"a\":\"\\ud800x\"}", 7, "unpaired surrogate");
        assert_malformed(*state, "{\"a\":\"\\udc00\\ud800\"}", 7, "unpaired surrogate");
        assert_malformed(*state, "{} {}", 3, "text after the object");
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

/* These errors are found by the checks of documents, which report the position. */
static void valid_json_that_breaks_a_rule_is_accepted_by_the_parser(void **state) {
        static const struct {
                const char *text, *path, *words;
        } cases[] = {
                { "{\"a\":{\"b\":1,\"b\":2}}", "a.b", "is given twice" },
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
                assert_int_equal(indicator_check_object(value, DOCUMENT_LIMITS_DEFAULT, &complaint), INDICATOR_INVALID);
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
                assert_int_equal(indicator_check_object(value, DOCUMENT_LIMITS_DEFAULT, &complaint),
                                 n < VALUE_DEPTH_MAX ? 0 : INDICATOR_INVALID);
        }
        assert_non_null(strstr(complaint.text, "nested deeper than 32"));

        text[strlen(text) - 50] = '\0';
        assert_int_equal(parse(*state, text, &value), VALUE_MALFORMED);
}

static void a_full_arena_is_reported_at_every_size(void **state) {
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

/* --- consecutive values --------------------------------------------------------------------------- */

typedef struct Fixture {
        Arena arena;
        ValueReader reader;
        const Value *value;
        ValueError error;
} Fixture;

static int set_up_reader(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return arena_init(&((Fixture *)*state)->arena, 1024 * 1024);
}

static int tear_down_reader(void **state) {
        arena_deinit(&((Fixture *)*state)->arena);
        free(*state);
        return 0;
}

static int read_text(Fixture *f, const char *text) {
        value_parse_begin(&f->reader, text, strlen(text));
        return value_parse_next(&f->reader, &f->arena, &f->value, &f->error);
}

static int read_next(Fixture *f) {
        return value_parse_next(&f->reader, &f->arena, &f->value, &f->error);
}

static void every_type_keeps_its_type(void **state) {
        Fixture *f = *state;
        const Value *v;
        double d;
        int64_t i;

        assert_int_equal(read_text(f, "{\"n\":null,\"t\":true,\"f\":false,\"i\":-9223372036854775808,"
                                      "\"d\":1.0,\"s\":\"ü\\u0041\",\"l\":[1,[]],\"o\":{}}"), 0);
        v = f->value;
        assert_int_equal(v->type, VALUE_OBJECT);
        assert_int_equal(value_get(v, "n")->type, VALUE_NULL);
        assert_true(value_get(v, "t")->boolean);
        assert_int_equal(value_get(v, "f")->type, VALUE_BOOL);
        assert_true(value_get_int(v, "i", &i));
        assert_true(i == INT64_MIN);
        assert_int_equal(value_get(v, "d")->type, VALUE_DOUBLE);
        assert_true(value_get_double(v, "d", &d) && d == 1.0);
        assert_string_equal(value_get_string(v, "s"), "üA");
        assert_int_equal(value_get(v, "l")->n_items, 2);
        assert_int_equal(value_get(v, "l")->items[1].type, VALUE_LIST);
        assert_int_equal(value_get(v, "o")->n_members, 0);
}

static void members_keep_their_order(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "{\"z\":1,\"a\":2,\"m\":3}"), 0);
        assert_string_equal(f->value->members[0].key, "z");
        assert_string_equal(f->value->members[1].key, "a");
        assert_string_equal(f->value->members[2].key, "m");
}

static void documents_may_follow_each_other_with_or_without_lines(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, " {\"a\":1}{\"a\":2}\n\n{\"a\":\n3}\t"), 0);
        for (int64_t expected = 1; expected <= 3; expected++) {
                int64_t i;

                assert_true(value_get_int(f->value, "a", &i));
                assert_int_equal(i, expected);
                assert_int_equal(read_next(f), expected < 3 ? 0 : VALUE_END);
        }
        assert_int_equal(read_next(f), VALUE_END);
}

static void an_empty_text_is_the_end(void **state) {
        assert_int_equal(read_text(*state, ""), VALUE_END);
        assert_int_equal(read_text(*state, " \r\n\t"), VALUE_END);
}

static void an_error_has_its_position_in_the_whole_text(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "{\"a\":1}\n  {\"b\":}"), 0);
        assert_int_equal(read_next(f), VALUE_MALFORMED);
        assert_int_equal(f->error.line, 2);
        assert_in_range(f->error.column, 7, 9);
        assert_non_null(strstr(f->error.text, "}"));

        assert_int_equal(read_text(f, "{\"ä\":1} {\"b\" 1}"), 0);
        assert_int_equal(read_next(f), VALUE_MALFORMED);
        assert_int_equal(f->error.line, 1);
        assert_in_range(f->error.column, 12, 15);

        assert_int_equal(read_text(f, "{\"a\":1,\n\"b\":[1,\n"), VALUE_MALFORMED);
        assert_int_equal(f->error.line, 3);
}

static void unrepresentable_values_are_refused_instead_of_changed(void **state) {
        static const char *const texts[] = {
                "{\"a\":1,\"a\":2}",            /* ambiguous */
                "{\"a\":18446744073709551616}", /* beyond 64 bits */
                "{\"a\":1e999}",
                "{\"a\":\"\\u0000\"}",
                "{'a':1}",
                "{\"a\":1",
                "{\"a\":\"\xff\"}",
        };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (read_text(*state, texts[i]) != VALUE_MALFORMED)
                        fail_msg("%s was taken", texts[i]);
}

static void a_number_that_json_does_not_have_is_null_and_counted(void **state) {
        static const char *const words[] = { "NaN", "nan", "-NaN", "+inf", "Infinity", "-Infinity", "-INF", "-nan" };
        static const char *const others[] = { "nano", "infinit", "-", "+", "-n", "i", "+1", "nul", "infinity1" };
        Fixture *f = *state;
        char text[64];

        for (size_t i = 0; i < N_ELEMENTS(words); i++) {
                snprintf(text, sizeof(text), "{\"rate\": [%s, 1]}", words[i]);
                assert_int_equal(read_text(f, text), 0);
                assert_int_equal(f->reader.n_not_finite, 1);
        }
        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                snprintf(text, sizeof(text), "{\"rate\": [%s, 1]}", others[i]);
                assert_int_equal(read_text(f, text), VALUE_MALFORMED);
        }
}

static void errors_come_with_a_fix(void **state) {
        static const struct {
                const char *text, *words;
        } cases[] = {
                { "{\"a\":\"\\u0000\"}", "\\u0000: remove it" },
                { "{\"a\\u0000\":1}", "\\u0000: remove it" },
                { "\xef\xbb\xbf{}", "byte order mark" },
                { "{\"a\":\"\xff\"}", "UTF-8" },
                { "{\"a\":123456789012345678901}", "as a string" },
                { "{\"a\":-123456789012345678901}", "as a string" },
                { "{\"a\":1e999}", "as a string" },
                { "{\"a\":1,\"a\":2}", "a: is given twice in this object: rename" },
                { "{\"a\":[{\"b\":1},{\"b\":\"\\x\"}]}", "a[1].b: invalid escape" },
                { "{\"a\":1, // rate\n\"b\":2}", "comments" },
                { "{\"a\":}", "a: expected a value" },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Fixture *f = *state;

                assert_int_equal(read_text(f, cases[i].text), VALUE_MALFORMED);
                if (!strstr(f->error.text, cases[i].words) || strstr(f->error.text, "JSON_"))
                        fail_msg("%s: '%s' does not say '%s'", cases[i].text, f->error.text, cases[i].words);
        }
}

static void a_document_has_a_line_and_a_column(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "\n {\"a\":\n1}  {}"), 0);
        assert_int_equal(f->reader.begin_line, 2);
        assert_int_equal(f->reader.begin_column, 2);
        assert_int_equal(read_next(f), 0);
        assert_int_equal(f->reader.begin_line, 3);
        assert_int_equal(f->reader.begin_column, 5);
}

static void nesting_has_a_limit(void **state) {
        char text[2 * (VALUE_DEPTH_MAX + 2) + 1];

        /* The outermost list is at depth 0. */
        for (unsigned n = VALUE_DEPTH_MAX + 1; n <= VALUE_DEPTH_MAX + 2; n++) {
                memset(text, '[', n);
                memset(text + n, ']', n);
                text[2 * n] = '\0';
                assert_int_equal(read_text(*state, text), n == VALUE_DEPTH_MAX + 1 ? 0 : VALUE_MALFORMED);
        }
}

static void a_full_arena_is_an_outcome(void **state) {
        scoped(arena_deinit) Arena small = {};
        ValueReader reader;
        const Value *value;
        const char text[] = "[1,2,3,4,5,6,7,8,9]";

        (void)state;
        assert_int_equal(arena_init(&small, 64), 0);
        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, &small, &value, &error), VALUE_NO_ROOM);
}

/* Checks value_parse_arena_size() with the texts that come closest to its limit. */
static void the_densest_texts_fit_their_arena(void **state) {
        static const char *const pieces[] = {
                "0 ",
                "[[[[[[[[\"\"]]]]]]]] ",
                "{\"\":\"\"} ",
                "[\"\"] ",
                "[0,0,0,0,0,0] ",
                "[[0],[0],[0],[0]] ",
                "[[],[],[],[],[]] ",
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(pieces); i++) {
                scoped(arena_deinit) Arena arena = {};
                scoped(freep) char *text = malloc(300001);
                size_t n = strlen(pieces[i]), n_text = 300000 / n * n;
                ValueReader reader;
                const Value *value;
                int r;

                assert_non_null(text);
                for (size_t at = 0; at < n_text; at += n)
                        memcpy(text + at, pieces[i], n);
                assert_int_equal(arena_init(&arena, value_parse_arena_size(n_text)), 0);
                value_parse_begin(&reader, text, n_text);
                while ((r = value_parse_next(&reader, &arena, &value, &error)) == 0)
                        ;
                assert_int_equal(r, VALUE_END);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define READER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_reader, tear_down_reader)

static void a_text_with_one_value_is_read_whole(void **state) {
        static const struct {
                const char *text;
                int r;
        } rows[] = {
                { "[1, 2]", 0 }, { " {} \n", 0 }, { "", VALUE_END }, { "1 2", VALUE_END }, { "{} x", VALUE_END }, { "[1,", VALUE_MALFORMED },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                const Value *value = NULL;
                Arena arena = {};

                assert_int_equal(value_parse_only(rows[i].text, strlen(rows[i].text), &arena, &value, &error),
                                 rows[i].r);
                assert_int_equal(!value, rows[i].r != 0);
                arena_deinit(&arena);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                TEST(text_of_the_writer_is_canonical),
                TEST(other_forms_are_rewritten),
                TEST(invalid_json_is_refused_with_its_position),
                TEST(every_beginning_of_a_document_is_cut_off),
                TEST(valid_json_that_breaks_a_rule_is_accepted_by_the_parser),
                TEST(a_document_may_be_nested_only_so_deep),
                TEST(a_full_arena_is_reported_at_every_size),
                READER_TEST(every_type_keeps_its_type),
                READER_TEST(members_keep_their_order),
                READER_TEST(documents_may_follow_each_other_with_or_without_lines),
                READER_TEST(an_empty_text_is_the_end),
                READER_TEST(an_error_has_its_position_in_the_whole_text),
                READER_TEST(unrepresentable_values_are_refused_instead_of_changed),
                READER_TEST(a_number_that_json_does_not_have_is_null_and_counted),
                READER_TEST(errors_come_with_a_fix),
                READER_TEST(a_document_has_a_line_and_a_column),
                READER_TEST(nesting_has_a_limit),
                READER_TEST(a_full_arena_is_an_outcome),
                READER_TEST(the_densest_texts_fit_their_arena),
                TEST(a_text_with_one_value_is_read_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
