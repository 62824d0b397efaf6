/* SPDX-License-Identifier: Apache-2.0 */
/* tests: lib/util/error_text.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "util/error_text.h"

static void errors_have_names_and_texts(void **state) {
        (void)state;
        assert_string_equal(error_text_name(ENOSPC), "ENOSPC");
        assert_string_equal(error_text(ENOSPC), "No space left on device");
        assert_string_equal(error_text_name(EWOULDBLOCK), "EAGAIN");
        assert_string_equal(error_text_name(EHWPOISON), "EHWPOISON");
        assert_string_equal(error_text_name(0), "unknown");
        assert_string_equal(error_text_name(-1), "unknown");
        assert_string_equal(error_text_name(100000), "unknown");
        assert_string_equal(error_text(100000), "Unknown error 100000");
}

/* Each number that the C library knows. */
static void no_name_is_missing(void **state) {
        (void)state;
        for (int error = 1; error < 200; error++) {
                bool is_known = strncmp(error_text(error), "Unknown error", 13) != 0;

                assert_int_equal(strcmp(error_text_name(error), "unknown") != 0, is_known);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(errors_have_names_and_texts),
                cmocka_unit_test(no_name_is_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
