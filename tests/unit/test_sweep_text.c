/* SPDX-License-Identifier: Apache-2.0 */
/* Text of settings: formatted and parsed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/sweep/sweep_text.h"
#include "text/yaml.h"

static void every_value_round_trips(void **state) {
        static const Value values[] = {
                { .type = VALUE_NULL }, { .type = VALUE_BOOL, .boolean = true }, { .type = VALUE_INT, .integer = INT64_MIN },
                { .type = VALUE_DOUBLE, .number = 1e300 }, { .type = VALUE_DOUBLE, .number = 2.0 }, { .type = VALUE_STRING, .string = "" },
                { .type = VALUE_STRING, .string = "1" }, { .type = VALUE_STRING, .string = "a: 'b' \"c\" \\ # {d} \n\t\x7f" },
                { .type = VALUE_STRING, .string = "\xc2\x85 \xe2\x80\xa8 \xef\xbb\xbf \xc3\xa4 \xf0\x9f\x98\x80" },
        };
        static const char *const keys[] = { "x", "y", "@n", "1", "a.b", "Null", "no" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(values) * N_ELEMENTS(keys); i++) {
                const Value *value = &values[i % N_ELEMENTS(values)], *got;
                const char *key = keys[i / N_ELEMENTS(values)];
                scoped(buffer_deinit) Buffer line = {}, wanted = {}, text = {};
                scoped(arena_deinit) Arena arena = {};
                YamlError error;

                sweep_text_put_yaml(&line, key, value);
                assert_ptr_equal(strchr(line.text, '\n'), line.text + line.n - 1);
                assert_int_equal(arena_init(&arena, yaml_arena_size(line.n)), 0);
                assert_int_equal(yaml_read(line.text, line.n, &arena, &got, &error), 0);
                assert_int_equal(got->n_members, 1);
                assert_string_equal(got->members[0].key, key);
                assert_int_equal(got->members[0].value.type, value->type);
                buffer_puts(&wanted, "=");
                buffer_puts(&text, "=");
                sweep_text_put(&wanted, value);
                sweep_text_put(&text, &got->members[0].value);
                assert_string_equal(text.text, wanted.text);
        }
}

/* Identifies settings x and y, in both orders; key NULL: only the first. */
static void identify(const char *key, const char *text, const char *key_2, const char *text_2, Buffer *out) {
        const Member members[] = {
                { .key = key, .value = { .type = VALUE_STRING, .string = text } },
                { .key = key_2, .value = { .type = VALUE_STRING, .string = text_2 } },
        };

        assert_int_equal(sweep_text_identify(
                                 &(Value){ .type = VALUE_OBJECT, .members = members, .n_members = key_2 ? 2 : 1 }, out),
                         0);
}

static void identity_knows_no_order_and_no_types(void **state) {
        scoped(buffer_deinit) Buffer a = {}, b = {}, c = {};

        (void)state;
        identify("x", "1", "y", "2", &a);
        identify("y", "2", "x", "1", &b);
        identify("y", "1", "x", "2", &c);
        assert_string_equal(a.text, b.text);
        assert_string_not_equal(a.text, c.text);
}

static void a_value_that_contains_another_setting_is_distinguished(void **state) {
        scoped(buffer_deinit) Buffer a = {}, b = {};

        (void)state;
        identify("x", "1\"\ny: \"2", NULL, NULL, &a);
        identify("x", "1", "y", "2", &b);
        assert_string_not_equal(a.text, b.text);
}

static void nested_settings_identify_nothing(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        const Member member = { .key = "x", .value = { .type = VALUE_LIST } };
        const Value settings = { .type = VALUE_OBJECT, .members = &member, .n_members = 1 };

        (void)state;
        assert_int_equal(sweep_text_identify(&settings, &out), SWEEP_TEXT_OTHER);
        assert_int_equal(sweep_text_identify(&(Value){ .type = VALUE_NULL }, &out), SWEEP_TEXT_OTHER);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_value_round_trips),
                cmocka_unit_test(identity_knows_no_order_and_no_types),
                cmocka_unit_test(a_value_that_contains_another_setting_is_distinguished),
                cmocka_unit_test(nested_settings_identify_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
