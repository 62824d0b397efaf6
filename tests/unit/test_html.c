/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/pages/html.h"

#define NBSP "\xc2\xa0"

static void text_stays_text_whatever_is_in_it(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        html_text(&out, "<b a='1' b=\"2\">&amp;</b>\n\xc3\xbc\xff\xc3");
        assert_string_equal(
                out.text,
                "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;\n\xc3\xbc\xef\xbf\xbd\xef\xbf\xbd");
        buffer_clear(&out);
        html_text(&out, "a\tb\x1b[2J\x7f\xc2\x85\xe2\x80\xae");
        assert_string_equal(out.text, "a\tb\\x1b[2J\\x7f\\u{0085}\\u{202e}");
        buffer_clear(&out);
        html_text(&out, "");
        assert_int_equal(out.n, 0);
}

static void check(void (*put)(Buffer *, double), double value, const char *text) {
        scoped(buffer_deinit) Buffer out = {};

        put(&out, value);
        assert_string_equal(out.text, text);
}

static void bytes_have_the_unit_that_suits_them(void **state) {
        (void)state;
        check(html_bytes, 0, "0" NBSP "B");
        check(html_bytes, 1023, "1.00" NBSP "KiB");
        check(html_bytes, 1536, "1.50" NBSP "KiB");
        check(html_bytes, 64.0 * (1 << 30), "64.0" NBSP "GiB");
        check(html_bytes, 1e30, "888178419700125" NBSP "PiB");
}

static void seconds_grow_into_minutes_hours_and_days(void **state) {
        (void)state;
        check(html_seconds, 0.05, "50" NBSP "ms");
        check(html_seconds, 12.34, "12.3" NBSP "s");
        check(html_seconds, 245, "4" NBSP "min" NBSP "05" NBSP "s");
        check(html_seconds, 3599.9, "59" NBSP "min" NBSP "59" NBSP "s");
        check(html_seconds, 3600, "1" NBSP "h" NBSP "00" NBSP "min");
        check(html_seconds, 90061, "1" NBSP "d" NBSP "01" NBSP "h");
}

static void shares_and_counts_are_short(void **state) {
        (void)state;
        check(html_percent, 0.613, "61.3" NBSP "%");
        check(html_count, 32, "32");
        check(html_count, 3.14, "3.1");
        check(html_count, 2.98, "3");
}

static void times_are_utc(void **state) {
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        html_time(&out, UINT64_C(1763676000123456789));
        assert_string_equal(out.text, "2025-11-20 22:00:00" NBSP "UTC");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_stays_text_whatever_is_in_it),
                cmocka_unit_test(bytes_have_the_unit_that_suits_them),
                cmocka_unit_test(seconds_grow_into_minutes_hours_and_days),
                cmocka_unit_test(shares_and_counts_are_short),
                cmocka_unit_test(times_are_utc),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
