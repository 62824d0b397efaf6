#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/value.h"
#include "util/scoped.h"

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

static void json_keeps_types_and_order(void **state) {
        const Value items[] = { { .type = VALUE_BOOL }, { .type = VALUE_LIST }, object };
        const Value list = { .type = VALUE_LIST, .items = items, .n_items = N_ELEMENTS(items) };
        scoped(buffer_deinit) Buffer out = {};
        Json json;

        (void)state;
        json_init(&json, &out);
        value_write_json(&list, &json);
        assert_string_equal(out.text, "[false,[],{\"text\":\"x\",\"int\":9223372036854775807,\"float\":2.5,\"whole\":-3.0,"
                                      "\"huge\":9.223372036854776e+18,\"flag\":true,\"none\":null}]");
}

static void every_type_has_words(void **state) {
        static const char *const texts[] = { "null", "a boolean", "an integer", "a number", "a string", "a list", "an object" };

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
                cmocka_unit_test(json_keeps_types_and_order),
                cmocka_unit_test(every_type_has_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
