/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/caller.h"
#include "util/scoped.h"

static void a_name_of_a_user_is_no_number_and_has_plain_characters(void **state) {
        static const char *const valid[] = { "ada", "a", "ada.l", "ada@EXAMPLE.org", "u-1_2", "1a" };
        static const char *const invalid[] = { "", "0", "1000", "-ada", "a b", "a\tb", "a\nb", "r\xc3\xb6\xc3\xb6t",
                                               "../a", "a,b", "a:b", "\xff" };
        char text[300];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(valid); i++)
                assert_true(caller_name_is_valid(valid[i]));
        for (size_t i = 0; i < N_ELEMENTS(invalid); i++)
                assert_false(caller_name_is_valid(invalid[i]));
        assert_false(caller_name_is_valid(NULL));
        memset(text, 'a', sizeof(text));
        text[256] = '\0';
        assert_true(caller_name_is_valid(text));
        text[256] = 'a';
        text[257] = '\0';
        assert_false(caller_name_is_valid(text));
}

static void a_user_is_found_by_name(void **state) {
        uint32_t uid = 1;

        (void)state;
        assert_int_equal(caller_find_name("root", &uid), 0);
        assert_int_equal(uid, 0);
        uid = 4711;
        assert_int_equal(caller_find_name("perfd-no-such-user", &uid), CALLER_UNKNOWN);
        assert_int_equal(uid, 4711);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_of_a_user_is_no_number_and_has_plain_characters),
                cmocka_unit_test(a_user_is_found_by_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
