/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/results/summary.h"

static void add(Summary *summary, const char *name, const char *key, double value) {
        const Member members[] = {
                { .key = "text", .value = { .type = VALUE_STRING, .string = "x" } },
                { .key = key, .value = { .type = VALUE_DOUBLE, .number = value } },
        };
        const Value result = { .type = VALUE_OBJECT, .members = members, .n_members = 2 };
        const Indicator indicator = { .name = name, .component = "c", .result = &result };

        assert_int_equal(summary_add(summary, &indicator), 0);
}

static void each_number_has_its_line(void **state) {
        Member unit = { .key = "rate", .value = { .type = VALUE_STRING, .string = "GFLOP/s" } };
        const Value units = { .type = VALUE_OBJECT, .members = &unit, .n_members = 1 };
        scoped(summary_deinit) Summary summary = {};
        scoped(buffer_deinit) Buffer out = {};

        (void)state;
        add(&summary, "A", "rate", 3);
        add(&summary, "B", "rate", 7);
        add(&summary, "A", "rate", 1);
        add(&summary, "A", "elapsed", 0.5);
        add(&summary, "A", "rate", 2);
        summary_write(&summary, &units, &out);
        assert_string_equal(out.text, "A of c\n"
                                      "  rate                     median 2 GFLOP/s ± 50 %, 3 runs\n"
                                      "  elapsed                  median 0.5, 1 run\n"
                                      "B of c\n"
                                      "  rate                     median 7 GFLOP/s, 1 run\n");
}

static void excess_runs_are_counted(void **state) {
        scoped(summary_deinit) Summary summary = {};
        scoped(buffer_deinit) Buffer out = {};
        char key[16];

        (void)state;
        for (unsigned i = 0; i < SUMMARY_SERIES_MAX + 3; i++) {
                (void)snprintf(key, sizeof(key), "k%u", i);
                add(&summary, "A", key, i);
        }
        summary_write(&summary, NULL, &out);
        assert_non_null(strstr(out.text, "  k63 "));
        assert_null(strstr(out.text, "  k64 "));
        assert_non_null(strstr(out.text, "3 more numbers are not shown\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_number_has_its_line),
                cmocka_unit_test(excess_runs_are_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
