/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "document/display.h"
#include "util/scoped.h"

#define NUMBER(n) { .type = VALUE_DOUBLE, .number = (n) }

static void assert_shown(const Display *display, const char *unit, Value value, const char *text) {
        scoped(buffer_deinit) Buffer out = {};

        display_put(display, unit, &value, &out);
        assert_int_equal(buffer_error(&out), 0);
        assert_string_equal(out.text, text);
}

/* What format_kpi_value() of MatrixBenchmarking prints, except for "None" where no divisor_unit is declared. */
static void values_are_shown_as_in_reports_of_matrixbenchmarking(void **state) {
        static const Value memory[] = { NUMBER(1024), NUMBER(2048) }, times[] = { NUMBER(1.4), NUMBER(2.6) };
        static const Display none = {}, rate = { .format = "{:.2f}" },
                             size = { .format = "{:.2f}", .divisor = 1024, .divisor_unit = "GB" };

        (void)state;
        assert_shown(&none, "tokens/s", (Value)NUMBER(1234.56), "1235 tokens/s");
        assert_shown(&rate, "tokens/s", (Value)NUMBER(1234.56), "1234.56 tokens/s");
        assert_shown(&size, "MB", (Value)NUMBER(20480), "20.00 GB");
        assert_shown(&size, "MB", (Value){ .type = VALUE_LIST, .items = memory, .n_items = 2 }, "1.00, 2.00 GB");
        assert_shown(&none, "List[ms]", (Value){ .type = VALUE_LIST, .items = times, .n_items = 2 }, "1, 3 List[ms]");
        assert_shown(&none, "s", (Value){ .type = VALUE_NULL }, "--- s");
        assert_shown(&none, "s", (Value)NUMBER(0.5), "0 s");
        assert_shown(&none, "s", (Value)NUMBER(1.5), "2 s");
        assert_shown(&none, "s", (Value)NUMBER(2.5), "2 s");
}

static void other_values_are_shown_as_json(void **state) {
        static const Display display = { .format = "{:.3g}" };

        (void)state;
        assert_shown(&display, NULL, (Value){ .type = VALUE_STRING, .string = "a\"b" }, "\"a\\\"b\"");
        assert_shown(&display, NULL, (Value){ .type = VALUE_INT, .integer = -1 }, "-1");
        assert_shown(&display, NULL, (Value){ .type = VALUE_INT, .integer = 123456 }, "1.23e+05");
}

static void other_formats_are_refused(void **state) {
        static const char *const valid[] = { "{:.2f}", "{:f}", "{:.0e}", "{:.17g}" };
        static const char *const invalid[] = { "",         "{}",      "{:d}", "{:.f}",        "{:.18f}",
                                               "{:.002f}", "{:.2f} ", "%s",   "{:.2f}{:.2f}", "{:.2" };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(valid); i++)
                assert_true(display_format_is_valid(valid[i]));
        for (size_t i = 0; i < N_ELEMENTS(invalid); i++)
                assert_false(display_format_is_valid(invalid[i]));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_are_shown_as_in_reports_of_matrixbenchmarking),
                cmocka_unit_test(other_values_are_shown_as_json),
                cmocka_unit_test(other_formats_are_refused),
        };

        return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
