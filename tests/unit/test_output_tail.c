/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/run/output_tail.h"

static void assert_text(const OutputTail *tail, const char *expected, bool expected_cut) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_cut;

        output_tail_text(tail, &text, &is_cut);
        assert_string_equal(text.text ? text.text : "", expected);
        assert_int_equal(is_cut, expected_cut);
}

static void what_is_short_is_whole(void **state) {
        scoped(output_tail_deinit) OutputTail tail = {};

        (void)state;
        assert_text(&tail, "", false);
        output_tail_add(&tail, "one ", 4);
        output_tail_add(&tail, "two", 3);
        assert_text(&tail, "one two", false);
        output_tail_clear(&tail);
        output_tail_add(&tail, "three", 5);
        assert_text(&tail, "three", false);
}

/* The result is the same for pieces of any size. */
static void the_end_remains_of_what_is_long(void **state) {
        static char all[3 * OUTPUT_TAIL_BYTES_MAX + 123];
        static const size_t sizes[] = { 1, 7, 4096, OUTPUT_TAIL_BYTES_MAX - 1, OUTPUT_TAIL_BYTES_MAX,
                                        OUTPUT_TAIL_BYTES_MAX + 1, sizeof(all) };

        (void)state;
        for (size_t i = 0; i + 1 < sizeof(all); i++)
                all[i] = (char)('a' + i % 23);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
                scoped(output_tail_deinit) OutputTail tail = {};
                size_t n = sizeof(all) - 1;

                for (size_t at = 0; at < n; at += sizes[k])
                        output_tail_add(&tail, all + at, n - at < sizes[k] ? n - at : sizes[k]);
                assert_text(&tail, all + n - OUTPUT_TAIL_BYTES_MAX, true);
        }
}

static void exactly_as_much_as_fits_is_not_cut(void **state) {
        static char all[OUTPUT_TAIL_BYTES_MAX + 1];
        scoped(output_tail_deinit) OutputTail tail = {};

        (void)state;
        memset(all, 'x', OUTPUT_TAIL_BYTES_MAX);
        output_tail_add(&tail, all, OUTPUT_TAIL_BYTES_MAX);
        assert_text(&tail, all, false);
}

static void half_a_character_at_the_cut_is_none(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(output_tail_deinit) OutputTail tail = {};
        bool is_cut;

        (void)state;
        for (size_t i = 0; i < OUTPUT_TAIL_BYTES_MAX; i++)
                output_tail_add(&tail, "\xe2\x82\xac", 3);
        output_tail_text(&tail, &text, &is_cut);
        assert_true(is_cut);
        assert_int_equal(text.n % 3, 0);
        assert_memory_equal(text.text, "\xe2\x82\xac", 3);
}

/* Each replacement takes three bytes, and the result must still respect the limit. */
static void what_is_no_text_is_replaced_and_fits(void **state) {
        static char all[OUTPUT_TAIL_BYTES_MAX];
        scoped(buffer_deinit) Buffer text = {};
        scoped(output_tail_deinit) OutputTail small = {}, tail = {};
        bool is_cut;

        (void)state;
        output_tail_add(&small, "a\xff\0b", 4);
        assert_text(&small, "a\xef\xbf\xbd\xef\xbf\xbd" "b", false);

        memset(all, 0xff, sizeof(all));
        output_tail_add(&tail, all, sizeof(all));
        output_tail_text(&tail, &text, &is_cut);
        assert_true(is_cut);
        assert_true(text.n <= OUTPUT_TAIL_BYTES_MAX && text.n > OUTPUT_TAIL_BYTES_MAX - 3);
        assert_memory_equal(text.text, "\xef\xbf\xbd", 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_short_is_whole),
                cmocka_unit_test(the_end_remains_of_what_is_long),
                cmocka_unit_test(exactly_as_much_as_fits_is_not_cut),
                cmocka_unit_test(half_a_character_at_the_cut_is_none),
                cmocka_unit_test(what_is_no_text_is_replaced_and_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
