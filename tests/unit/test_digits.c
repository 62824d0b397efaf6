/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "series/digits.h"
#include "series/scale.h"
#include "util/parse.h"

static DigitReader reader_of(const Buffer *text) {
        return (DigitReader){ text->text, text->text + text->n };
}

static void every_number_reads_back_in_two_characters_at_most(void **state) {
        static const unsigned sizes[] = { 2, 89, 90, 91, 180, 1000, 7999, DIGITS_N_MAX };
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(sizes); i++)
                for (unsigned v = 0; v < sizes[i]; v++) {
                        DigitReader reader;
                        unsigned got;

                        buffer_clear(&text);
                        digits_put(&text, v, sizes[i]);
                        assert_in_range(text.n, 1, 2);
                        assert_true(sizes[i] > DIGITS_BASE || text.n == 1);
                        reader = reader_of(&text);
                        assert_int_equal(digits_get(&reader, sizes[i], &got), 0);
                        assert_int_equal(got, v);
                        assert_ptr_equal(reader.p, reader.end);
                }
}

static void numbers_of_either_sign_read_back(void **state) {
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (int v = -3999; v < 4000; v++) {
                DigitReader reader;
                int got;

                buffer_clear(&text);
                digits_put_signed(&text, v, 4000);
                reader = reader_of(&text);
                assert_int_equal(digits_get_signed(&reader, 4000, &got), 0);
                assert_int_equal(got, v);
        }
}

static void digits_are_printable_and_need_no_escapes(void **state) {
        scoped(buffer_deinit) Buffer text = {};

        (void)state;
        for (unsigned v = 0; v < DIGITS_BASE; v++)
                digit_put(&text, v);
        for (size_t i = 0; i < text.n; i++) {
                assert_true(isgraph((unsigned char)text.text[i]));
                assert_null(strchr("\"\\}~", text.text[i]));
                assert_ptr_equal(strchr(text.text, text.text[i]), text.text + i);
        }
}

static void an_invalid_number_is_refused(void **state) {
        static const char *const texts[] = { "", "}", "~", " ", "\n", "\"", "\x80", "|" };
        unsigned v;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                DigitReader reader = { texts[i], texts[i] + strlen(texts[i]) };

                assert_int_equal(digits_get(&reader, 4000, &v), PARSE_MALFORMED);
        }
        for (unsigned n = 2; n < 90; n++) {
                DigitReader reader = { "|", &"|"[1] }; /* 89 */

                assert_int_equal(digits_get(&reader, n, &v), PARSE_MALFORMED);
        }
}

static void a_step_is_within_half_a_step_of_its_value(void **state) {
        Scale linear, logarithmic;

        (void)state;
        scale_init(&linear, false, 0.25, 0.75, 1001);
        scale_init(&logarithmic, true, 0, 1e9, 1000);
        for (unsigned i = 0; i <= 100; i++) {
                double share = 0.25 + i * 0.005, rate = pow(10, i * 0.09);

                assert_true(fabs(scale_value(&linear, scale_step(&linear, share)) - share) <= 0.00025 + 1e-7);
                assert_true(fabs(scale_value(&logarithmic, scale_step(&logarithmic, rate)) / rate - 1) <= 0.0105 * (1 + 1 / rate));
        }
        assert_true(scale_value(&logarithmic, scale_step(&logarithmic, 0)) == 0);
        assert_int_equal(scale_step(&linear, 9), 1000);
        assert_int_equal(scale_step(&linear, -9), 0);
}

static void a_distance_in_one_digit_is_exact_when_small_and_near_when_not(void **state) {
        Scale scale;

        (void)state;
        scale_init(&scale, false, 0, 1, 1000);
        scale_fill_about(&scale);
        for (unsigned distance = 0; distance < 1000; distance++) {
                double got = scale.about[scale_about(&scale, distance)];

                assert_true(distance <= 50 ? got == distance : fabs(got - distance) <= 0.042 * distance);
        }
        assert_int_equal(scale.about[DIGITS_BASE - 1], 999);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_number_reads_back_in_two_characters_at_most),
                cmocka_unit_test(numbers_of_either_sign_read_back),
                cmocka_unit_test(digits_are_printable_and_need_no_escapes),
                cmocka_unit_test(an_invalid_number_is_refused),
                cmocka_unit_test(a_step_is_within_half_a_step_of_its_value),
                cmocka_unit_test(a_distance_in_one_digit_is_exact_when_small_and_near_when_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
