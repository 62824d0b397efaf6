/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two of jansson's constructors have the same names as functions of perfd's writer. */
#define json_string jansson_json_string
#define json_null jansson_json_null
#include <jansson.h>
#undef json_string
#undef json_null

#include "client/api/metric_list.h"
#include "measure/compat.h"
#include "measure/metric.h"
#include "measure/usage.h"
#include "value/value_parse.h"

typedef struct List {
        Arena arena;
        Buffer text;
        MetricListNames names;
        json_t *metrics;
} List;

static void list_deinit(List *list) {
        arena_deinit(&list->arena);
        buffer_deinit(&list->text);
        metric_list_names_deinit(&list->names);
        json_decref(list->metrics);
}

static void make(List *list, const char *answer_text, const MetricListStyle *style) {
        const Value *answer;
        ValueReader reader;
        ValueError error;

        *list = (List){};
        assert_int_equal(arena_init(&list->arena, value_parse_arena_size(strlen(answer_text))), 0);
        value_parse_begin(&reader, answer_text, strlen(answer_text));
        assert_int_equal(value_parse_next(&reader, &list->arena, &answer, &error), 0);
        assert_int_equal(metric_list_write(&(const Value *){ answer }, 1, style, &list->text, &list->names), 0);
        list->metrics = json_loads(list->text.text, 0, NULL);
        assert_true(json_is_array(list->metrics));
}

static const char answer[] = "{\"metrics\": [{\"key\": \"max_t_mem_percent\", \"value\": 30, \"timestamp\": "
                             "1700000000123,"
                             "   \"step\": 2, \"unit\": \"%\", \"quality\": \"sampled\", \"scope\": \"node\"},"
                             "  {\"key\": \"node_cpu_hours\", \"value\": null, \"timestamp\": 1, \"step\": 0},"
                             "  {\"key\": \"job_cpu_seconds\", \"value\": 0.5, \"timestamp\": 1700000000123,"
                             " \"step\": 2}],"
                             " \"compat\": [{\"key\": \"max_t_mem_percent\", \"value\": 30.1, \"timestamp\":"
                             " 1700000000123, \"step\": 2}]}";

static void a_list_has_exactly_what_a_client_logs(void **state) {
        scoped(list_deinit) List list;

        (void)state;
        make(&list, answer, &(MetricListStyle){ .prefix = "" });
        assert_string_equal(list.text.text,
                            "[{\"key\":\"max_t_mem_percent\",\"value\":30.0,\"timestamp\":1700000000123,\"step\":2},\n"
                            " {\"key\":\"job_cpu_seconds\",\"value\":0.5,\"timestamp\":1700000000123,\"step\":2}]\n");
        assert_true(list.names.n_same == 0 && !list.names.same && !list.names.refused);
}

static void names_can_be_perf_pys_own(void **state) {
        scoped(list_deinit) List list;

        (void)state;
        make(&list, answer, &(MetricListStyle){ .prefix = "//(", .has_raw_names = true, .is_compat = true });
        assert_string_equal(list.text.text,
                            "[{\"key\":\"//(max_t_(mem_percent)\",\"value\":30.1,\"timestamp\":1700000000123,"
                            "\"step\":2}]\n");
        assert_null(list.names.refused);
}

static void names_that_become_equal_are_kept_and_counted(void **state) {
        scoped(list_deinit) List list;

        (void)state;
        make(&list, answer, &(MetricListStyle){ .prefix = "a-prefix-of-more-than-fifty-characters-in-all-of-them/" });
        assert_int_equal(json_array_size(list.metrics), 2);
        assert_int_equal(list.names.n_same, 1);
        assert_string_equal(list.names.same, "a-prefix-of-more-than-fifty-characters-in-all-of-t");
}

static void a_name_that_mlflow_rejects_is_reported(void **state) {
        scoped(list_deinit) List list;

        (void)state;
        make(&list, answer, &(MetricListStyle){ .prefix = "a/(../" });
        assert_string_equal(list.names.refused, "a/../max_t_mem_percent");
}

static void an_answer_without_metrics_is_an_empty_list(void **state) {
        scoped(list_deinit) List list;

        (void)state;
        make(&list, "{}", &(MetricListStyle){ .prefix = "" });
        assert_string_equal(list.text.text, "[]\n");
}

/* --- captured results of perf.py ------------------------------------------------------------ */

static json_t *load_fixture(const char *name) {
        const char *dir = getenv("PERFD_FIXTURES");
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/perfpy/%s", dir ? dir : "../shared/fixtures", name);
        return json_load_file(path, 0, NULL);
}

static double field(const json_t *object, const char *name) {
        assert_true(json_is_number(json_object_get(object, name)));
        return json_number_value(json_object_get(object, name));
}

/* Returns perfd's answer for a job of that rank with these samples. */
static char *answer_of(const json_t *samples, const json_t *golden, int rank) {
        double value[N_PERFPY_METRICS];
        bool has[N_PERFPY_METRICS];
        Compat compat = {};
        Buffer out = {};
        const json_t *s;
        size_t i;

        json_array_foreach(samples, i, s)
                compat_add(&compat, &(PerfpySample){
                                            field(s, "cpu_pct_per_cpu_avg"),
                                            field(s, "cpu_pct_per_cpu_min"),
                                            field(s, "cpu_pct_per_cpu_max"),
                                            field(s, "mem_percent"),
                                            field(s, "disk_usage_percent"),
                                            { field(s, "disk_io_read_mb"), field(s, "disk_io_write_mb"),
                                              field(s, "net_io_lo_sent_mb"), field(s, "net_io_ext_sent_mb"),
                                              field(s, "net_io_lo_recv_mb"), field(s, "net_io_ext_recv_mb") },
                                            field(s, "timestamp"),
                                    });
        compat_metrics(&compat, field(golden, "reporting_time"), (uint32_t)field(golden, "reporting_cpu_count"), value,
                       has);

        buffer_puts(&out, "{\"compat\":[");
        for (i = 0; i < N_PERFPY_METRICS; i++)
                buffer_printf(&out, "%s{\"key\":\"%s\",\"value\":%.17g,\"timestamp\":1,\"step\":%d}", i ? "," : "",
                              metric_info[i].key, value[i], rank);
        buffer_puts(&out, "]}");
        return buffer_take(&out);
}

static void assert_golden(const json_t *golden, const char *answer_text, int rank, bool is_raw) {
        scoped(list_deinit) List list;

        make(&list, answer_text, &(MetricListStyle){ .prefix = "", .is_compat = true, .has_raw_names = is_raw });
        assert_int_equal(json_array_size(list.metrics), N_PERFPY_METRICS);
        for (size_t i = 0; i < N_PERFPY_METRICS; i++) {
                const json_t *got = json_array_get(list.metrics, i);
                const json_t *logged = json_array_get(json_object_get(golden, "metrics"),
                                                      (size_t)rank * N_PERFPY_METRICS + i);

                assert_string_equal(json_string_value(json_object_get(got, "key")),
                                    json_string_value(json_object_get(logged, is_raw ? "key_raw" : "key_logged")));
                assert_true(fabs(field(got, "value") - field(logged, "value")) <=
                            1e-9 * fmax(1, fabs(field(logged, "value"))));
                assert_int_equal(field(got, "step"), field(logged, "step"));
        }
}

static void a_captured_run_is_listed_as_perf_py_logged_it(void **state) {
        json_t *golden = load_fixture("metrics_golden.json"), *artifact = load_fixture("perf_report_artifact.json");

        (void)state;
        if (!golden || !artifact)
                skip(); /* captured files are not there (PERFD_FIXTURES) */

        for (int rank = 0; rank < 2; rank++) {
                char key[] = { (char)('0' + rank), '\0' };
                scoped(freep) char *text = answer_of(json_object_get(artifact, key), golden, rank);

                assert_golden(golden, text, rank, false);
                assert_golden(golden, text, rank, true);
        }
        json_decref(golden);
        json_decref(artifact);
}

/* --- names ---------------------------------------------------------------------------------------- */

static void assert_name(const char *prefix, const char *key, const char *expected) {
        char name[METRIC_LIST_NAME_MAX];

        metric_list_name(prefix, key, name);
        assert_string_equal(name, expected);
}

static void invalid_characters_are_removed(void **state) {
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

static void a_name_that_is_not_a_normalized_path_is_rejected(void **state) {
        static const char *const good[] = { "a", "a/b", "a b/c-d.e_f", "a..b", "a/..b", ".a", "a/b/c", " " };
        static const char *const bad[] = { "", ".", "..", "..a", "/a", "a/", "a//b", "a/./b", "a/../b", "a/.." };

        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                assert_true(metric_list_name_is_valid(good[i]));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(metric_list_name_is_valid(bad[i]));
}

static void our_own_names_stay_as_they_are(void **state) {
        (void)state;
        for (Metric metric = 0; metric < N_METRICS; metric++) {
                assert_name("", metric_raw_key(metric), metric_info[metric].key);
                assert_true(metric_list_name_is_valid(metric_info[metric].key));
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
        json_array_foreach(golden, i, one) assert_name(json_string_value(json_object_get(one, "prefix")),
                                                       json_string_value(json_object_get(one, "raw")),
                                                       json_string_value(json_object_get(one, "logged")));
        json_decref(golden);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(invalid_characters_are_removed),
                cmocka_unit_test(a_name_is_cut_after_its_prefix),
                cmocka_unit_test(a_name_that_is_not_a_normalized_path_is_rejected),
                cmocka_unit_test(our_own_names_stay_as_they_are),
                cmocka_unit_test(captured_names_are_made_as_perf_py_made_them),
                cmocka_unit_test(a_list_has_exactly_what_a_client_logs),
                cmocka_unit_test(names_can_be_perf_pys_own),
                cmocka_unit_test(names_that_become_equal_are_kept_and_counted),
                cmocka_unit_test(a_name_that_mlflow_rejects_is_reported),
                cmocka_unit_test(an_answer_without_metrics_is_an_empty_list),
                cmocka_unit_test(a_captured_run_is_listed_as_perf_py_logged_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
