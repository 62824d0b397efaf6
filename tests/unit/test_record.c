/* SPDX-License-Identifier: Apache-2.0 */
/* A struct with every type of field: written, parsed, and rejected if a value does not match its field. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/record.h"
#include "util/parse.h"

typedef struct Inner {
        uint64_t v;
        char *note;
} Inner;

typedef struct Outer {
        bool flag;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        double d;
        char text[8];
        char *string;
        uint8_t colour;
        uint32_t bits;
        uint64_t counts[3];
        Inner inner;
        bool has_option;
        Inner option;
        size_t n_items;
        Inner *items;
} Outer;

static const char *const names[] = { "red", "green", "blue" };

static const Record inner_record = RECORD(Inner,
        RECORD_VALUE(Inner, v),
        RECORD_VALUE(Inner, note));

static const Record outer_record = RECORD(Outer,
        RECORD_VALUE(Outer, flag),
        RECORD_VALUE(Outer, u32),
        RECORD_VALUE(Outer, i32),
        RECORD_VALUE(Outer, u64),
        RECORD_VALUE(Outer, i64),
        RECORD_VALUE(Outer, d),
        RECORD_TEXT_OF(Outer, text),
        RECORD_VALUE(Outer, string),
        RECORD_NAME_OF(Outer, colour, 3, names),
        RECORD_BITS_OF(Outer, bits, 3, names),
        RECORD_COUNTS_OF(Outer, counts, names),
        RECORD_STRUCT(Outer, inner, &inner_record),
        RECORD_OPTIONAL(Outer, option, has_option, &inner_record),
        RECORD_LIST_OF(Outer, items, n_items, 3, &inner_record));

static void outer_deinit(Outer *outer) {
        record_deinit(&outer_record, outer);
}

static void every_type_round_trips(void **state) {
        static const char all_bytes[] = "\"\\\n\t\x01\x7f\xc3\xa9\xff{}[],:";
        Inner items[] = { { 1, NULL }, { 2, (char *)all_bytes }, { 0, (char *)"" } };
        Outer outer = {
                .flag = true, .u32 = UINT32_MAX, .i32 = INT32_MIN, .u64 = UINT64_MAX, .i64 = INT64_MIN, .d = -1.0 / 3,
                .text = "seven77", .string = (char *)all_bytes, .colour = 2, .bits = 5, .counts = { 7, 0, UINT64_MAX },
                .inner = { 3, NULL }, .has_option = true, .option = { 4, (char *)"x" }, .n_items = 3, .items = items,
        };
        scoped(outer_deinit) Outer back = {};
        scoped(freep) char *text = NULL, *again = NULL;

        (void)state;
        assert_int_equal(record_format(&outer_record, &outer, &text), 0);
        assert_int_equal(record_parse(&outer_record, text, &back), 0);
        assert_true(back.flag && back.u32 == UINT32_MAX && back.i32 == INT32_MIN && back.u64 == UINT64_MAX &&
                    back.i64 == INT64_MIN);
        assert_true(back.d == -1.0 / 3);
        assert_string_equal(back.text, "seven77");
        assert_string_equal(back.string, all_bytes);
        assert_int_equal(back.colour, 2);
        assert_int_equal(back.bits, 5);
        assert_memory_equal(back.counts, outer.counts, sizeof(back.counts));
        assert_int_equal(back.inner.v, 3);
        assert_true(back.has_option && back.option.v == 4);
        assert_int_equal(back.n_items, 3);
        assert_null(back.items[0].note);
        assert_string_equal(back.items[1].note, all_bytes);
        assert_string_equal(back.items[2].note, "");
        assert_int_equal(record_format(&outer_record, &back, &again), 0);
        assert_string_equal(text, again);
}

static void zero_and_empty_members_are_omitted(void **state) {
        scoped(freep) char *text = NULL;
        Outer outer = { .option = { .v = 5 } }, back;

        (void)state;
        assert_int_equal(record_format(&outer_record, &outer, &text), 0);
        assert_string_equal(text, "{\"colour\":\"red\",\"counts\":{},\"inner\":{}}");
        assert_int_equal(record_parse(&outer_record, "{}", &back), 0);
        assert_false(back.has_option);
        assert_int_equal(back.option.v, 0);
        assert_null(back.items);
}

static void unknown_members_of_any_type_are_skipped(void **state) {
        scoped(outer_deinit) Outer back = {};

        (void)state;
        assert_int_equal(record_parse(&outer_record,
                                      "{\"later\":[{\"}\":\"\\\"\"},null],\"u32\":7,\"bits\":[\"violet\",\"blue\"],"
                                      "\"counts\":{\"violet\":\"x\",\"green\":3},"
                                      "\"items\":[{\"later\":1e400}]}",
                                      &back),
                         0);
        assert_int_equal(back.u32, 7);
        assert_int_equal(back.bits, 4);
        assert_int_equal(back.counts[1], 3);
        assert_int_equal(back.n_items, 1);
}

static void a_mismatching_value_is_refused_and_nothing_is_written(void **state) {
        static const char *const texts[] = {
                "",
                " ",
                "x",
                "[]",
                "{",
                "{\"u32\"",
                "{\"u32\":1",
                "{\"u32\":1}}",
                "{\"flag\":1}",
                "{\"flag\":\"true\"}",
                "{\"u32\":4294967296}",
                "{\"u32\":-1}",
                "{\"u32\":1.0}",
                "{\"u32\":\"1\"}",
                "{\"u32\":}",
                "{\"i32\":2147483648}",
                "{\"u64\":18446744073709551616}",
                "{\"u64\":+1}",
                "{\"i64\":9223372036854775808}",
                "{\"d\":1e999}",
                "{\"d\":nan}",
                "{\"text\":\"eight888\"}",
                "{\"text\":7}",
                "{\"text\":\"\\u0000\"}",
                "{\"string\":null}",
                "{\"colour\":\"violet\"}",
                "{\"colour\":1}",
                "{\"bits\":{}}",
                "{\"bits\":[\"red\"",
                "{\"counts\":[1]}",
                "{\"counts\":{\"red\":-1}}",
                "{\"inner\":[]}",
                "{\"inner\":{\"v\":true}}",
                "{\"option\":null}",
                "{\"items\":{}}",
                "{\"items\":[1]}",
                "{\"items\":[{},{\"note\":\"x\"},{},{}]}",
                "{\"string\":\"kept\",\"items\":[{\"note\":\"x\"},{\"v\":\"\"}]}",
        };
        Outer outer, before;

        (void)state;
        memset(&outer, 0x5a, sizeof(outer));
        before = outer;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                assert_int_equal(record_parse(&outer_record, texts[i], &outer), PARSE_MALFORMED);
                assert_memory_equal(&outer, &before, sizeof(outer));
        }
}

static void a_duplicate_member_leaks_nothing(void **state) {
        scoped(outer_deinit) Outer back = {};

        (void)state;
        assert_int_equal(record_parse(&outer_record, "{\"string\":\"a\",\"string\":\"b\",\"items\":[{}],"
                                                     "\"items\":[{\"note\":\"c\"}]}", &back), 0);
        assert_string_equal(back.string, "b");
        assert_int_equal(back.n_items, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_type_round_trips),
                cmocka_unit_test(zero_and_empty_members_are_omitted),
                cmocka_unit_test(unknown_members_of_any_type_are_skipped),
                cmocka_unit_test(a_mismatching_value_is_refused_and_nothing_is_written),
                cmocka_unit_test(a_duplicate_member_leaks_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
