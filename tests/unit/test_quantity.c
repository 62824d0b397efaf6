/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cgroup/quantity.h"
#include "util/scoped.h"

static bool read_text(const char *text, double *ret) {
        return quantity_read(&(Value){ .type = VALUE_STRING, .string = text }, ret);
}

static bool read_bytes(const char *text, uint64_t *ret) {
        return quantity_read_bytes(&(Value){ .type = VALUE_STRING, .string = text }, ret);
}

static void assert_is(const char *text, double expected) {
        double v;

        if (!read_text(text, &v))
                fail_msg("'%s' was refused", text);
        if (v != expected)
                fail_msg("'%s' is %.17g, not %.17g", text, v, expected);
}

static void every_suffix_has_its_factor(void **state) {
        (void)state;
        assert_is("500m", 0.5);
        assert_is("100m", 0.1);
        assert_is("1u", 1e-6);
        assert_is("7n", 7e-9);
        assert_is("2", 2);
        assert_is("0", 0);
        assert_is("0.5", 0.5);
        assert_is("3k", 3000);
        assert_is("3K", 3000);
        assert_is("256M", 256e6);
        assert_is("4G", 4e9);
        assert_is("1T", 1e12);
        assert_is("1P", 1e15);
        assert_is("1E", 1e18);
        assert_is("1Ki", 1024);
        assert_is("256Mi", 268435456);
        assert_is("1.5Gi", 1610612736);
        assert_is("1Ti", 1099511627776);
        assert_is("1Pi", 1125899906842624);
        assert_is("1Ei", 1152921504606846976);
        assert_is("1e3", 1000);
        assert_is("1E3", 1000);
        assert_is("12e-1", 1.2);
}

static void an_invalid_quantity_is_refused(void **state) {
        static const char *const texts[] = {
                "",    "m",     "Gi", "-1", "+1",  "1 Gi", " 1",  "1gi",  "1kb",    "1KiB",
                "1mm", "1.2.3", ".",  "1e", "1e+", "inf",  "nan", "0x10", "1Gi;rm", "1\n"
        };
        double v = -7;

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                if (read_text(texts[i], &v))
                        fail_msg("'%s' was not refused", texts[i]);
        assert_false(read_text("1e999", &v));
        assert_true(v == -7);
}

static void bytes_are_whole_and_fit(void **state) {
        uint64_t v;

        (void)state;
        assert_true(read_bytes("4Gi", &v));
        assert_int_equal(v, UINT64_C(4) << 30);
        assert_true(read_bytes("7Ei", &v));
        assert_int_equal(v, UINT64_C(7) << 60);
        assert_true(read_bytes("1500m", &v)); /* rounds up, as Kubernetes does */
        assert_int_equal(v, 2);
        assert_false(read_bytes("8Ei", &v));
        assert_false(read_bytes("x", &v));
}

static void numbers_of_a_document_are_quantities(void **state) {
        uint64_t bytes;
        double v;

        (void)state;
        assert_true(quantity_read(&(Value){ .type = VALUE_INT, .integer = 2 }, &v));
        assert_true(v == 2);
        assert_true(quantity_read(&(Value){ .type = VALUE_DOUBLE, .number = 0.5 }, &v));
        assert_true(v == 0.5);
        assert_true(quantity_read_bytes(&(Value){ .type = VALUE_STRING, .string = "1Ki" }, &bytes));
        assert_int_equal(bytes, 1024);
        assert_false(quantity_read(&(Value){ .type = VALUE_INT, .integer = -1 }, &v));
        assert_false(quantity_read(&(Value){ .type = VALUE_BOOL }, &v));
        assert_false(quantity_read(&(Value){}, &v));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_suffix_has_its_factor),
                cmocka_unit_test(an_invalid_quantity_is_refused),
                cmocka_unit_test(bytes_are_whole_and_fit),
                cmocka_unit_test(numbers_of_a_document_are_quantities),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
