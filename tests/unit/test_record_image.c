/* SPDX-License-Identifier: Apache-2.0 */
/* A struct as an image: each field is restored, memory outside of the fields is not, and other bytes are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "json/record.h"

typedef struct Item {
        char name[5];
        uint8_t colour;
        bool is_scratch; /* not part of the record */
        uint64_t v;
} Item;

typedef struct Inner {
        size_t n_items, n_allocated; /* n_allocated is not part of the record */
        Item *items;
} Inner;

typedef struct Outer {
        bool flag;
        uint32_t u32, bits;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        double d;
        uint64_t counts[3];
        Inner first, second;
} Outer;

static const char *const names[] = { "red", "green", "blue" };

static const Record item_record = RECORD(Item,
        RECORD_TEXT_OF(Item, name),
        RECORD_NAME_OF(Item, colour, 3, names),
        RECORD_VALUE(Item, v));

static const Record inner_record = RECORD(Inner,
        RECORD_LIST_OF(Inner, items, n_items, 3, &item_record));

static const RecordField fields[] = {
        RECORD_VALUE(Outer, flag),
        RECORD_VALUE(Outer, u32),
        RECORD_BITS_OF(Outer, bits, 3, names),
        RECORD_VALUE(Outer, i32),
        RECORD_VALUE(Outer, u64),
        RECORD_VALUE(Outer, i64),
        RECORD_VALUE(Outer, d),
        RECORD_COUNTS_OF(Outer, counts, names),
        RECORD_STRUCT(Outer, first, &inner_record),
        RECORD_STRUCT(Outer, second, &inner_record),
};
static const Record record = RECORD_OF(Outer, fields);

static Item items[] = { { "one", 2, true, 1 }, { "four", 0, true, UINT64_MAX }, { "", 1, false, 0 } };

static const Outer outer = {
        true, 4000000000, 5, -1, UINT64_MAX, INT64_MIN, -0.1, { 0, 1, 2 }, { 3, 8, items }, { 1, 9, items + 1 },
};

static RecordImage image;

static Buffer image_of(const Outer *object) {
        Buffer bytes = {};

        record_image_init(&image, &record);
        record_image_put(&image, object, &bytes);
        assert_int_equal(buffer_error(&bytes), 0);
        return bytes;
}

static void each_field_is_restored_and_nothing_else(void **state) {
        Buffer bytes = image_of(&outer);
        Outer parsed;

        (void)state;
        assert_int_equal(record_image_parse(&image, bytes.text, bytes.n, &parsed), 0);
        assert_true(parsed.flag);
        assert_int_equal(parsed.u32, 4000000000);
        assert_int_equal(parsed.bits, 5);
        assert_int_equal(parsed.i32, -1);
        assert_true(parsed.u64 == UINT64_MAX && parsed.i64 == INT64_MIN && parsed.d == -0.1);
        assert_memory_equal(parsed.counts, outer.counts, sizeof(outer.counts));
        assert_int_equal(parsed.first.n_items, 3);
        assert_int_equal(parsed.second.n_items, 1);
        assert_int_equal(parsed.first.n_allocated + parsed.second.n_allocated, 0);
        for (size_t i = 0; i < 3; i++) {
                assert_string_equal(parsed.first.items[i].name, items[i].name);
                assert_int_equal(parsed.first.items[i].colour, items[i].colour);
                assert_true(parsed.first.items[i].v == items[i].v);
                assert_false(parsed.first.items[i].is_scratch);
        }
        assert_string_equal(parsed.second.items[0].name, "four");
        record_deinit(&record, &parsed);
        buffer_deinit(&bytes);
}

static void a_struct_without_items_is_restored(void **state) {
        const Outer empty = {};
        Buffer bytes = image_of(&empty);
        Outer parsed;

        (void)state;
        assert_int_equal(record_image_parse(&image, bytes.text, bytes.n, &parsed), 0);
        assert_memory_equal(&parsed, &empty, sizeof(empty));
        buffer_deinit(&bytes);
}

static void cut_and_longer_bytes_are_refused(void **state) {
        Buffer bytes = image_of(&outer);
        Outer parsed;

        (void)state;
        for (size_t n = 0; n < bytes.n; n++)
                assert_int_equal(record_image_parse(&image, bytes.text, n, &parsed), RECORD_IMAGE_MALFORMED);
        buffer_putc(&bytes, 'x');
        assert_int_equal(record_image_parse(&image, bytes.text, bytes.n, &parsed), RECORD_IMAGE_MALFORMED);
        buffer_deinit(&bytes);
}

/* Puts a struct with one byte changed, and returns the outcome. */
static int outcome_with(size_t offset, char c) {
        Buffer bytes = image_of(&outer);
        Outer parsed;
        int r;

        bytes.text[sizeof(image.fingerprint) + offset] = c;
        r = record_image_parse(&image, bytes.text, bytes.n, &parsed);
        if (r == 0)
                record_deinit(&record, &parsed);
        buffer_deinit(&bytes);
        return r;
}

static void values_out_of_range_are_refused(void **state) {
        size_t first_item = sizeof(Outer);

        (void)state;
        assert_int_equal(outcome_with(offsetof(Outer, flag), 0), 0);
        assert_int_equal(outcome_with(offsetof(Outer, flag), 2), RECORD_IMAGE_MALFORMED);
        assert_int_equal(outcome_with(offsetof(Outer, first.n_items), 4), RECORD_IMAGE_MALFORMED);
        assert_int_equal(outcome_with(offsetof(Outer, first.n_items) + 7, 1), RECORD_IMAGE_MALFORMED);
        assert_int_equal(outcome_with(first_item + offsetof(Item, colour), 1), 0);
        assert_int_equal(outcome_with(first_item + offsetof(Item, colour), 3), RECORD_IMAGE_MALFORMED);
        /* the second item is "four" with its NUL at the end */
        assert_int_equal(outcome_with(first_item + sizeof(Item) + offsetof(Item, name) + 4, 'x'),
                         RECORD_IMAGE_MALFORMED);
}

static void any_byte_may_be_damaged(void **state) {
        Buffer bytes = image_of(&outer);

        (void)state;
        for (size_t i = 0; i < bytes.n - sizeof(image.fingerprint); i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        int r = outcome_with(i, (char)(bytes.text[sizeof(image.fingerprint) + i] ^ (1 << bit)));

                        assert_true(r == 0 || r == RECORD_IMAGE_MALFORMED);
                }
        buffer_deinit(&bytes);
}

static void another_table_has_another_fingerprint(void **state) {
        static const char *const others[] = { "red", "green", "grey" };
        RecordField changed[N_ELEMENTS(fields)];
        Record other = { sizeof(Outer), changed, N_ELEMENTS(changed) };
        Buffer bytes = image_of(&outer);
        RecordImage of_other;
        Outer parsed;

        (void)state;
        for (size_t i = 0; i < 4; i++) {
                memcpy(changed, fields, sizeof(fields));
                if (i == 0)
                        changed[1].name = "u33";
                else if (i == 1)
                        changed[1].offset += 4;
                else if (i == 2)
                        changed[2].names = others;
                else
                        other.n_fields--;
                record_image_init(&of_other, &other);
                assert_int_equal(record_image_parse(&of_other, bytes.text, bytes.n, &parsed), RECORD_IMAGE_OTHER);
        }
        memcpy(changed, fields, sizeof(fields));
        other.n_fields = N_ELEMENTS(fields);
        record_image_init(&of_other, &other);
        assert_int_equal(record_image_parse(&of_other, bytes.text, bytes.n, &parsed), 0);
        record_deinit(&record, &parsed);
        buffer_deinit(&bytes);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_field_is_restored_and_nothing_else),
                cmocka_unit_test(a_struct_without_items_is_restored),
                cmocka_unit_test(cut_and_longer_bytes_are_refused),
                cmocka_unit_test(values_out_of_range_are_refused),
                cmocka_unit_test(any_byte_may_be_damaged),
                cmocka_unit_test(another_table_has_another_fingerprint),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
