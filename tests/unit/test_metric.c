/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "measure/metric.h"

static void the_first_eighteen_are_perf_pys_in_its_order(void **state) {
        static const char *const keys[] = {
                "max_t_cpu_pct_per_cpu_avg",
                "cpu_avg_utilization_pct",
                "cpu_avg_utilization_at100_pct",
                "cpu_avg_utilization_over80_pct",
                "cpu_avg_utilization_over40_pct",
                "cpu_avg_utilization_over20_pct",
                "max_t_cpu_pct_per_cpu_min",
                "max_t_cpu_pct_per_cpu_max",
                "node_cpu_hours",
                "node_unused_cpu_hours",
                "max_t_mem_percent",
                "max_t_disk_usage_percent",
                "total_disk_io_read_mb",
                "total_disk_io_write_mb",
                "total_net_io_lo_sent_mb",
                "total_net_io_ext_sent_mb",
                "total_net_io_lo_recv_mb",
                "total_net_io_ext_recv_mb",
        };

        (void)state;
        assert_int_equal(N_PERFPY_METRICS, sizeof(keys) / sizeof(keys[0]));
        for (size_t i = 0; i < N_PERFPY_METRICS; i++)
                assert_string_equal(metric_info[i].key, keys[i]);
}

/* Converts "max_t_(mem_percent)" to "max_t_mem_percent". */
static void sanitise(const char *raw, char *ret) {
        for (; *raw; raw++)
                if (!strchr("()", *raw))
                        *ret++ = *raw;
        *ret = '\0';
}

static void raw_keys_become_keys_when_sanitised(void **state) {
        (void)state;
        for (Metric m = 0; m < N_METRICS; m++) {
                char key[100];

                sanitise(metric_raw_key(m), key);
                assert_string_equal(key, metric_info[m].key);
        }
        assert_string_equal(metric_raw_key(METRIC_CPU_MAX), "max_t_(cpu_pct_per_cpu_avg)");
        assert_string_equal(metric_raw_key(METRIC_CPU_MIN_MAX), "max_t_(cpu_pct_per_cpu_min)");
        assert_string_equal(metric_raw_key(METRIC_CPU_MAX_MAX), "max_t_(cpu_pct_per_cpu_max)");
        assert_string_equal(metric_raw_key(METRIC_MEM_MAX), "max_t_(mem_percent)");
        assert_string_equal(metric_raw_key(METRIC_DISK_USAGE_MAX), "max_t_disk_usage_percent");
}

static void every_key_is_found_and_unlike_all_others(void **state) {
        (void)state;
        for (Metric m = 0; m < N_METRICS; m++)
                assert_int_equal(metric_find(metric_info[m].key), m);
        assert_int_equal(metric_find("cpu_temperature"), -1);
        assert_int_equal(metric_find(""), -1);
}

static void lines_of_a_family_differ_by_label_and_agree_in_the_rest(void **state) {
        (void)state;
        for (Metric a = 0; a < N_METRICS; a++) {
                bool is_first = true;

                for (Metric b = 0; b < a; b++) {
                        if (strcmp(metric_info[a].family, metric_info[b].family) != 0)
                                continue;
                        is_first = false;
                        assert_string_not_equal(metric_info[a].label, metric_info[b].label);
                        assert_string_equal(metric_info[a].unit, metric_info[b].unit);
                        assert_int_equal(metric_info[a].type, metric_info[b].type);
                        assert_true(metric_info[a].scale == metric_info[b].scale);
                }
                assert_true(!is_first || metric_info[a].help[0]);
        }
}

static void a_family_ends_in_its_unit(void **state) {
        (void)state;
        for (Metric m = 0; m < N_METRICS; m++) {
                size_t n = strlen(metric_info[m].family), n_unit = strlen(metric_info[m].unit);

                assert_true(n > n_unit);
                assert_string_equal(metric_info[m].family + n - n_unit, metric_info[m].unit);
        }
}

static void a_value_in_base_units_becomes_mlflows(void **state) {
        (void)state;
        assert_true(fabs(0.5 * metric_info[METRIC_CPU_MEAN].scale - 50) < 1e-12);
        assert_true(fabs(7200 * metric_info[METRIC_CPU_HOURS].scale - 2) < 1e-12);
        assert_true(fabs(3145728 * metric_info[METRIC_DISK_READ].scale - 3) < 1e-12);
        assert_string_equal(metric_info[METRIC_DISK_READ].key_unit, "MiB");
}

static void what_is_absent_has_a_reason_and_what_is_present_has_none(void **state) {
        (void)state;
        for (Quality q = 0; q < N_QUALITIES; q++) {
                assert_int_equal(quality_is_present(q), metric_quality_reason(q) == NULL);
                assert_int_equal(quality_is_present(q), strcmp(metric_quality_name(q), "absent") != 0);
        }
        assert_string_equal(metric_quality_name(QUALITY_EXACT), "exact");
        assert_string_equal(metric_quality_name(QUALITY_SAMPLED), "sampled");
}

static void a_reason_fits_beside_a_name_on_a_line(void **state) {
        (void)state;
        for (Quality quality = 0; quality < N_QUALITIES; quality++) {
                assert_int_equal(metric_quality_reason(quality) == NULL, quality_is_present(quality));
                if (metric_quality_reason(quality))
                        assert_in_range(strlen(metric_quality_reason(quality)), 10, 50);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_reason_fits_beside_a_name_on_a_line),
                cmocka_unit_test(the_first_eighteen_are_perf_pys_in_its_order),
                cmocka_unit_test(raw_keys_become_keys_when_sanitised),
                cmocka_unit_test(every_key_is_found_and_unlike_all_others),
                cmocka_unit_test(lines_of_a_family_differ_by_label_and_agree_in_the_rest),
                cmocka_unit_test(a_family_ends_in_its_unit),
                cmocka_unit_test(a_value_in_base_units_becomes_mlflows),
                cmocka_unit_test(what_is_absent_has_a_reason_and_what_is_present_has_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
