/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "client/results/summary.h"

static void add(Summary *summary, const char *name, const char *key, double value) {
        const Member member = { .key = key, .value = { .type = VALUE_DOUBLE, .number = value } };
        const Value result = { .type = VALUE_OBJECT, .members = &member, .n_members = 1 };
        const Indicator indicator = { .name = name, .component = "c", .result = &result };

        assert_int_equal(summary_add(summary, &indicator), 0);
}

static void the_file_extension_determines_the_format(void **state) {
        ExportFormat format;

        (void)state;
        assert_true(summary_find_format("a.b/x.csv", &format) && format == EXPORT_CSV);
        assert_true(summary_find_format(".json", &format) && format == EXPORT_JSON);
        assert_true(summary_find_format("x.csv.md", &format) && format == EXPORT_MARKDOWN);
        assert_false(summary_find_format("x.txt", &format));
        assert_false(summary_find_format("csv", &format));
        assert_false(summary_find_format("", &format));
}

static void expect(ExportFormat format, const char *text) {
        scoped(summary_deinit) Summary summary = {};
        scoped(buffer_deinit) Buffer out = {};

        add(&summary, "A", "rate", 4);
        add(&summary, "A", "rate", 1);
        add(&summary, "A", "a,\"b\"|c", 0.5);
        assert_int_equal(summary_write_file(&summary, &(ExportBatch){ "42", 3, 1 }, format, &out), 0);
        assert_string_equal(out.text, text);
        assert_float_equal(summary.series[0].values[0], 4, 0); /* values are in the order of the runs */
}

static void each_format_has_each_number(void **state) {
        (void)state;
        expect(EXPORT_CSV, "indicator,component,result,n,mean,stddev,median,min,max\n"
                           "A,c,rate,2,2.5,2.1213203435596424,2.5,1,4\n"
                           "A,c,\"a,\"\"b\"\"|c\",1,0.5,,0.5,0.5,0.5\n");
        expect(EXPORT_MARKDOWN, "| Indicator | Result | n | Mean | Std. dev. | Median | Min | Max |\n"
                                "|:---|:---|---:|---:|---:|---:|---:|---:|\n"
                                "| A | rate | 2 | 2.50 | 2.12 | 2.50 | 1 | 4 |\n"
                                "| A | a,\"b\"\\|c | 1 | 0.500 | - | 0.500 | 0.500 | 0.500 |\n");
        expect(EXPORT_JSON,
               "{\"batch\":\"42\",\"runs\":3,\"failed\":1,\"results\":["
               "{\"indicator\":\"A\",\"component\":\"c\",\"result\":\"rate\",\"n\":2,\"mean\":2.5,"
               "\"stddev\":2.1213203435596424,\"median\":2.5,\"min\":1.0,\"max\":4.0,\"values\":[4.0,1.0]},"
               "{\"indicator\":\"A\",\"component\":\"c\",\"result\":\"a,\\\"b\\\"|c\",\"n\":1,\"mean\":0.5,"
               "\"stddev\":null,\"median\":0.5,\"min\":0.5,\"max\":0.5,\"values\":[0.5]}]}\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_file_extension_determines_the_format),
                cmocka_unit_test(each_format_has_each_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
