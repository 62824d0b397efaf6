/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/api/mlflow.h"
#include "measure/metric.h"
#include "measure/usage.h"

static void assert_name(const char *prefix, const char *key, const char *expected) {
        char name[MLFLOW_NAME_MAX];

        mlflow_name(prefix, key, name);
        assert_string_equal(name, expected);
}

static void what_is_not_allowed_is_left_out(void **state) {
        (void)state;
        assert_name("", "max_t_(mem_percent)", "max_t_mem_percent");
        assert_name("node 3/", "A-z.0 [%]:\t\n", "node 3/A-z.0 ");
        assert_name("größe/", "µ", "gre/");
        assert_name("\xff(", "\xc3", "");
}

static void a_name_is_cut_after_its_prefix(void **state) {
        static const char digits[] = "0123456789012345678901234567890123456789012345678901234567890";

        (void)state;
        assert_name("", digits, "01234567890123456789012345678901234567890123456789");
        assert_name("train/", digits, "train/01234567890123456789012345678901234567890123");
        assert_name("(a)", digits, "a0123456789012345678901234567890123456789012345678");
        assert_name(digits, "key", "01234567890123456789012345678901234567890123456789");
}

static void what_means_another_path_is_no_name(void **state) {
        static const char *const good[] = { "a", "a/b", "a b/c-d.e_f", "a..b", "a/..b", ".a", "a/b/c", " " };
        static const char *const bad[] = { "", ".", "..", "..a", "/a", "a/", "a//b", "a/./b", "a/../b", "a/.." };

        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                assert_true(mlflow_name_is_valid(good[i]));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(mlflow_name_is_valid(bad[i]));
}

static void our_own_names_stay_as_they_are(void **state) {
        (void)state;
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                assert_name("", metric_raw_key(metric), metric_info[metric].key);
                assert_true(mlflow_name_is_valid(metric_info[metric].key));
        }
        for (UsageMetric metric = 0; metric < N_USAGES; metric++)
                assert_name("", usage_info[metric].key, usage_info[metric].key);
}

static void captured_names_are_made_as_perf_py_made_them(void **state) {
        const char *dir = getenv("PERFD_FIXTURES");
        char path[4096];
        json_t *golden, *one;
        size_t i;

        (void)state;
        (void)snprintf(path, sizeof(path), "%s/perfpy/name_sanitise_golden.json", dir ? dir : "../shared/fixtures");
        golden = json_load_file(path, 0, NULL);
        if (!golden)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        assert_true(json_array_size(golden) >= 10);
        json_array_foreach(golden, i, one)
                assert_name(json_string_value(json_object_get(one, "prefix")), json_string_value(json_object_get(one, "raw")),
                            json_string_value(json_object_get(one, "logged")));
        json_decref(golden);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_not_allowed_is_left_out),
                cmocka_unit_test(a_name_is_cut_after_its_prefix),
                cmocka_unit_test(what_means_another_path_is_no_name),
                cmocka_unit_test(our_own_names_stay_as_they_are),
                cmocka_unit_test(captured_names_are_made_as_perf_py_made_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
