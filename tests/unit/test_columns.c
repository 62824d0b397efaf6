/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "util/columns.h"

static const int64_t extremes[] = {
        0,         1,         -1,        63,        64,        -64, -65,       127, 128,
        INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX, 0,   INT64_MIN, -1,  INT64_MAX - 1,
};
#define N_EXTREMES (sizeof(extremes) / sizeof(extremes[0]))

static Buffer written(const int64_t *values, size_t n) {
        Buffer bytes = {};
        ColumnWriter writer = { .out = &bytes };

        for (size_t i = 0; i < n; i++)
                column_writer_put(&writer, values[i]);
        assert_int_equal(buffer_error(&bytes), 0);
        return bytes;
}

/* Bytes at the end of an allocation, where AddressSanitizer and valgrind notice a read behind them. */
static uint8_t *copy_of(const void *bytes, size_t n) {
        uint8_t *copy = malloc(n > 0 ? n : 1);

        assert_non_null(copy);
        if (n > 0)
                memcpy(copy, bytes, n);
        return copy;
}

static void every_number_is_restored_exactly(void **state) {
        scoped(buffer_deinit) Buffer bytes = written(extremes, N_EXTREMES);
        ColumnReader reader;

        (void)state;
        column_reader_init(&reader, bytes.text, bytes.n);
        for (size_t i = 0; i < N_EXTREMES; i++)
                assert_true(column_reader_get(&reader) == extremes[i]);
        assert_false(reader.has_failed);
        assert_ptr_equal(reader.p, reader.end);
}

static void random_columns_are_restored_exactly(void **state) {
        scoped(buffer_deinit) Buffer bytes = {};
        ColumnWriter writer = { .out = &bytes };
        int64_t values[3][1000];
        uint64_t seed = 1;
        ColumnReader reader;

        (void)state;
        for (size_t column = 0; column < 3; column++) {
                column_writer_begin(&writer);
                for (size_t i = 0; i < 1000; i++) {
                        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                        values[column][i] = (int64_t)seed >> (seed >> 58);
                        column_writer_put(&writer, values[column][i]);
                }
        }
        column_reader_init(&reader, bytes.text, bytes.n);
        for (size_t column = 0; column < 3; column++) {
                column_reader_begin(&reader);
                for (size_t i = 0; i < 1000; i++)
                        assert_true(column_reader_get(&reader) == values[column][i]);
        }
        assert_false(reader.has_failed);
        assert_ptr_equal(reader.p, reader.end);
}

static void neighbours_that_are_similar_take_a_byte_each(void **state) {
        static const int64_t values[] = { 0, 63, 0, 0, 40, 40, 41 }, far[] = { 0, 64 };
        scoped(buffer_deinit) Buffer near_bytes = written(values, 7), far_bytes = written(far, 2);
        static const uint8_t expected[] = { 0, 126, 125, 0, 80, 0, 2 };

        (void)state;
        assert_int_equal(near_bytes.n, 7);
        assert_memory_equal(near_bytes.text, expected, 7);
        assert_int_equal(far_bytes.n, 3);
}

static void bytes_that_end_too_early_are_refused(void **state) {
        scoped(buffer_deinit) Buffer bytes = written(extremes, N_EXTREMES);

        (void)state;
        for (size_t n = 0; n < bytes.n; n++) {
                scoped(freep) uint8_t *copy = copy_of(bytes.text, n);
                ColumnReader reader;

                column_reader_init(&reader, copy, n);
                for (size_t i = 0; i < N_EXTREMES; i++)
                        (void)column_reader_get(&reader);
                assert_true(reader.has_failed);
                assert_true(reader.p <= reader.end);
                assert_true(column_reader_get(&reader) == 0);
        }
}

static void a_number_of_more_than_64_bits_is_refused(void **state) {
        static const uint8_t numbers[][11] = {
                { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 },
                { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x00 },
                { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
        };
        static const uint8_t lowest[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
        ColumnReader reader;

        (void)state;
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
                column_reader_init(&reader, numbers[i], sizeof(numbers[i]));
                assert_true(column_reader_get(&reader) == 0);
                assert_true(reader.has_failed);
        }
        column_reader_init(&reader, lowest, sizeof(lowest));
        assert_true(column_reader_get(&reader) == INT64_MIN);
        assert_false(reader.has_failed);
}

static void no_bytes_have_no_number(void **state) {
        ColumnReader reader;

        (void)state;
        column_reader_init(&reader, NULL, 0);
        assert_false(reader.has_failed);
        assert_true(column_reader_get(&reader) == 0);
        assert_true(reader.has_failed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_number_is_restored_exactly),
                cmocka_unit_test(random_columns_are_restored_exactly),
                cmocka_unit_test(neighbours_that_are_similar_take_a_byte_each),
                cmocka_unit_test(bytes_that_end_too_early_are_refused),
                cmocka_unit_test(a_number_of_more_than_64_bits_is_refused),
                cmocka_unit_test(no_bytes_have_no_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
