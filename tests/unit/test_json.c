/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/wire/json.h"

typedef struct Fixture {
        Arena arena;
        JsonReader reader;
        const Value *value;
        JsonError error;
} Fixture;

static int set_up(void **state) {
        *state = calloc(1, sizeof(Fixture));
        return arena_init(&((Fixture *)*state)->arena, 1024 * 1024);
}

static int tear_down(void **state) {
        arena_deinit(&((Fixture *)*state)->arena);
        free(*state);
        return 0;
}

static int read_text(Fixture *f, const char *text) {
        json_reader_init(&f->reader, text, strlen(text));
        return json_read(&f->reader, &f->arena, &f->value, &f->error);
}

static int read_next(Fixture *f) {
        return json_read(&f->reader, &f->arena, &f->value, &f->error);
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
                assert_int_equal(read_next(f), expected < 3 ? 0 : JSON_END);
        }
        assert_int_equal(read_next(f), JSON_END);
}

static void nothing_at_all_is_the_end(void **state) {
        assert_int_equal(read_text(*state, ""), JSON_END);
        assert_int_equal(read_text(*state, " \r\n\t"), JSON_END);
}

static void an_error_says_where_in_the_whole_text_it_is(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "{\"a\":1}\n  {\"b\":}"), 0);
        assert_int_equal(read_next(f), JSON_MALFORMED);
        assert_int_equal(f->error.line, 2);
        assert_in_range(f->error.column, 7, 9);
        assert_non_null(strstr(f->error.text, "}"));

        assert_int_equal(read_text(f, "{\"ä\":1} {\"b\" 1}"), 0);
        assert_int_equal(read_next(f), JSON_MALFORMED);
        assert_int_equal(f->error.line, 1);
        assert_in_range(f->error.column, 12, 15);

        assert_int_equal(read_text(f, "{\"a\":1,\n\"b\":[1,\n"), JSON_MALFORMED);
        assert_int_equal(f->error.line, 3);
}

static void what_cannot_be_kept_is_refused_rather_than_changed(void **state) {
        static const char *const texts[] = {
                "{\"a\":1,\"a\":2}",            /* which of them? */
                "{\"a\":9223372036854775808}",  /* beyond 64 bits */
                "{\"a\":1e999}",
                "{\"a\":\"\\u0000\"}",
                "{\"a\":NaN}",
                "{'a':1}",
                "{\"a\":1",
                "{\"a\":\"\xff\"}",
        };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (read_text(*state, texts[i]) != JSON_MALFORMED)
                        fail_msg("%s was taken", texts[i]);
}

static void a_number_that_json_does_not_have_is_explained(void **state) {
        Fixture *f = *state;

        assert_int_equal(read_text(f, "{\"rate\": NaN}"), JSON_MALFORMED);
        assert_non_null(strstr(f->error.text, "null"));
}

static void what_is_wrong_comes_with_what_to_do(void **state) {
        static const struct {
                const char *text, *words;
        } cases[] = {
                { "{\"a\":\"\\u0000\"}", "\\u0000: remove it" },
                { "{\"a\\u0000\":1}", "\\u0000: remove it" },
                { "\xef\xbb\xbf{}", "byte order mark" },
                { "\xff\xfe{", "not UTF-8" },
                { "{\"a\":\"\xff\"}", "save it as UTF-8" },
                { "{\"a\":123456789012345678901}", "as a string" },
                { "{\"a\":-123456789012345678901}", "as a string" },
                { "{\"a\":1e999}", "as a string" },
                { "{\"a\":1,\"a\":2}", "rename" },
        };

        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                Fixture *f = *state;

                assert_int_equal(read_text(f, cases[i].text), JSON_MALFORMED);
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
                assert_int_equal(read_text(*state, text), n == VALUE_DEPTH_MAX + 1 ? 0 : JSON_MALFORMED);
        }
}

static void a_full_arena_is_an_outcome(void **state) {
        scoped(arena_deinit) Arena small = {};
        JsonReader reader;
        JsonError error;
        const Value *value;
        const char text[] = "[1,2,3,4,5,6,7,8,9]";

        (void)state;
        assert_int_equal(arena_init(&small, 64), 0);
        json_reader_init(&reader, text, strlen(text));
        assert_int_equal(json_read(&reader, &small, &value, &error), JSON_TOO_LARGE);
}

/* The bound that json_arena_size() promises, for the texts that come closest to it. */
static void the_densest_texts_fit_their_arena(void **state) {
        static const char *const pieces[] = { "0 ", "[[[[[[[[\"\"]]]]]]]] ", "{\"\":\"\"} ", "[\"\"] ", "[0,0,0,0,0,0] " };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(pieces); i++) {
                scoped(arena_deinit) Arena arena = {};
                scoped(freep) char *text = malloc(300001);
                size_t n = strlen(pieces[i]), n_text = 300000 / n * n;
                JsonReader reader;
                JsonError error;
                const Value *value;
                int r;

                assert_non_null(text);
                for (size_t at = 0; at < n_text; at += n)
                        memcpy(text + at, pieces[i], n);
                assert_int_equal(arena_init(&arena, json_arena_size(n_text)), 0);
                json_reader_init(&reader, text, n_text);
                while ((r = json_read(&reader, &arena, &value, &error)) == 0)
                        ;
                assert_int_equal(r, JSON_END);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_type_keeps_its_type),
                TEST(members_keep_their_order),
                TEST(documents_may_follow_each_other_with_or_without_lines),
                TEST(nothing_at_all_is_the_end),
                TEST(an_error_says_where_in_the_whole_text_it_is),
                TEST(what_cannot_be_kept_is_refused_rather_than_changed),
                TEST(a_number_that_json_does_not_have_is_explained),
                TEST(what_is_wrong_comes_with_what_to_do),
                TEST(a_document_has_a_line_and_a_column),
                TEST(nesting_has_a_limit),
                TEST(a_full_arena_is_an_outcome),
                TEST(the_densest_texts_fit_their_arena),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
