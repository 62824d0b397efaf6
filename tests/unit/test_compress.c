/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "store/database/compress.h"

static void text_comes_back_as_it_was(void **state) {
        static const size_t lengths[] = { 0, 1, 2, 5000, 100000 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
                scoped(buffer_deinit) Buffer text = {}, bytes = {}, again = {};

                for (size_t n = 0; n < lengths[i]; n++)
                        buffer_putc(&text, (char)(' ' + n * n % 89));
                assert_int_equal(compress_bytes(text.text, text.n, &bytes), 0);
                assert_int_equal(compress_restore(bytes.text, bytes.n, &again), 0);
                assert_int_equal(again.n, text.n);
                if (text.n > 0)
                        assert_memory_equal(again.text, text.text, text.n);
        }
}

static void any_damage_is_detected(void **state) {
        scoped(buffer_deinit) Buffer bytes = {};
        const char *text = "cpu lo=0.2 hi=0.9675 levels=300 "
                           "about=P0-z$towJ1=+.+#&'(,)5*.F)1A')#,->*1*%%-,&#9<=/'{#1*z,tlwB(0;6821";

        (void)state;
        assert_int_equal(compress_bytes(text, strlen(text), &bytes), 0);
        for (size_t i = 0; i < bytes.n; i++) {
                scoped(buffer_deinit) Buffer cut = {}, changed = {};

                assert_int_equal(compress_restore(bytes.text, i, &cut), COMPRESS_MALFORMED);
                bytes.text[i] ^= 1;
                assert_int_equal(compress_restore(bytes.text, bytes.n, &changed), COMPRESS_MALFORMED);
                bytes.text[i] ^= 1;
        }
}

static void endless_input_is_refused(void **state) {
        scoped(buffer_deinit) Buffer text = {}, bytes = {}, again = {};

        (void)state;
        for (size_t i = 0; i < 4 * COMPRESS_TEXT_MAX; i++)
                buffer_putc(&text, 'x');
        assert_int_equal(compress_bytes(text.text, text.n, &bytes), 0);
        assert_true(bytes.n < 100000);
        assert_int_equal(compress_restore(bytes.text, bytes.n, &again), COMPRESS_MALFORMED);
        assert_true(again.n < 2 * COMPRESS_TEXT_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_comes_back_as_it_was),
                cmocka_unit_test(any_damage_is_detected),
                cmocka_unit_test(endless_input_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
