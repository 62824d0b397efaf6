/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "value/shorten.h"

static int set_up(void **state) {
        static Arena arena;

        *state = &arena;
        return arena_init(&arena, 4096);
}

static int tear_down(void **state) {
        arena_deinit(*state);
        return 0;
}

#define STRING(text) { .type = VALUE_STRING, .string = (text) }

static void texts_that_fit_are_unchanged(void **state) {
        static const Member members[] = { { "stderr", STRING("12345") },
                                          { "n", { .type = VALUE_INT, .integer = 123456789 } } };
        const Value run = { .type = VALUE_OBJECT, .members = members, .n_members = 2 }, *cut;

        assert_int_equal(shorten_value(&run, 5, *state, &cut), 0);
        assert_ptr_equal(cut, &run);
}

static void standard_error_keeps_its_end_and_other_texts_their_beginning(void **state) {
        static const Value words[] = { STRING("short"), STRING("too long") };
        static const Member script[] = { { "sha256", STRING("abc") }, { "origin", STRING("/a/long/path") } };
        static const Member members[] = {
                { "stderr", STRING("warning\nerror") }, { "stderr_cut", { .type = VALUE_BOOL } },
                { "script", { .type = VALUE_OBJECT, .members = script, .n_members = 2 } },
                { "words", { .type = VALUE_LIST, .items = words, .n_items = 2 } },
        };
        const Value run = { .type = VALUE_OBJECT, .members = members, .n_members = 4 }, *cut, *inner;

        assert_int_equal(shorten_value(&run, 5, *state, &cut), 0);
        assert_int_equal(cut->n_members, 4);
        assert_string_equal(value_get_string(cut, "stderr"), "error");
        assert_true(value_get(cut, "stderr_cut")->boolean);
        inner = value_get(cut, "script");
        assert_string_equal(value_get_string(inner, "sha256"), "abc");
        assert_string_equal(value_get_string(inner, "origin"), "/a/lo");
        assert_int_equal(inner->n_members, 3);
        assert_true(value_get(inner, "origin_cut")->boolean);
        assert_null(value_get(inner, "sha256_cut"));
        assert_string_equal(value_get(cut, "words")->items[0].string, "short");
        assert_string_equal(value_get(cut, "words")->items[1].string, "too l");
}

static void no_character_is_cut_in_two(void **state) {
        static const Member members[] = { { "stderr", STRING("xäöü") }, { "name", STRING("xäöü") } };
        const Value run = { .type = VALUE_OBJECT, .members = members, .n_members = 2 }, *cut;

        assert_int_equal(shorten_value(&run, 3, *state, &cut), 0);
        assert_string_equal(value_get_string(cut, "stderr"), "ü");
        assert_string_equal(value_get_string(cut, "name"), "xä");
        assert_int_equal(shorten_value(&run, 1, *state, &cut), 0);
        assert_string_equal(value_get_string(cut, "stderr"), "");
}

static void a_full_arena_is_reported(void **state) {
        static const Member members[] = { { "stderr", STRING("0123456789") } };
        const Value run = { .type = VALUE_OBJECT, .members = members, .n_members = 1 }, *cut;
        Arena *arena = *state;

        for (size_t left = 0; left < 128; left += 16) {
                arena->n_used = arena->n_max - left;
                cut = NULL;
                if (shorten_value(&run, 5, arena, &cut) == 0)
                        assert_string_equal(value_get_string(cut, "stderr"), "56789");
                else
                        assert_null(cut);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(texts_that_fit_are_unchanged),
                TEST(standard_error_keeps_its_end_and_other_texts_their_beginning),
                TEST(no_character_is_cut_in_two),
                TEST(a_full_arena_is_reported),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
