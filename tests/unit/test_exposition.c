/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "http/format/exposition.h"

static void check(Exposition *exposition, const char *expected) {
        exposition_end(exposition);
        assert_int_equal(buffer_error(exposition->out), 0);
        assert_string_equal(exposition->out->text ?: "", expected);
}

static void put_families(Exposition *exposition) {
        exposition_family(exposition, "perfd_disk_read_bytes", FAMILY_COUNTER, "bytes", "Read");
        exposition_sample(exposition);
        exposition_label(exposition, "device", "sda");
        exposition_labels(exposition, "class=\"physical\"");
        exposition_u64(exposition, 512);
        exposition_family(exposition, "perfd_build", FAMILY_INFO, "", "Which");
        exposition_sample(exposition);
        exposition_label(exposition, "version", "1");
        exposition_u64(exposition, 1);
        exposition_single(exposition, "perfd_jobs", FAMILY_GAUGE, "Jobs", 3);
}

static void openmetrics_names_the_family_and_its_unit(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, true);
        put_families(&exposition);
        check(&exposition, "# TYPE perfd_disk_read_bytes counter\n"
                           "# UNIT perfd_disk_read_bytes bytes\n"
                           "# HELP perfd_disk_read_bytes Read\n"
                           "perfd_disk_read_bytes_total{device=\"sda\",class=\"physical\"} 512\n"
                           "# TYPE perfd_build info\n"
                           "# HELP perfd_build Which\n"
                           "perfd_build_info{version=\"1\"} 1\n"
                           "# TYPE perfd_jobs gauge\n"
                           "# HELP perfd_jobs Jobs\n"
                           "perfd_jobs 3\n"
                           "# EOF\n");
}

static void the_text_format_names_the_samples(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, false);
        put_families(&exposition);
        check(&exposition, "# TYPE perfd_disk_read_bytes_total counter\n"
                           "# HELP perfd_disk_read_bytes_total Read\n"
                           "perfd_disk_read_bytes_total{device=\"sda\",class=\"physical\"} 512\n"
                           "# TYPE perfd_build_info gauge\n"
                           "# HELP perfd_build_info Which\n"
                           "perfd_build_info{version=\"1\"} 1\n"
                           "# TYPE perfd_jobs gauge\n"
                           "# HELP perfd_jobs Jobs\n"
                           "perfd_jobs 3\n");
}

static void put_created(Exposition *exposition) {
        exposition_family(exposition, "perfd_reads", FAMILY_COUNTER, "", "Reads");
        exposition_created(exposition, 1763676000125);
        exposition_sample_u64(exposition, "job", "a\"b", 512);
        exposition_created(exposition, 0);
        exposition_sample_u64(exposition, "job", "b", 7);
        exposition_created(exposition, 1000);
        exposition_single(exposition, "perfd_ends", FAMILY_COUNTER, "Ends", 2);
        exposition_single(exposition, "perfd_jobs", FAMILY_GAUGE, "Jobs", 3);
}

static void counters_of_a_known_begin_have_it_in_openmetrics(void **state) {
        scoped(buffer_deinit) Buffer out = {}, text = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, true);
        put_created(&exposition);
        check(&exposition, "# TYPE perfd_reads counter\n"
                           "# HELP perfd_reads Reads\n"
                           "perfd_reads_total{job=\"a\\\"b\"} 512\n"
                           "perfd_reads_created{job=\"a\\\"b\"} 1763676000.125\n"
                           "perfd_reads_total{job=\"b\"} 7\n"
                           "# TYPE perfd_ends counter\n"
                           "# HELP perfd_ends Ends\n"
                           "perfd_ends_total 2\n"
                           "perfd_ends_created 1\n"
                           "# TYPE perfd_jobs gauge\n"
                           "# HELP perfd_jobs Jobs\n"
                           "perfd_jobs 3\n"
                           "# EOF\n");

        exposition_init(&exposition, &text, false);
        put_created(&exposition);
        exposition_end(&exposition);
        assert_null(strstr(text.text, "_created"));
}

static void a_family_without_samples_leaves_no_trace(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, false);
        exposition_family(&exposition, "perfd_absent", FAMILY_GAUGE, "", "Absent");
        exposition_family(&exposition, "perfd_absent_too", FAMILY_GAUGE, "", "Absent");
        check(&exposition, "");
}

static void label_values_are_escaped_and_always_utf8(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, true);
        exposition_family(&exposition, "g", FAMILY_GAUGE, "", "h");
        exposition_sample(&exposition);
        exposition_label(&exposition, "a", "q\"b\\n\nt\te");
        exposition_label(&exposition, "b", "gr\xc3\xbc\xc3\x9f \xff\xc3");
        exposition_label(&exposition, "c", "");
        exposition_label(&exposition, "d", "\x1b[2J\xe2\x80\xae");
        exposition_u64(&exposition, 1);
        check(&exposition, "# TYPE g gauge\n# HELP g h\n"
                           "g{a=\"q\\\"b\\\\n\\nt\te\",b=\"gr\xc3\xbc\xc3\x9f \xef\xbf\xbd\xef\xbf\xbd\",c=\"\","
                           "d=\"\\\\x1b[2J\\\\u{202e}\"} 1\n# EOF\n");
}

static void decimals_are_exact(void **state) {
        static const struct {
                uint64_t value;
                unsigned n_decimals;
                const char *text;
        } cases[] = {
                { 0, 0, "0" },
                { 0, 9, "0" },
                { 1, 9, "0.000000001" },
                { 1500, 3, "1.5" },
                { 12345, 2, "123.45" },
                { 100, 2, "1" },
                { 105, 2, "1.05" },
                { 1763676000123456789, 9, "1763676000.123456789" },
                { UINT64_MAX, 0, "18446744073709551615" },
                { UINT64_MAX, 9, "18446744073.709551615" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(buffer_deinit) Buffer out = {};
                Exposition exposition;
                char expected[96];

                exposition_init(&exposition, &out, false);
                exposition_family(&exposition, "g", FAMILY_GAUGE, "", "h");
                exposition_sample(&exposition);
                exposition_decimal(&exposition, cases[i].value, cases[i].n_decimals);
                (void)snprintf(expected, sizeof(expected), "# TYPE g gauge\n# HELP g h\ng %s\n", cases[i].text);
                check(&exposition, expected);
        }
}

static void numbers_are_spelt_as_the_format_has_them(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Exposition exposition;

        (void)state;
        exposition_init(&exposition, &out, false);
        exposition_family(&exposition, "g", FAMILY_GAUGE, "", "h");
        exposition_sample(&exposition);
        exposition_label_i64(&exposition, "n", INT64_MIN);
        exposition_double(&exposition, 0.25);
        exposition_sample(&exposition);
        exposition_label_i64(&exposition, "n", 7);
        exposition_double(&exposition, NAN);
        exposition_sample(&exposition);
        exposition_double(&exposition, -INFINITY);
        check(&exposition, "# TYPE g gauge\n# HELP g h\ng{n=\"-9223372036854775808\"} 0.25\ng{n=\"7\"} NaN\ng -Inf\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(openmetrics_names_the_family_and_its_unit),
                cmocka_unit_test(the_text_format_names_the_samples),
                cmocka_unit_test(counters_of_a_known_begin_have_it_in_openmetrics),
                cmocka_unit_test(a_family_without_samples_leaves_no_trace),
                cmocka_unit_test(label_values_are_escaped_and_always_utf8),
                cmocka_unit_test(decimals_are_exact),
                cmocka_unit_test(numbers_are_spelt_as_the_format_has_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
