/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/scoped.h"
#include "value/value.h"

static const Member members[] = {
        { "text", { .type = VALUE_STRING, .string = "x" } },
        { "int", { .type = VALUE_INT, .integer = INT64_MAX } },
        { "float", { .type = VALUE_DOUBLE, .number = 2.5 } },
        { "whole", { .type = VALUE_DOUBLE, .number = -3.0 } },
        { "huge", { .type = VALUE_DOUBLE, .number = 0x1p63 } },
        { "flag", { .type = VALUE_BOOL, .boolean = true } },
        { "none", { .type = VALUE_NULL } },
};
static const Value object = { .type = VALUE_OBJECT, .members = members, .n_members = N_ELEMENTS(members) };

static void a_member_is_found_by_its_key(void **state) {
        (void)state;
        assert_ptr_equal(value_get(&object, "float"), &members[2].value);
        assert_null(value_get(&object, "floa"));
        assert_null(value_get(NULL, "float"));
        assert_null(value_get(&members[0].value, "float"));
}

static void a_string_is_only_a_string(void **state) {
        (void)state;
        assert_string_equal(value_get_string(&object, "text"), "x");
        assert_null(value_get_string(&object, "int"));
        assert_null(value_get_string(&object, "none"));
        assert_null(value_get_string(&object, "absent"));
}

static void an_integer_is_a_number_too(void **state) {
        double v = 0;

        (void)state;
        assert_true(value_get_double(&object, "float", &v));
        assert_true(v == 2.5);
        assert_true(value_get_double(&object, "int", &v));
        assert_true(v == 0x1p63);
        assert_false(value_get_double(&object, "flag", &v));
        assert_false(value_get_double(&object, "text", &v));
}

static void a_whole_float_is_an_integer_if_it_fits(void **state) {
        int64_t v = 0;

        (void)state;
        assert_true(value_get_int(&object, "int", &v));
        assert_true(v == INT64_MAX);
        assert_true(value_get_int(&object, "whole", &v));
        assert_true(v == -3);
        assert_false(value_get_int(&object, "float", &v));
        assert_false(value_get_int(&object, "huge", &v));
        assert_false(value_get_int(&object, "flag", &v));
}

#define INT(n) { .type = VALUE_INT, .integer = n }
#define UINT(n) { .type = VALUE_UINT, .natural = n }
#define DOUBLE(n) { .type = VALUE_DOUBLE, .number = n }
#define STRING(text) { .type = VALUE_STRING, .string = text }

/* Compares all pairs: later values are greater, and values on the same line are equal. */
static void scalars_have_one_order_whatever_their_type(void **state) {
        static const Value ordered[][2] = {
                { { .type = VALUE_BOOL }, { .type = VALUE_BOOL } },
                { { .type = VALUE_BOOL, .boolean = true }, { .type = VALUE_BOOL, .boolean = true } },
                { DOUBLE(-0x1p64), DOUBLE(-0x1p64) },
                { INT(INT64_MIN), DOUBLE(-0x1p63) },
                { DOUBLE(-2.5), DOUBLE(-2.5) },
                { INT(-2), DOUBLE(-2.0) },
                { DOUBLE(-0.5), DOUBLE(-0.5) },
                { INT(0), DOUBLE(-0.0) },
                { DOUBLE(5e-324), DOUBLE(5e-324) },
                { INT(2), DOUBLE(2.0) },
                { DOUBLE(2.5), DOUBLE(2.5) },
                { INT((INT64_C(1) << 53)), DOUBLE(0x1p53) },
                { INT((INT64_C(1) << 53) + 1), INT((INT64_C(1) << 53) + 1) }, /* not representable as a double */
                { INT(INT64_MAX), INT(INT64_MAX) },
                { UINT(UINT64_C(1) << 63), DOUBLE(0x1p63) },
                { UINT((UINT64_C(1) << 63) + 1), UINT((UINT64_C(1) << 63) + 1) },
                { UINT(UINT64_MAX), UINT(UINT64_MAX) },
                { DOUBLE(0x1p64), DOUBLE(0x1p64) },
                { STRING(""), STRING("") },
                { STRING("1"), STRING("1") },
                { STRING("\xc3\x9c"), STRING("\xc3\x9c") },
        };

        (void)state;
        for (size_t i = 0; i < 2 * N_ELEMENTS(ordered); i++)
                for (size_t k = 0; k < 2 * N_ELEMENTS(ordered); k++)
                        assert_int_equal(value_compare(&ordered[i / 2][i % 2], &ordered[k / 2][k % 2]),
                                         (i / 2 > k / 2) - (i / 2 < k / 2));
        assert_true(value_is_scalar(&ordered[0][0]));
        assert_false(value_is_scalar(&object));
        assert_false(value_is_scalar(&(Value){ .type = VALUE_NULL }));
}

#define N_MANY 10000U

static void a_duplicate_in_a_long_list_is_found_with_its_position(void **state) {
        static Value items[N_MANY];
        static const Value *room[N_MANY];
        const Value list = { .type = VALUE_LIST, .items = items, .n_items = N_MANY };
        size_t first, again;

        (void)state;
        for (size_t i = 0; i < N_MANY; i++)
                items[i] = (Value){ .type = VALUE_INT, .integer = (int64_t)(i * 7919 % N_MANY) };
        assert_false(value_find_twice(&list, room, &first, &again));

        items[9999] = (Value)DOUBLE((double)items[17].integer);
        assert_true(value_find_twice(&list, room, &first, &again));
        assert_int_equal(first, 17);
        assert_int_equal(again, 9999);

        items[9000] = items[8000] = items[4000]; /* must be reported first */
        assert_true(value_find_twice(&list, room, &first, &again));
        assert_int_equal(first, 4000);
        assert_int_equal(again, 8000);
        assert_false(value_find_twice(&(Value){ .type = VALUE_LIST }, room, &first, &again));
}

static void json_keeps_types_and_order(void **state) {
        const Value items[] = { { .type = VALUE_BOOL }, { .type = VALUE_LIST }, object };
        const Value list = { .type = VALUE_LIST, .items = items, .n_items = N_ELEMENTS(items) };
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        (void)state;
        value_write_json(&list, &json);
        assert_string_equal(out.text,
                            "[false,[],{\"text\":\"x\",\"int\":9223372036854775807,\"float\":2.5,\"whole\":-3.0,"
                            "\"huge\":9.223372036854776e+18,\"flag\":true,\"none\":null}]");
}

static void equal_values_have_one_value_or_one_text(void **state) {
        const Value one = { .type = VALUE_INT, .integer = 1 }, also = { .type = VALUE_DOUBLE, .number = 1 };
        const Value list = { .type = VALUE_LIST, .items = &one, .n_items = 1 }, none = {};
        const Value other = { .type = VALUE_LIST, .items = &members[2].value, .n_items = 1 };

        (void)state;
        assert_true(value_equals(&one, &also));
        assert_true(value_equals(&list, &(Value){ .type = VALUE_LIST, .items = &one, .n_items = 1 }));
        assert_true(value_equals(&object, &object));
        assert_true(value_equals(NULL, NULL));
        assert_false(value_equals(&one, NULL));
        assert_false(value_equals(&one, &none));
        assert_false(value_equals(&one, &members[0].value));
        assert_false(value_equals(&list, &other));
}

static void every_type_has_words(void **state) {
        static const char *const texts[] = {
                "null", "a boolean", "an integer", "an integer", "a number", "a string", "a list", "an object",
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                assert_string_equal(value_type_text(&(Value){ .type = (ValueType)i }), texts[i]);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_member_is_found_by_its_key),
                cmocka_unit_test(a_string_is_only_a_string),
                cmocka_unit_test(an_integer_is_a_number_too),
                cmocka_unit_test(a_whole_float_is_an_integer_if_it_fits),
                cmocka_unit_test(scalars_have_one_order_whatever_their_type),
                cmocka_unit_test(a_duplicate_in_a_long_list_is_found_with_its_position),
                cmocka_unit_test(json_keeps_types_and_order),
                cmocka_unit_test(equal_values_have_one_value_or_one_text),
                cmocka_unit_test(every_type_has_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
