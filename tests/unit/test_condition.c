/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the command line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "document/condition.h"
#include "util/scoped.h"

static bool is_met(const char *text, const char *value) {
        Condition condition;

        assert_int_equal(condition_parse(text, &condition), 0);
        return condition_is_met(&condition, value ? json_text(value, strlen(value)) : (JsonText){});
}

static void numbers_are_equal_if_they_parse_to_the_same_value(void **state) {
        (void)state;
        assert_true(is_met("k=512", "512"));
        assert_true(is_met("k=18446744073709551615", "18446744073709551615"));
        assert_false(is_met("k=18446744073709551615", "18446744073709551614"));
        assert_true(is_met("k>9223372036854775807", "9223372036854775808"));
        assert_false(is_met("k>9223372036854775808", "9223372036854775808"));
        assert_true(is_met("k=512", "512.0"));
        assert_true(is_met("k=512.0", "512"));
        assert_true(is_met("k=5.12e2", "512"));
        assert_false(is_met("k=513", "512"));
        assert_false(is_met("k=", "0"));
        assert_false(is_met("k=9007199254740993", "9007199254740992")); /* equal as doubles */
        assert_true(is_met("k>9007199254740992", "9007199254740993"));
}

static void a_string_equals_the_same_letters_only(void **state) {
        (void)state;
        assert_true(is_met("k=512", "\"512\""));
        assert_false(is_met("k=512.0", "\"512\""));
        assert_true(is_met("k=a=b", "\"a=b\""));
        assert_true(is_met("k=", "\"\""));
        assert_true(is_met("k=true", "true"));
        assert_false(is_met("k=1", "true"));
        assert_true(is_met("k=null", "null"));
        assert_true(is_met("k=[1,2]", "[1,2]"));
}

static void relations_of_numbers_hold_for_numbers(void **state) {
        (void)state;
        assert_true(is_met("k<2", "1.5"));
        assert_false(is_met("k<2", "2"));
        assert_true(is_met("k<=2", "2.0"));
        assert_true(is_met("k>=-1", "-1"));
        assert_false(is_met("k>1", "1"));
        assert_false(is_met("k>1", "\"2\""));
        assert_true(is_met("k!=2", "3"));
        assert_false(is_met("k!=2", "2.0"));
        assert_true(is_met("k!=2", "\"x\""));
}

static void versions_and_times_are_compared_in_their_order(void **state) {
        (void)state;
        assert_true(is_met("k<2.10.0", "\"2.9.0\""));
        assert_true(is_met("k<2.10.0", "\"2.10.0-rc1\""));
        assert_false(is_met("k<2.10.0", "\"2.10.0+build\""));
        assert_true(is_met("k>=2.10.0", "\"2.10.0\""));
        assert_true(is_met("k>=2.10.0", "\"2.11\""));
        assert_false(is_met("k>=2.10.0", "3"));
        assert_true(is_met("k>2024-11-11", "\"2024-11-11T00:00:01\""));
        assert_false(is_met("k>2024-11-11T10:00:00Z", "\"2024-11-11T11:30:00+02:00\""));
        assert_false(is_met("k<2024-11-11", "\"release\""));
}

static void versions_of_the_usual_forms_have_an_order(void **state) {
        static const char *const ascending[][3] = {
                { "1.0", "1.9", "1.10" },
                { "v1.1.7", "v1.2-rc1", "v1.2" },
                { "v1.2", "v1.2-13-g1c2d3e4", "v1.2-14-gabc1234" },
                { "1.2.0", "1.2.0-2-g1c2d3e4", "1.2.0-10-gabc1234" }, /* Semantic Versioning takes them for prereleases */
                { "2.13-rc1", "2.13", "12.2.0" },
                { "build 99", "build 1834", "build 1835" },
                { "2026-11-27", "2026-11-28", "2026-12-01" },
                { "99", "1834", "1835" },
        };
        char less[64], greater[64];
        Condition below, above;

        (void)state;
        for (size_t i = 0; i < sizeof(ascending) / sizeof(ascending[0]); i++) {
                (void)snprintf(less, sizeof(less), "version<%s", ascending[i][1]);
                (void)snprintf(greater, sizeof(greater), "version>%s", ascending[i][1]);
                assert_int_equal(condition_parse(less, &below), 0);
                assert_int_equal(condition_parse(greater, &above), 0);
                for (size_t k = 0; k < 3; k++) {
                        assert_int_equal(condition_is_met_by_text(&below, ascending[i][k]), k < 1);
                        assert_int_equal(condition_is_met_by_text(&above, ascending[i][k]), k > 1);
                }
        }
        /* names of commits, and versions of another word, have no order among them */
        assert_int_equal(condition_parse("version<1c2d3e4f", &below), CONDITION_WITHOUT_ORDER);
        assert_int_equal(condition_parse("version<build 7", &below), 0);
        assert_false(condition_is_met_by_text(&below, "release 6"));
        assert_false(condition_is_met_by_text(&below, "1c2d3e4f"));
}

static void a_missing_parameter_meets_no_condition(void **state) {
        (void)state;
        assert_false(is_met("k=1", NULL));
        assert_false(is_met("k!=1", NULL));
        assert_false(is_met("k<1", NULL));
}

static void an_invalid_condition_is_refused(void **state) {
        char large[CONDITION_KEY_MAX + 4];
        Condition condition;

        (void)state;
        memset(large, 'k', sizeof(large));
        memcpy(large + sizeof(large) - 3, "=1", 3);
        assert_int_equal(condition_parse(large, &condition), CONDITION_MALFORMED);
        assert_int_equal(condition_parse(large + 1, &condition), 0);
        assert_int_equal(condition_parse("", &condition), CONDITION_MALFORMED);
        assert_int_equal(condition_parse("k", &condition), CONDITION_MALFORMED);
        assert_int_equal(condition_parse("=1", &condition), CONDITION_MALFORMED);
        assert_int_equal(condition_parse("k!1", &condition), CONDITION_MALFORMED);
        assert_int_equal(condition_parse("k<many", &condition), CONDITION_WITHOUT_ORDER);
        assert_int_equal(condition_parse("k>nan", &condition), CONDITION_WITHOUT_ORDER);
        assert_int_equal(condition_parse("k<", &condition), CONDITION_WITHOUT_ORDER);
}

static void values_with_commas_between_them_are_alternatives(void **state) {
        static const struct {
                const char *text, *expected;
        } cases[] = {
                { "k=1", "k=1;" },
                { "version=1.11.0,1.15.0", "version=1.11.0;version=1.15.0;" },
                { "\"a=b,c\"=1,2", "\"a=b,c\"=1;\"a=b,c\"=2;" },
                { "k=\"q, v\",w", "k=q, v;k=w;" },
                { "k=\"", "k=\";" },
                { "k=", "k=;" },
                { "k=a,", "k=a;k=;" },
                { "k=[1,2]", "k=[1,2];" },
                { "k=a,[1,2]", "k=a;k=[1;k=2];" },
                { "k!=1,2", "k!=1;k!=2;" }, /* none of them: all conditions must be met */
                { "k!=\"q, v\"", "k!=q, v;" },
                { "k>=\"1\"", "k>=1;" },
                { "\"k\"", "\"k\";" },
                { "k>=1,2", "k>=1,2;" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(buffer_deinit) Buffer out = {};

                for (size_t at = 0; condition_next(cases[i].text, &at, &out);)
                        buffer_putc(&out, ';');
                assert_string_equal(out.text, cases[i].expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(numbers_are_equal_if_they_parse_to_the_same_value),
                cmocka_unit_test(a_string_equals_the_same_letters_only),
                cmocka_unit_test(relations_of_numbers_hold_for_numbers),
                cmocka_unit_test(versions_and_times_are_compared_in_their_order),
                cmocka_unit_test(versions_of_the_usual_forms_have_an_order),
                cmocka_unit_test(a_missing_parameter_meets_no_condition),
                cmocka_unit_test(an_invalid_condition_is_refused),
                cmocka_unit_test(values_with_commas_between_them_are_alternatives),
        };

        return cmocka_run_group_tests_name("condition", tests, NULL, NULL);
}
