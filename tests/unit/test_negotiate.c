/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "http/format/negotiate.h"

static void prometheus_gets_openmetrics(void **state) {
        (void)state;
        assert_true(negotiate_openmetrics("application/openmetrics-text;version=1.0.0;q=0.5,"
                                          "application/openmetrics-text;version=0.0.1;q=0.4,"
                                          "text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"));
        assert_true(negotiate_openmetrics(
                "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8; q=0.6, text/plain;q=0.5"));
}

static void openmetrics_must_be_named(void **state) {
        (void)state;
        assert_false(negotiate_openmetrics(NULL));
        assert_false(negotiate_openmetrics(""));
        assert_false(negotiate_openmetrics("*/*"));
        assert_false(negotiate_openmetrics("application/*"));
        assert_false(negotiate_openmetrics("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert_true(negotiate_openmetrics("application/openmetrics-text"));
        assert_true(negotiate_openmetrics("Application/OpenMetrics-Text; Version=0.0.1"));
        assert_true(negotiate_openmetrics("application/openmetrics-text; version=\"1.0.0\"") == false);
}

static void a_version_we_do_not_write_is_not_offered(void **state) {
        (void)state;
        assert_false(negotiate_openmetrics("application/openmetrics-text;version=2.0.0"));
        assert_true(negotiate_openmetrics(
                "application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0;q=0.1"));
}

static void the_better_liked_form_wins(void **state) {
        (void)state;
        assert_false(negotiate_openmetrics("application/openmetrics-text;q=0.3,text/plain;q=0.7"));
        assert_true(negotiate_openmetrics("text/plain;q=0.3,application/openmetrics-text;q=0.7"));
        assert_true(negotiate_openmetrics("text/plain,application/openmetrics-text"));
        assert_false(negotiate_openmetrics("application/openmetrics-text;q=0"));
        assert_false(negotiate_openmetrics("application/openmetrics-text;q=0.000, */*"));
}

static void malformed_qualities_count_as_refusal(void **state) {
        static const char *const qualities[] = { "2", "-1", "0,5", "abc", "", "1.5", "0.1234", "1x", ".5" };
        char accept[64];

        (void)state;
        for (size_t i = 0; i < sizeof(qualities) / sizeof(qualities[0]); i++) {
                (void)snprintf(accept, sizeof(accept), "application/openmetrics-text;q=%s", qualities[i]);
                assert_false(negotiate_openmetrics(accept));
        }
        assert_true(negotiate_openmetrics("application/openmetrics-text;q=1.000"));
        assert_false(negotiate_openmetrics(";;;,,,;q=;=,\";,"));
}

static void a_browser_names_html(void **state) {
        (void)state;
        assert_true(negotiate_html("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert_true(negotiate_html("application/json, Text/HTML;q=0.1"));
        assert_false(negotiate_html(NULL));
        assert_false(negotiate_html(""));
        assert_false(negotiate_html("*/*"));
        assert_false(negotiate_html("text/html;q=0"));
        assert_false(negotiate_html("text/html5, xtext/html"));
}

static void gzip_is_used_only_when_asked_for(void **state) {
        (void)state;
        assert_false(negotiate_gzip(NULL));
        assert_false(negotiate_gzip(""));
        assert_false(negotiate_gzip("identity"));
        assert_false(negotiate_gzip("br, deflate"));
        assert_false(negotiate_gzip("gzipped"));
        assert_true(negotiate_gzip("gzip"));
        assert_true(negotiate_gzip("deflate, GZIP;q=0.5, br"));
        assert_true(negotiate_gzip("x-gzip"));
        assert_true(negotiate_gzip("*"));
        assert_false(negotiate_gzip("gzip;q=0"));
        assert_false(negotiate_gzip("gzip;q=0, *"));
        assert_false(negotiate_gzip("*;q=0"));
        assert_true(negotiate_gzip("*;q=0, gzip"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(prometheus_gets_openmetrics),
                cmocka_unit_test(openmetrics_must_be_named),
                cmocka_unit_test(a_version_we_do_not_write_is_not_offered),
                cmocka_unit_test(the_better_liked_form_wins),
                cmocka_unit_test(malformed_qualities_count_as_refusal),
                cmocka_unit_test(a_browser_names_html),
                cmocka_unit_test(gzip_is_used_only_when_asked_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
