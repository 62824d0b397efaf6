/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frame.h"
#include "util/scoped.h"

#define N_MAX 1000000U

static void a_frame_is_its_body_without_the_length(void **state) {
        static const uint8_t bytes[] = { 3, 'a', 'b', 'c', 'x' };
        Frame frame;
        size_t n_needed;

        (void)state;
        assert_int_equal(frame_read(bytes, sizeof(bytes), N_MAX, &frame, &n_needed), 0);
        assert_ptr_equal(frame.data, bytes + 1);
        assert_int_equal(frame.n, 3);
        assert_int_equal(frame.n_consumed, 4);
        assert_int_equal(n_needed, 4);
}

static void a_frame_may_be_empty(void **state) {
        Frame frame;

        (void)state;
        assert_int_equal(frame_read((const uint8_t[]){ 0 }, 1, N_MAX, &frame, NULL), 0);
        assert_int_equal(frame.n, 0);
        assert_int_equal(frame.n_consumed, 1);
}

static void a_frame_that_arrives_byte_by_byte_is_pending_until_the_last(void **state) {
        uint8_t bytes[FRAME_HEADER_MAX + 300] = { 0 };
        size_t n_header = frame_write_header(bytes, 300), n_needed;
        Frame frame;

        (void)state;
        assert_int_equal(n_header, 2);
        for (size_t n = 0; n < n_header + 300; n++) {
                assert_int_equal(frame_read(bytes, n, N_MAX, &frame, &n_needed), FRAME_PENDING);
                assert_int_equal(n_needed, n < n_header ? 0 : n_header + 300);
        }
        assert_int_equal(frame_read(bytes, n_header + 300, N_MAX, &frame, &n_needed), 0);
        assert_int_equal(frame.n, 300);
}

static void every_length_reads_back_as_written(void **state) {
        static const uint32_t lengths[] = { 0,       1,       127,       128,       16383,     16384,
                                            2097151, 2097152, 268435455, 268435456, UINT32_MAX };
        static const size_t n_headers[] = { 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5 };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
                uint8_t header[FRAME_HEADER_MAX];
                size_t n_header = frame_write_header(header, lengths[i]), n_needed;
                Frame frame;

                assert_int_equal(n_header, n_headers[i]);
                assert_int_equal(frame_read(header, n_header, UINT32_MAX, &frame, &n_needed),
                                 lengths[i] == 0 ? 0 : FRAME_PENDING);
                assert_int_equal(n_needed, n_header + lengths[i]);
        }
}

static void a_length_over_the_limit_is_refused_before_the_body_comes(void **state) {
        uint8_t header[FRAME_HEADER_MAX];
        size_t n_header = frame_write_header(header, N_MAX + 1);
        Frame frame;

        (void)state;
        assert_int_equal(frame_read(header, n_header, N_MAX, &frame, NULL), FRAME_TOO_LARGE);
        n_header = frame_write_header(header, N_MAX);
        assert_int_equal(frame_read(header, n_header, N_MAX, &frame, NULL), FRAME_PENDING);
}

static void a_length_of_more_than_32_bits_is_malformed(void **state) {
        static const uint8_t too_big[] = { 0x80, 0x80, 0x80, 0x80, 0x10 };
        static const uint8_t too_long[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x00 };
        Frame frame;

        (void)state;
        assert_int_equal(frame_read(too_big, sizeof(too_big), N_MAX, &frame, NULL), FRAME_MALFORMED);
        assert_int_equal(frame_read(too_long, sizeof(too_long), N_MAX, &frame, NULL), FRAME_MALFORMED);
        assert_int_equal(frame_read(too_long, 5, N_MAX, &frame, NULL), FRAME_MALFORMED);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_frame_is_its_body_without_the_length),
                cmocka_unit_test(a_frame_may_be_empty),
                cmocka_unit_test(a_frame_that_arrives_byte_by_byte_is_pending_until_the_last),
                cmocka_unit_test(every_length_reads_back_as_written),
                cmocka_unit_test(a_length_over_the_limit_is_refused_before_the_body_comes),
                cmocka_unit_test(a_length_of_more_than_32_bits_is_malformed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
