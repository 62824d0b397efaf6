/* SPDX-License-Identifier: Apache-2.0 */
#include "text/encoding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_unifies(const char *from, const char *to) {
        char text[64];
        size_t n = strlen(from);

        memcpy(text, from, n + 1);
        assert_int_equal(encoding_unify(text, &n), 0);
        assert_string_equal(text, to);
        assert_int_equal(n, strlen(to));
}

static void line_ends_of_all_systems_are_newlines(void **state) {
        (void)state;
        assert_unifies("a\r\nb\r\n", "a\nb\n");
        assert_unifies("a\rb\r", "a\nb\n");
        assert_unifies("a\r\r\nb\n\r", "a\n\nb\n\n");
        assert_unifies("a\nb", "a\nb");
        assert_unifies("", "");
        assert_unifies("\r", "\n");
}

static void byte_order_marks_in_front_of_lines_are_removed(void **state) {
        (void)state;
        assert_unifies("\xef\xbb\xbfx", "x");
        assert_unifies("\xef\xbb\xbf", "");
        assert_unifies("\xef\xbb\xbf\xef\xbb\xbf" "a\r\n\xef\xbb\xbf" "b\xef\xbb\xbf" "c", "a\nb\xef\xbb\xbf" "c");
        assert_unifies("\xef\xbb", "\xef\xbb");
}

static void other_encodings_are_refused(void **state) {
        static const char *const texts[] = {
                ("\xff\xfe" "a\0"), "\xfe\xff\0a", "\0a\0b", "a\0b\0", "\0\0\xfe\xff", "\xff\xfe\0\0",
        };
        char text[8];

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                size_t n = 4;

                memcpy(text, texts[i], 4);
                assert_int_equal(encoding_unify(text, &n), ENCODING_FOREIGN);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(line_ends_of_all_systems_are_newlines),
                cmocka_unit_test(byte_order_marks_in_front_of_lines_are_removed),
                cmocka_unit_test(other_encodings_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
