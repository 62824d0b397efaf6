/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/openmetrics.h"
#include "util/scoped.h"

static void a_name_has_letters_digits_and_underscores(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        openmetrics_put_name(&out, "p99 latency/ms");
        assert_string_equal(out.text, "p99_latency_ms");
        buffer_clear(&out);
        openmetrics_put_name(&out, "99th_ä");
        assert_string_equal(out.text, "_99th___");
        buffer_clear(&out);
        openmetrics_put_prefix(&out, "PiConv2D.x");
        assert_string_equal(out.text, "pi_conv2d_x_");
}

static void quotes_backslashes_and_newlines_are_escaped(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        openmetrics_put_escaped(&out, "a \"b\"\\\nc ä");
        assert_string_equal(out.text, "a \\\"b\\\"\\\\\\nc ä");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_has_letters_digits_and_underscores),
                cmocka_unit_test(quotes_backslashes_and_newlines_are_escaped),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
